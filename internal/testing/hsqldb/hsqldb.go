// Package hsqldb runs the Db2 texts without a Db2: on HSQLDB, which understands much of Db2's SQL PL, through a small documented list of
// mechanical rewritings. It proves the logic of the procedures, not that Db2 accepts them: docs/db2.md lists what remains open. For tests
// only.
package hsqldb

import (
	"bufio"
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

//go:embed Bridge.java
var bridgeJava []byte

//go:embed prelude.sql
var prelude string

// Bridge is a Java process that serves databases in its memory.
type Bridge struct {
	address   string
	rewritten sync.Map // texts for Db2 and their rewriting, shared by Again's pools
}

// Start compiles and starts a bridge with HSQLDB's jar, and stops it when the test ends. The time zone is the database's; one other than
// UTC shows whether the texts depend on it.
func Start(t testing.TB, jar, timeZone string) *Bridge {
	t.Helper()
	folder := t.TempDir()
	source := filepath.Join(folder, "Bridge.java")
	if err := os.WriteFile(source, bridgeJava, 0o600); err != nil {
		t.Fatal(err)
	}
	// A process of a minute gains nothing from the second compiler and from threads for garbage collection.
	compiler := exec.CommandContext(t.Context(), "javac", "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-d", folder, source)
	if output, err := compiler.CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, output)
	}
	command := exec.CommandContext(context.Background(), "java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Duser.timezone="+timeZone,
		"-cp", jar+string(os.PathListSeparator)+folder, "Bridge")
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // it ends with its input
		_, _ = io.Copy(io.Discard, stdout)
		if err := command.Wait(); err != nil {
			t.Errorf("the bridge: %v", err)
		}
	})
	port, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the bridge printed no port: %v", err)
	}
	return &Bridge{address: "127.0.0.1:" + strings.TrimSpace(port)}
}

// Control is a mode of isolating transactions in HSQLDB.
type Control string

// The controls of HSQLDB that resemble Db2's.
const (
	// MVCC: writers of one row wait for each other, readers see committed data, as on Db2 with cur_commit.
	MVCC Control = "MVCC"
	// Locks: whole tables are locked, also for reading, as long as the isolation level requires.
	Locks Control = "LOCKS"
)

// Open makes a database, adds the parts of Db2 that HSQLDB lacks, and returns a pool on it.
func (b *Bridge) Open(ctx context.Context, database string, control Control) (*sql.DB, error) {
	plain := b.pool(database, func(statement string) string { return statement })
	defer func() { _ = plain.Close() }() // an error of Close changes nothing
	statements := append([]string{"SET DATABASE TRANSACTION CONTROL " + string(control)}, strings.Split(prelude, "\n\n")[1:]...)
	for _, statement := range statements {
		if _, err := plain.ExecContext(ctx, statement); err != nil {
			return nil, fmt.Errorf("%s: %w", statement, err)
		}
	}
	return b.Again(database), nil
}

// Again returns another pool on a database that Open has made.
func (b *Bridge) Again(database string) *sql.DB { return b.pool(database, b.rewrite) }

func (b *Bridge) pool(database string, rewrite func(string) string) *sql.DB {
	return sql.OpenDB(connector{
		address:  b.address,
		database: database + ";sql.syntax_db2=true",
		rewrite:  rewrite,
	})
}

// rewrite rewrites each text only once, since the steps are installed into many databases.
func (b *Bridge) rewrite(statement string) string {
	if known, found := b.rewritten.Load(statement); found {
		return known.(string)
	}
	rewritten := rewrite(statement, rewritings())
	b.rewritten.Store(statement, rewritten)
	return rewritten
}

// Between returns a pool on a database that Open has made. In a Db2 text installed through it, it adds a call of procedure before each
// statement that decides by an earlier read. The procedure stands for another caller who acts at that moment.
func (b *Bridge) Between(database, procedure string) *sql.DB {
	rewritings := append(rewritings(), rewriting{
		regexp.MustCompile(`-- S([246]):`), "CALL " + procedure + "();\n-- S$1:", "",
	})
	return b.pool(database, func(statement string) string { return rewrite(statement, rewritings) })
}
