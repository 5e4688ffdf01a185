package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"time"
)

// file is a file of an archive.
type file struct {
	name    string
	mode    int64
	content []byte
}

// tarGzip returns an archive of files that belong to root.
func tarGzip(files []file, made time.Time) ([]byte, error) {
	var content bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&content, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	writer := tar.NewWriter(compressed)
	for _, each := range files {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: each.name, Mode: each.mode, Size: int64(len(each.content)), ModTime: made,
			Uname: "root", Gname: "root", Format: tar.FormatUSTAR,
		}
		if err := writer.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := writer.Write(each.content); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	err = compressed.Close()
	return content.Bytes(), err
}

// zipped returns a zip archive.
func zipped(files []file, made time.Time) ([]byte, error) {
	var content bytes.Buffer
	writer := zip.NewWriter(&content)
	for _, each := range files {
		header := &zip.FileHeader{Name: each.name, Method: zip.Deflate, Modified: made}
		header.SetMode(fs.FileMode(each.mode)) //nolint:gosec // a mode is small
		to, err := writer.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(each.content); err != nil {
			return nil, err
		}
	}
	err := writer.Close()
	return content.Bytes(), err
}
