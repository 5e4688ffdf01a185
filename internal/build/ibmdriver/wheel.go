//go:build unix

package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// wheelDriver is the driver's directory in a wheel.
const wheelDriver = "clidriver"

// unpackWheel unpacks the driver and its libraries. A wheel contains copies in place of the driver's links.
func unpackWheel(wheel, dir string) (err error) {
	archive, err := zip.OpenReader(wheel)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	for _, file := range archive.File {
		top, _, _ := strings.Cut(file.Name, "/")
		if file.FileInfo().IsDir() || top != wheelDriver && top != bundledLibraries {
			continue
		}
		if err := unpackFile(file, dir); err != nil {
			return err
		}
	}
	return nil
}

func unpackFile(file *zip.File, dir string) (err error) {
	name := filepath.FromSlash(file.Name)
	if !filepath.IsLocal(name) || !file.Mode().IsRegular() {
		return fmt.Errorf("%q is not a file below the directory", file.Name)
	}
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // with the usual permissions of a cache directory
		return err
	}
	content, err := file.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	// The owner must be able to delete and to use it, whatever the archive's mode.
	mode := file.Mode().Perm()&0o755 | 0o600
	target, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode) //nolint:gosec // a local name, see above
	if err != nil {
		return err
	}
	_, err = io.Copy(target, content) //nolint:gosec // as large as IBM's driver is
	return errors.Join(err, target.Close())
}
