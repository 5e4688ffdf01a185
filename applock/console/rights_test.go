package console

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/internal/testing/testdb"
)

// roleClient returns a client of a new PostgreSQL role that has the rights of one of applock's.
func roleClient(t *testing.T, owner *applock.Client, dsn, role string) *applock.Client {
	t.Helper()
	name := "applock_" + strings.ToLower(rand.Text()[:20])
	exec := func(ctx context.Context, statements string) {
		t.Helper()
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		if _, err := conn.Exec(ctx, statements); err != nil {
			t.Fatal(err)
		}
	}
	exec(t.Context(), "CREATE ROLE "+name+" LOGIN PASSWORD 'secret'")
	t.Cleanup(func() { exec(context.WithoutCancel(t.Context()), "DROP OWNED BY "+name+"; DROP ROLE "+name) })
	if _, err := migrate.Grant(t.Context(), owner, migrate.GrantRequest{Role: role, To: name}); err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal("the DSN is no URL")
	}
	address.User = url.UserPassword(name, "secret")
	return openClient(t, address.String())
}

func openClient(t *testing.T, dsn string) *applock.Client {
	t.Helper()
	client, err := open.ByDSN(t.Context(), dsn, open.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// Goal: the rights of the database's user are the limit, whatever the console believes that a person may do: an auditor
// looks, and a crafted form is refused by the database; a supervisor changes. Method: a console for each role on PostgreSQL.
func TestRightsOfTheDatabase(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t)
	owner := openClient(t, dsn)
	if _, err := migrate.Up(t.Context(), owner, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	config := supervisor()
	config.Timeout = time.Hour
	auditor := deskOn(roleClient(t, owner, dsn, "auditor"), config)
	grant := deskOn(owner, config).get(t, "customer:42", "JDOE", time.Hour)
	for _, page := range []string{"/", "/?waiting=1&sort=left", "/object?name=customer:42", "/operator?name=JDOE", "/waiters", "/statistics", "/health"} {
		auditor.see(t, page, http.StatusOK)
	}
	for _, verb := range verbNames() {
		form := confirmedForm(grant, "because")
		form.Set("to", "ASMITH")
		status, page := auditor.follow(t, auditor.submit("/"+verb, form))
		check(t, page, "a privilege is missing, ask the database administrator to grant it")
		if status != http.StatusForbidden {
			t.Errorf("%s: status %d", verb, status)
		}
	}
	for _, verb := range deskVerbs() {
		if w := auditor.submit("/"+verb.name, deskForm("JDOE", "ASMITH")); w.Code != http.StatusForbidden {
			t.Errorf("%s: status %d", verb.name, w.Code)
		}
	}
	if lock := auditor.holder(t, "customer:42"); lock.Fence != grant.Fence || lock.Note != "" {
		t.Errorf("something was changed: %+v", lock)
	}
	form := confirmedForm(grant, "JDOE is ill")
	form.Set("to", "ASMITH")
	changing := deskOn(roleClient(t, owner, dsn, "supervisor"), config)
	_, page := changing.follow(t, changing.submit("/transfer", form))
	check(t, page, "TRANSFERRED", "ASMITH")
	if events := changing.events(t); len(events) != 1 || events[0].Actor != "MLEE" || events[0].Reason != "JDOE is ill" {
		t.Errorf("the history has %+v", events)
	}
}
