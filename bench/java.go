//go:build unix

package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

//go:embed java/Cycles.java
var cyclesJava []byte

//go:embed java/pom.xml
var pom []byte

// javaRates is what java/Cycles.java prints for one contender.
type javaRates struct {
	Name    string    `json:"name"`
	Threads int       `json:"threads"`
	Rates   []float64 `json:"rates"`
}

// java runs a Java program that calls our procedures and Java's libraries in turns.
func (b *bench) java(ctx context.Context, p *place) error {
	if p.product != productPostgres && p.product != productMariaDB {
		return nil
	}
	if err := b.fetchJava(ctx); err != nil {
		b.miss(fmt.Sprintf("ShedLock and JdbcLockRegistry (%v)", err))
		return nil
	}
	answers, err := b.runJava(ctx, p)
	if err != nil {
		return err
	}
	return b.noteJava(p, answers)
}

// fetchJava lets Maven copy the program's libraries, once.
func (b *bench) fetchJava(ctx context.Context) error {
	libraries := filepath.Join(b.directory, "lib")
	if _, err := os.Stat(libraries); err == nil {
		return nil
	}
	if _, err := exec.LookPath("java"); err != nil {
		return err
	}
	err := errors.Join(
		os.WriteFile(filepath.Join(b.directory, "pom.xml"), pom, 0o600),
		os.WriteFile(filepath.Join(b.directory, "Cycles.java"), cyclesJava, 0o600))
	if err != nil {
		return err
	}
	fetch := exec.CommandContext(ctx, "mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory="+libraries)
	fetch.Dir = b.directory
	return started(fetch)
}

// miss reports once that something could not be measured.
func (b *bench) miss(what string) {
	b.say("without %s", what)
	if !slices.Contains(b.report.Missing, what) {
		b.report.Missing = append(b.report.Missing, what)
	}
}

func (b *bench) runJava(ctx context.Context, p *place) ([]javaRates, error) {
	dsn, err := url.Parse(p.dsn)
	if err != nil {
		return nil, errors.New("the server's DSN is not a URL") // it may hold a password
	}
	address := "jdbc:mariadb://" + dsn.Host + dsn.Path
	if p.product == productPostgres {
		address = "jdbc:postgresql://" + dsn.Host + dsn.Path
	}
	password, _ := dsn.User.Password()
	command := exec.CommandContext(ctx, "java", "-cp", filepath.Join(b.directory, "lib", "*"), filepath.Join(b.directory, "Cycles.java"),
		p.product, strconv.Itoa(b.rounds), strconv.FormatInt(b.round.Milliseconds(), 10), "1", strconv.Itoa(poolSize))
	command.Env = append(os.Environ(), "BENCH_JDBC_URL="+address, "BENCH_USER="+dsn.User.Username(), "BENCH_PASSWORD="+password)
	said, err := command.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("java: %w: %s", err, exit.Stderr)
	}
	if err != nil {
		return nil, err
	}
	var answers []javaRates
	return answers, json.Unmarshal(said, &answers)
}

// noteJava compares ours and the least procedures, which are the first two for each number of threads, with the others.
func (b *bench) noteJava(p *place, answers []javaRates) error {
	var ours []javaRates
	for _, each := range answers {
		if len(ours) > 0 && each.Threads != ours[0].Threads {
			ours = nil
		}
		if len(ours) < 2 {
			ours = append(ours, each)
			continue
		}
		for _, our := range ours {
			name := fmt.Sprintf("cycles in Java, %d threads: %s", our.Threads, our.Name)
			if our.Threads == 1 {
				name = "cycles in Java, 1 thread: " + our.Name
			}
			b.report.compare(figure{Product: p.product, Name: name, Unit: "/s", Baseline: each.Name}, our.Rates, each.Rates)
		}
	}
	if ours == nil {
		return errors.New("java printed no rates")
	}
	return nil
}

// started runs a program. An error has the program's output.
func started(command *exec.Cmd) error {
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(command.Path), err, said)
	}
	return nil
}
