package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// nobody is the user id of the program, without a name on any host.
const nobody = 65532

// descriptor refers to a blob of the layout, as in the OCI image specification.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

type imageConfig struct {
	platform

	Created time.Time `json:"created"`
	Config  runConfig `json:"config"`
	RootFS  rootFS    `json:"rootfs"`
}

type runConfig struct {
	User       string
	Env        []string
	Entrypoint []string
	WorkingDir string
	Labels     map[string]string
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

// layout is an image for several architectures.
type layout struct {
	made      time.Time
	blobs     map[string][]byte
	manifests []descriptor
}

// keep adds a blob and returns its descriptor.
func (l *layout) keep(mediaType string, content []byte) descriptor {
	digest := digestOf(content)
	l.blobs["blobs/"+strings.Replace(digest, ":", "/", 1)] = content
	return descriptor{MediaType: "application/vnd.oci.image." + mediaType, Digest: digest, Size: len(content)}
}

func (l *layout) keepJSON(mediaType string, value any) (descriptor, error) {
	content, err := json.Marshal(value)
	return l.keep(mediaType, content), err
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// add adds the image of an architecture: one layer and its configuration.
func (l *layout) add(architecture string, program []byte) error {
	files, err := l.archive([]entry{
		{name: "applockctl", mode: 0o755, content: program},
		{name: "data/", mode: 0o750, owner: nobody},
		{name: "etc/", mode: 0o755},
		{name: "etc/passwd", mode: 0o644, content: []byte("applock:x:65532:65532::/data:/sbin/nologin\n")},
		{name: "tmp/", mode: 0o1777},
	})
	if err != nil {
		return err
	}
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	if _, err := writer.Write(files); err != nil {
		return err
	}
	if err := writer.Close(); err != nil {
		return err
	}
	on := platform{Architecture: architecture, OS: "linux"}
	config, err := l.keepJSON("config.v1+json", imageConfig{
		platform: on, Created: l.made,
		Config: runConfig{
			User: "65532:65532", Env: []string{"PATH=/"}, Entrypoint: []string{"/applockctl"}, WorkingDir: "/data",
			Labels: map[string]string{"org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.source": "https://github.com/applock/applock"},
		},
		RootFS: rootFS{Type: "layers", DiffIDs: []string{digestOf(files)}},
	})
	if err != nil {
		return err
	}
	of, err := l.keepJSON("manifest.v1+json", manifest{
		SchemaVersion: 2, MediaType: "application/vnd.oci.image.manifest.v1+json", Config: config,
		Layers: []descriptor{l.keep("layer.v1.tar+gzip", compressed.Bytes())},
	})
	of.Platform = &on
	l.manifests = append(l.manifests, of)
	return err
}

// tar returns the layout with its index. `docker load` gives the image this name.
func (l *layout) tar(name string) ([]byte, error) {
	_, tag, _ := strings.Cut(name, ":")
	all, err := l.keepJSON("index.v1+json", index{SchemaVersion: 2, MediaType: "application/vnd.oci.image.index.v1+json", Manifests: l.manifests})
	if err != nil {
		return nil, err
	}
	all.Annotations = map[string]string{"io.containerd.image.name": "docker.io/" + name, "org.opencontainers.image.ref.name": tag}
	top, err := json.Marshal(index{SchemaVersion: 2, MediaType: "application/vnd.oci.image.index.v1+json", Manifests: []descriptor{all}})
	if err != nil {
		return nil, err
	}
	entries := []entry{
		{name: "oci-layout", mode: 0o644, content: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{name: "index.json", mode: 0o644, content: top},
		{name: "blobs/", mode: 0o755},
		{name: "blobs/sha256/", mode: 0o755},
	}
	for _, blob := range slices.Sorted(maps.Keys(l.blobs)) {
		entries = append(entries, entry{name: blob, mode: 0o644, content: l.blobs[blob]})
	}
	return l.archive(entries)
}

// entry is a file of an archive, or a folder if its name ends in a slash.
type entry struct {
	name    string
	mode    int64
	owner   int
	content []byte
}

func (l *layout) archive(entries []entry) ([]byte, error) {
	var content bytes.Buffer
	writer := tar.NewWriter(&content)
	for _, each := range entries {
		header := &tar.Header{
			Name: each.name, Mode: each.mode, Uid: each.owner, Gid: each.owner, Size: int64(len(each.content)),
			ModTime: l.made, Typeflag: tar.TypeReg, Format: tar.FormatPAX,
		}
		if strings.HasSuffix(each.name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := writer.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := writer.Write(each.content); err != nil {
			return nil, err
		}
	}
	err := writer.Close()
	return content.Bytes(), err
}
