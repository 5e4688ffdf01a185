//go:build applications

package applications_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of the business table

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/wire"
)

// patience is how long a condition may take on a busy machine, before the test gives up.
const patience = 2 * time.Minute

// running is an application that serves on a database of its own.
type running struct {
	application
	base   string
	client *applock.Client
	handle *sql.DB
	// program is what has been started last. Its process leads a group, in which all its workers are.
	mutex   sync.Mutex
	program *exec.Cmd
	log     string
}

// answer is what a route answers; README.md has the table.
type answer struct {
	Granted  bool          `json:"granted"`
	Holder   string        `json:"holder"`
	Expires  time.Time     `json:"expires"`
	Fence    applock.Fence `json:"fence"`
	Saves    int           `json:"saves"`
	PID      int           `json:"pid"`
	Operator string        `json:"operator"`
	Done     bool          `json:"done"`
}

// serve starts an application on a new database of a product, and ends it with the test.
func serve(t *testing.T, a application, product string) *running {
	t.Helper()
	dsn := testclient.Installed(t, product)
	r := &running{application: a, client: testclient.Open(t, dsn, "", nil), log: filepath.Join(t.TempDir(), "log")}
	r.handle = business(t, product, dsn)
	port := wire.FreePort(t)
	r.base = "http://127.0.0.1:" + port
	location, err := url.Parse(dsn)
	if err != nil {
		t.Fatal("the DSN is no URL")
	}
	r.supervise(t, append(surroundings(location), "PORT="+port, "APPLICATION_FOLDER="+t.TempDir()))
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(r.log)
			t.Logf("the application's log:\n%s", text[max(0, len(text)-20_000):])
		}
	})
	r.eventually(t, "the application answers", r.isServing)
	return r
}

// business makes the application's own table.
func business(t *testing.T, product, dsn string) *sql.DB {
	t.Helper()
	if product != "postgres" {
		handle := testdb.OpenMySQL(t, dsn, nil)
		run(t, handle, customers)
		return handle
	}
	handle, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = handle.Close() })
	run(t, handle, customers)
	return handle
}

const customers = "CREATE TABLE customer (id VARCHAR(20) NOT NULL PRIMARY KEY, name VARCHAR(40) NOT NULL, saves INTEGER NOT NULL)"

func run(t *testing.T, handle *sql.DB, statement string) {
	t.Helper()
	if _, err := handle.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// surroundings name the database as a URL, and in the variables of Spring. The zone is not UTC, as on most machines of users.
func surroundings(location *url.URL) []string {
	password, _ := location.User.Password()
	subprotocol, scheme := "postgresql", "postgresql"
	if location.Scheme == "mysql" {
		subprotocol, scheme = "mariadb", "mysql"
	}
	where := location.Host + location.Path
	return append(os.Environ(), "TZ=America/Panama", "DATABASE_URL="+scheme+"://"+location.User.String()+"@"+where,
		"SPRING_DATASOURCE_URL=jdbc:"+subprotocol+"://"+where, "SPRING_DATASOURCE_USERNAME="+location.User.Username(), "SPRING_DATASOURCE_PASSWORD="+password)
}

// supervise starts the application, and starts it again whenever it ends, as the supervisor of a server does. The test leaves no process.
func (r *running) supervise(t *testing.T, environment []string) {
	t.Helper()
	log, err := os.Create(r.log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	start := func() error {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.program = exec.Command(r.command[0], r.command[1:]...)
		r.program.Dir, r.program.Env = r.folder, append(environment, r.environment...)
		r.program.Stdout, r.program.Stderr = log, log
		r.program.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		return r.program.Start()
	}
	if err := start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for err := error(nil); err == nil; err = start() {
			_ = r.program.Wait()
			time.Sleep(100 * time.Millisecond) // for one that fails at once
		}
		ended <- ctx.Err()
	}()
	t.Cleanup(func() {
		stop()
		r.mutex.Lock()
		group := -r.program.Process.Pid
		r.mutex.Unlock()
		_ = syscall.Kill(group, syscall.SIGTERM)
		if !within(10*time.Second, func() bool { return errors.Is(syscall.Kill(group, 0), syscall.ESRCH) }) {
			_ = syscall.Kill(group, syscall.SIGKILL)
		}
		if err := <-ended; err == nil {
			t.Error("the application could not be started again")
		}
		_ = log.Close()
	})
}

// within reports whether a condition is met in time.
func within(limit time.Duration, condition func() bool) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if condition() {
			return true
		}
	}
	return condition()
}

func (r *running) eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	if !within(patience, condition) {
		t.Fatalf("not in %s: %s", patience, what)
	}
}

func (r *running) isServing() bool {
	response, err := http.Get(r.base + "/list")
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// request asks a route. The test ends if there is no answer.
func (r *running) request(t *testing.T, method, path string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, r.base+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// call returns what a route answers with a status, any other of which ends the test.
func (r *running) call(t *testing.T, status int, method, path string) answer {
	t.Helper()
	response := r.request(t, method, path)
	return decode(t, response, bufio.NewScanner(response.Body), status, method+" "+path)
}

// decode reads the next line of an answer.
func decode(t *testing.T, response *http.Response, body *bufio.Scanner, status int, what string) answer {
	t.Helper()
	body.Scan()
	var got answer
	err := errors.Join(body.Err(), json.Unmarshal(body.Bytes(), &got))
	if err != nil || response.StatusCode != status {
		t.Fatalf("%s answers %d %q: %v", what, response.StatusCode, body.Text(), err)
	}
	return got
}
