//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

const (
	composeFile = "docker-compose.yml"

	// composeProject begins the project name of a service. Each service has its own project, so that taking it down touches no container
	// of anybody else, nor our other services.
	composeProject = "applock-testserver-"

	// composeUpLimit leaves time to fetch an image.
	composeUpLimit   = 5 * time.Minute
	composeDownLimit = time.Minute
)

// service is a published service of docker-compose.yml. Its password is no secret: the port is open to this machine only, and the
// password is in the file.
type service struct {
	dsn  string
	port int
}

// compose is one service of docker-compose.yml.
type compose struct {
	host    host
	file    string
	service string
}

// findCompose returns an absentError without docker compose or the file.
func findCompose(ctx context.Context, h host, service string) (compose, error) {
	if _, err := h.lookPath("docker"); err != nil {
		return compose{}, absent("there is no docker")
	}
	if h.run(ctx, "docker", "compose", "version") != nil {
		return compose{}, absent("docker has no compose plugin")
	}
	dir, err := os.Getwd()
	if err != nil {
		return compose{}, err
	}
	file := findUpwards(h, dir, composeFile)
	if file == "" {
		return compose{}, absent("there is no %s here or above", composeFile)
	}
	return compose{host: h, file: file, service: service}, nil
}

// findUpwards returns the path of the file name in dir or the nearest directory above that has one, or "".
func findUpwards(h host, dir, name string) string {
	for {
		if path := filepath.Join(dir, name); h.isFile(path) {
			return path
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// up starts the service and waits until it is healthy. If it fails, it removes everything again.
func (c compose) up(ctx context.Context) error {
	upCtx, cancel := context.WithTimeout(ctx, composeUpLimit)
	defer cancel()
	err := c.run(upCtx, "up", "-d", "--wait", c.service)
	if err == nil {
		return nil
	}
	return errors.Join(err, c.down())
}

// down removes the service's container and its data. It takes no context, because it must also run after an interrupt.
func (c compose) down() error {
	ctx, cancel := context.WithTimeout(context.Background(), composeDownLimit)
	defer cancel()
	return c.run(ctx, "down", "-v")
}

func (c compose) run(ctx context.Context, args ...string) error {
	return c.host.run(ctx, "docker", append([]string{"compose", "-p", composeProject + c.service, "-f", c.file}, args...)...)
}
