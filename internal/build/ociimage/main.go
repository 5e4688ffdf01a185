// Command ociimage puts static programs into an image from scratch, as a tar of an OCI layout, which `docker load`, podman and skopeo read:
//
//	ociimage TAR NAME:TAG SECONDS ARCHITECTURE=PROGRAM...
//
// SECONDS since the epoch is the time of everything in it, so that the same programs always give the same bytes.
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ociimage:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) < 4 {
		return errors.New("usage: ociimage TAR NAME:TAG SECONDS ARCHITECTURE=PROGRAM [ARCHITECTURE=PROGRAM]")
	}
	seconds, err := strconv.ParseInt(arguments[2], 10, 64)
	if err != nil {
		return fmt.Errorf("SECONDS: %w", err)
	}
	made := layout{made: time.Unix(seconds, 0).UTC(), blobs: map[string][]byte{}}
	for _, argument := range arguments[3:] {
		architecture, path, named := strings.Cut(argument, "=")
		if !named {
			return fmt.Errorf("%q is not ARCHITECTURE=PROGRAM", argument)
		}
		program, err := os.ReadFile(path) //nolint:gosec // the caller names it
		if err != nil {
			return err
		}
		if err := made.add(architecture, program); err != nil {
			return err
		}
	}
	content, err := made.tar(arguments[1])
	if err != nil {
		return err
	}
	return os.WriteFile(arguments[0], content, 0o644) //nolint:gosec // an image is for everybody
}
