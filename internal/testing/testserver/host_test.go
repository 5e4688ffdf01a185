//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// fakeHost is a machine with nothing on it but what a test adds, and a record of what was done to it.
type fakeHost struct {
	env      map[string]string
	path     map[string]string // program name to path
	files    []string
	isRoot   bool
	fail     string            // commands that end with it fail
	outputs  map[string]string // command to what it says
	commands []string
	said     []string
}

func (f *fakeHost) host() host {
	return host{
		getenv: func(key string) string { return f.env[key] },
		lookPath: func(name string) (string, error) {
			if path, ok := f.path[name]; ok {
				return path, nil
			}
			return "", errors.New("not found")
		},
		glob:    f.glob,
		isFile:  func(path string) bool { return slices.Contains(f.files, path) },
		isRoot:  f.isRoot,
		resolve: func(path string) string { return path },
		run:     f.run,
		output: func(ctx context.Context, name string, args ...string) (string, error) {
			if err := f.run(ctx, name, args...); err != nil {
				return "", err
			}
			return f.outputs[strings.Join(append([]string{name}, args...), " ")], nil
		},
		installing: &sync.Mutex{},
		say:        func(format string, args ...any) { f.said = append(f.said, fmt.Sprintf(format, args...)) },
	}
}

// glob matches the directories of the files.
func (f *fakeHost) glob(pattern string) ([]string, error) {
	var dirs []string
	for _, file := range f.files {
		matched, err := filepath.Match(pattern, filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		if matched && !slices.Contains(dirs, filepath.Dir(file)) {
			dirs = append(dirs, filepath.Dir(file))
		}
	}
	return dirs, nil
}

func (f *fakeHost) run(_ context.Context, name string, args ...string) error {
	command := strings.Join(append([]string{name}, args...), " ")
	f.commands = append(f.commands, command)
	if f.fail != "" && strings.HasSuffix(command, f.fail) {
		return errors.New("exit status 1")
	}
	return nil
}
