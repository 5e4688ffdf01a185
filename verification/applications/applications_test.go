//go:build applications

// Package applications_test plays applications of the frameworks in which users have locks.
package applications_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/testdb"
)

// application is a program that serves the routes of README.md.
type application struct {
	name     string
	products []string
	// folder is where its command starts.
	folder      string
	command     []string
	environment []string
	// isPool is true where requests are served by children of the process that is started.
	isPool bool
}

const onPostgres, onMariaDB = "postgres", "mariadb"

// applications is the register. The programs are where ./install puts them.
func applications(t *testing.T) []application {
	t.Helper()
	tools := filepath.Join(testdb.Clients(t), "applications")
	both := []string{onPostgres, onMariaDB}
	python := filepath.Join(tools, "python/bin")
	all := []application{
		{
			name: "django", products: both, isPool: true,
			command: []string{filepath.Join(python, "gunicorn"), "--preload", "--workers=2", "--threads=4", "application"},
		},
		{
			name: "rails", products: both, isPool: true,
			command:     []string{"puma", "--config", "puma.rb"},
			environment: []string{"GEM_HOME=" + filepath.Join(filepath.Dir(tools), "ruby/gems"), "RAILS_ENV=production"},
		},
		{
			name: "symfony", products: both, isPool: true,
			command:     []string{"./serve"},
			environment: []string{"AUTOLOAD=" + filepath.Join(filepath.Dir(tools), "php/project/vendor/autoload.php")},
		},
	}
	for i := range all {
		all[i].folder = all[i].name
	}
	for _, store := range []string{"sqlalchemy", "pool"} {
		all = append(all, application{
			name: "fastapi/" + store, products: []string{onPostgres}, folder: "fastapi", isPool: true, environment: []string{"STORE=" + store},
			command: []string{"sh", "-c", "exec '" + python + `/uvicorn' --workers=2 --port="$PORT" application:app`},
		})
	}
	for _, store := range []string{"pg", "mysql2-promise", "mysql2-callback", "knex"} {
		products := map[string][]string{"pg": {onPostgres}, "knex": both}[store]
		if products == nil {
			products = []string{onMariaDB}
		}
		all = append(all, application{
			name: "express/" + store, products: products, folder: "express", isPool: true, command: []string{"node", "application.js"},
			environment: []string{"STORE=" + store, "NODE_PATH=" + filepath.Join(tools, "express/node_modules")},
		})
	}
	for _, store := range []string{"jdbc", "hibernate", "eclipselink"} {
		all = append(all, application{
			name: "spring/" + store, products: both, folder: "spring", environment: []string{"SPRING_PROFILES_ACTIVE=" + store},
			command: []string{"java", "-jar", filepath.Join(tools, "spring/application.jar")},
		})
	}
	return all
}

// Goal: what the libraries promise holds where users have them: behind the pools, the transactions, the mappers and the forked workers of their
// frameworks. Method: applications that serve the same routes are played by the same calls, on a database each, and one of their workers is killed.
func TestApplications(t *testing.T) {
	t.Parallel()
	for _, a := range applications(t) {
		for _, product := range a.products {
			t.Run(a.name+"/"+product, func(t *testing.T) {
				t.Parallel()
				r := serve(t, a, product)
				r.locksForDays(t)
				r.savesWithAFence(t)
				r.rollsBack(t)
				r.worksBeyondTheTTL(t)
				r.survivesAKilledWorker(t)
				r.lists(t)
			})
		}
	}
}

func customer(id string) applock.Object { return applock.Object{Type: "customer", ID: id} }

// live is the lock of an object, without what time changes.
func (r *running) live(t *testing.T, object applock.Object) applock.Lock {
	t.Helper()
	lock, err := r.client.Inquire(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	lock.Left = 0
	return lock
}

// row is a row of the business table.
func (r *running) row(t *testing.T, id string) (name string, saves int) {
	t.Helper()
	query := "SELECT name, saves FROM customer WHERE id = '" + id + "'"
	if err := r.handle.QueryRowContext(t.Context(), query).Scan(&name, &saves); err != nil {
		t.Fatal(err)
	}
	return name, saves
}

// get takes an object for an operator of the test's, which may be refused.
func (r *running) get(t *testing.T, object applock.Object, operator string, ttl time.Duration) (applock.Grant, bool) {
	t.Helper()
	grant, err := r.client.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: operator}, TTL: ttl})
	if err != nil && !errors.Is(err, applock.ErrHeld) {
		t.Fatal(err)
	}
	return grant, err == nil
}

// A record is locked for days. Somebody else is refused, and sees who has it and until when. A zone that is forgotten would be hours off.
func (r *running) locksForDays(t *testing.T) {
	t.Helper()
	granted := r.call(t, http.StatusOK, "POST", "/lock/days?operator=JDOE")
	lock := r.live(t, customer("days"))
	if !granted.Granted || granted.Fence != lock.Fence || lock.Owner.Operator != "JDOE" || lock.ExpiresAt.Sub(lock.LockedAt) != 3*24*time.Hour {
		t.Fatalf("the answer is %+v, and the lock %+v", granted, lock)
	}
	refused := r.call(t, http.StatusConflict, "POST", "/lock/days?operator=ASMITH")
	if refused.Granted || refused.Holder != "JDOE" {
		t.Fatalf("the second one is answered %+v", refused)
	}
	for _, told := range []time.Time{granted.Expires, refused.Expires} {
		if told.Sub(lock.ExpiresAt).Abs() > time.Second {
			t.Errorf("it ends %s, and the answer says %s", lock.ExpiresAt, told)
		}
	}
	if after := r.live(t, customer("days")); after != lock {
		t.Errorf("a refusal made %+v of %+v", after, lock)
	}
}

// Requests at the same time save a customer whom nobody has registered, one transaction after the other, and no save is lost. When somebody else has
// got the lock, the old fence saves nothing.
func (r *running) savesWithAFence(t *testing.T) {
	t.Helper()
	const saves = 8
	fence := r.call(t, http.StatusOK, "POST", "/lock/saved?operator=JDOE").Fence
	path := fmt.Sprintf("/save/saved?operator=JDOE&fence=%d&name=", fence)
	var all sync.WaitGroup
	for range saves {
		all.Go(func() {
			request, _ := http.NewRequestWithContext(t.Context(), "PUT", r.base+path+"Doe", http.NoBody)
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusOK {
				t.Errorf("a save is answered %d", response.StatusCode)
			}
		})
	}
	all.Wait()
	if name, count := r.row(t, "saved"); name != "Doe" || count != saves {
		t.Fatalf("%d saves are %d of %q", saves, count, name)
	}
	if last := r.call(t, http.StatusOK, "PUT", path+"Smith"); last.Saves != saves+1 {
		t.Errorf("the last save is answered %+v", last)
	}
	if _, err := r.client.Take(t.Context(), applock.TakeRequest{Object: customer("saved"), Owner: applock.Owner{Operator: "ASMITH"}, Reason: "vacation"}); err != nil {
		t.Fatal(err)
	}
	if late := r.call(t, http.StatusConflict, "PUT", path+"Late"); late.Granted {
		t.Errorf("a late save is answered %+v", late)
	}
	if name, count := r.row(t, "saved"); name != "Smith" || count != saves+1 {
		t.Errorf("after a late save there is %q after %d", name, count)
	}
}

// A transaction writes, takes a lock, is refused another one, and writes again. The refusal ends nothing. A rollback undoes both writes and the lock
// taken, and neither what was committed before nor the lock of the other. A commit keeps them.
func (r *running) rollsBack(t *testing.T) {
	t.Helper()
	run(t, r.handle, "INSERT INTO customer VALUES ('shared', 'before', 1)")
	r.get(t, customer("shared"), "JDOE", time.Hour)
	lock, invoice := r.live(t, customer("shared")), applock.Object{Type: "invoice", ID: "shared"}
	for _, ending := range []struct {
		end   string
		saves int
	}{{"rollback", 1}, {"commit", 3}} {
		refused := r.call(t, http.StatusOK, "POST", "/rollback/shared?operator=ASMITH&end="+ending.end)
		if !refused.Granted || refused.Holder != "JDOE" {
			t.Errorf("%s: the answer is %+v", ending.end, refused)
		}
		if name, saves := r.row(t, "shared"); name != "before" || saves != ending.saves {
			t.Errorf("%s: there is %q after %d", ending.end, name, saves)
		}
		if after := r.live(t, customer("shared")); after != lock {
			t.Errorf("%s made %+v of %+v", ending.end, after, lock)
		}
		taken, err := r.client.Inquire(t.Context(), invoice)
		if hasIt := err == nil && taken.Owner.Operator == "ASMITH"; hasIt != (ending.end == "commit") {
			t.Errorf("%s: the lock that the transaction took is %+v: %v", ending.end, taken, err)
		}
	}
}

// work starts a piece of work, and returns its answer, of which the first line has been read.
func (r *running) work(t *testing.T, id string) (first answer, next func() answer) {
	t.Helper()
	run(t, r.handle, "INSERT INTO customer VALUES ('"+id+"', 'to do', 0)")
	path := fmt.Sprintf("/work/%s?ttl=%d", id, int(leased.Seconds()))
	response := r.request(t, "POST", path)
	lines := bufio.NewScanner(response.Body)
	next = func() answer { return decode(t, response, lines, http.StatusOK, path) }
	first = next()
	lock := r.live(t, applock.Object{Type: "job", ID: id})
	if first.Fence != lock.Fence || first.Operator != lock.Owner.Operator {
		t.Fatalf("the worker says %+v, and the lock is %+v", first, lock)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if isChild := first.PID != r.program.Process.Pid; isChild != r.isPool {
		t.Errorf("the worker is the process %d, and what was started %d", first.PID, r.program.Process.Pid)
	}
	return first, next
}

// leased is the ttl of the work.
const leased = 4 * time.Second

// Work goes on for longer than its ttl, until the test says so by the business table. The lease is renewed, and nobody else gets the object before the
// end. Then it is free at once.
func (r *running) worksBeyondTheTTL(t *testing.T) {
	t.Helper()
	object := applock.Object{Type: "job", ID: "long"}
	first, next := r.work(t, "long")
	r.eventually(t, "the lease is renewed beyond its ttl", func() bool {
		if _, got := r.get(t, object, "OTHER", time.Hour); got {
			t.Fatal("somebody else got the object during the work")
		}
		lock := r.live(t, object)
		return lock.Fence == first.Fence && lock.LockedAt.Sub(lock.AcquiredAt) > leased
	})
	refused := r.call(t, http.StatusConflict, "POST", "/work/long?ttl=4")
	if refused.Holder != first.Operator {
		t.Errorf("a second worker is answered %+v", refused)
	}
	run(t, r.handle, "UPDATE customer SET name = 'done' WHERE id = 'long'")
	if last := next(); !last.Done {
		t.Errorf("the work ends with %+v", last)
	}
	if _, got := r.get(t, object, "OTHER", time.Hour); !got {
		t.Error("the object is not free after the work")
	}
}

// A worker is killed in the middle of its work. After the ttl somebody else gets the object with a greater fence, and the application goes on.
func (r *running) survivesAKilledWorker(t *testing.T) {
	t.Helper()
	first, _ := r.work(t, "killed")
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var grant applock.Grant
	r.eventually(t, "the object of a killed worker is free", func() (got bool) {
		grant, got = r.get(t, applock.Object{Type: "job", ID: "killed"}, "OTHER", time.Hour)
		return got
	})
	if grant.Fence <= first.Fence {
		t.Errorf("the fence is %d after %d", grant.Fence, first.Fence)
	}
	r.eventually(t, "the application goes on after the kill", r.isServing)
	r.call(t, http.StatusConflict, "POST", "/lock/days?operator=ASMITH")
	_, next := r.work(t, "again")
	run(t, r.handle, "UPDATE customer SET name = 'done' WHERE id = 'again'")
	if last := next(); !last.Done {
		t.Errorf("work after the kill ends with %+v", last)
	}
}

// The list is the business table with who works on what. A lock that has expired is none.
func (r *running) lists(t *testing.T) {
	t.Helper()
	run(t, r.handle, "INSERT INTO customer VALUES ('expired', 'Roe', 0)")
	r.get(t, customer("expired"), "JDOE", time.Second)
	r.eventually(t, "a lock of 1 s expires", func() bool {
		_, err := r.client.Inquire(t.Context(), customer("expired"))
		return errors.Is(err, applock.ErrNotHeld)
	})
	type listed struct {
		ID       string  `json:"id"`
		Name     string  `json:"name"`
		Operator *string `json:"operator"`
	}
	var all []listed
	response := r.request(t, "GET", "/list")
	if err := json.NewDecoder(response.Body).Decode(&all); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("the list is answered %d: %v", response.StatusCode, err)
	}
	var got []string
	for _, one := range all {
		operator := "nobody"
		if one.Operator != nil {
			operator = *one.Operator
		}
		got = append(got, one.ID+" "+one.Name+" "+operator)
	}
	want := []string{"again done nobody", "expired Roe nobody", "killed to do nobody", "long done nobody", "saved Smith ASMITH", "shared before JDOE"}
	if !slices.Equal(got, want) {
		t.Errorf("the list is %q, want %q", got, want)
	}
}
