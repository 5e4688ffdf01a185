package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Goal: the image is a layout in which each pointer leads to a blob of that digest and size, for each architecture, and the program in it may be
// run by everybody; the same programs give the same bytes. Method: follow all pointers from the index.
func TestImage(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, architecture := range []string{"amd64", "arm64"} {
		if err := os.WriteFile(filepath.Join(folder, architecture), []byte("program of "+architecture), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var images [2][]byte
	for i := range images {
		file := filepath.Join(folder, "image.tar")
		err := run([]string{file, "applock/applockctl:1.2.3", "1764187200", "amd64=" + filepath.Join(folder, "amd64"), "arm64=" + filepath.Join(folder, "arm64")})
		if err != nil {
			t.Fatal(err)
		}
		images[i], err = os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(images[0], images[1]) {
		t.Error("two images of the same programs differ")
	}
	files, _ := untar(t, images[0])
	var top, all index
	decode(t, files["index.json"], &top)
	decode(t, blob(t, files, top.Manifests[0]), &all)
	if name := top.Manifests[0].Annotations["io.containerd.image.name"]; name != "docker.io/applock/applockctl:1.2.3" || len(all.Manifests) != 2 {
		t.Fatalf("it is called %q and has %d images", name, len(all.Manifests))
	}
	for _, of := range all.Manifests {
		var m manifest
		decode(t, blob(t, files, of), &m)
		var config imageConfig
		decode(t, blob(t, files, m.Config), &config)
		zipped, err := gzip.NewReader(bytes.NewReader(blob(t, files, m.Layers[0])))
		if err != nil {
			t.Fatal(err)
		}
		layer, err := io.ReadAll(zipped)
		if err != nil {
			t.Fatal(err)
		}
		inside, modes := untar(t, layer)
		if string(inside["applockctl"]) != "program of "+of.Platform.Architecture || modes["applockctl"] != 0o755 {
			t.Errorf("%s has %q with the mode %o", of.Platform.Architecture, inside["applockctl"], modes["applockctl"])
		}
		if config.RootFS.DiffIDs[0] != digestOf(layer) || config.Architecture != of.Platform.Architecture || config.Config.User != "65532:65532" {
			t.Errorf("%s is told to be %+v", of.Platform.Architecture, config)
		}
	}
}

// blob returns what a descriptor points to.
func blob(t *testing.T, files map[string][]byte, to descriptor) []byte {
	t.Helper()
	content, found := files["blobs/"+strings.Replace(to.Digest, ":", "/", 1)]
	if !found || digestOf(content) != to.Digest || len(content) != to.Size {
		t.Fatalf("%+v leads to %d bytes", to, len(content))
	}
	return content
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

func untar(t *testing.T, archive []byte) (files map[string][]byte, modes map[string]int64) {
	t.Helper()
	files, modes = map[string][]byte{}, map[string]int64{}
	reader := tar.NewReader(bytes.NewReader(archive))
	for {
		header, err := reader.Next()
		if err == io.EOF { //nolint:errorlint // archive/tar returns it as it is
			return files, modes
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name], modes[header.Name] = content, header.Mode
	}
}

// Goal: wrong arguments are reported, and make no image. Method: wrong arguments.
func TestTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "image.tar")
	for _, arguments := range [][]string{
		nil, {file, "a:b", "now", "amd64=" + file}, {file, "a:b", "1", "amd64"}, {file, "a:b", "1", "amd64=/nowhere"},
	} {
		if err := run(arguments); err == nil {
			t.Errorf("%q is no error", arguments)
		}
	}
}
