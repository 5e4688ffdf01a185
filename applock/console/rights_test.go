package console

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/testclient"
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
	return testclient.Open(t, address.String(), "", nil)
}

var offered = regexp.MustCompile(`<a class="button" href="([a-z-]+)\?`)

// Goal: what a person sees and may do are the rights of the database role that the console uses for the person's role: the page
// offers that and nothing else, and a crafted form is refused by the console, and by the database if the console
// believes wrongly. Method: roles of PostgreSQL, people with each of them, with several, and with none.
func TestRolesOfPeople(t *testing.T) {
	t.Parallel()
	dsn := testclient.InstalledPostgres(t)
	owner := testclient.Open(t, dsn, "", nil)
	signIn, err := TrustedHeader("X-User", "X-Groups", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	if err != nil {
		t.Fatal(err)
	}
	config := Config{SignIn: signIn, Timeout: time.Hour}
	for _, role := range []string{"supervisor", "operator", "auditor"} {
		config.Roles = append(config.Roles, Role{Name: role + "s", Client: roleClient(t, owner, dsn, role)})
	}
	d := deskOn(owner, config)
	grant := d.get(t, "customer:42", "JDOE", time.Hour)
	form := confirmedForm(grant, "because")
	form.Set("to", "ASMITH")
	own := confirmedForm(d.get(t, "customer:1", "MLEE", time.Hour), "because")
	own.Set("to", "ASMITH")
	for groups, want := range map[string]struct {
		offered, role string
		statistics    int
	}{
		"supervisors":                 {"transfer take release note ask transfer take release", "supervisors", http.StatusOK},
		"operators":                   {"ask", "operators", http.StatusForbidden},
		"auditors":                    {"", "auditors", http.StatusOK},
		"others, auditors ,operators": {"ask", "operators", http.StatusForbidden},
		"Supervisors":                 {"", "", http.StatusOK}, // the owner's, who may look only
		"":                            {"", "", http.StatusOK},
	} {
		var got []string
		for _, address := range []string{"/object?name=customer:42", "/operator?name=JDOE"} {
			page := d.by("MLEE", address, nil, groups)
			for _, match := range offered.FindAllStringSubmatch(page.Body.String(), -1) {
				got = append(got, match[1])
			}
			if role := strings.Contains(page.Body.String(), " · as "); page.Code != http.StatusOK || role != (want.role != "") ||
				role && !strings.Contains(page.Body.String(), " · as <bdi>"+want.role) {
				t.Errorf("%q: %s has status %d, or another role than %q", groups, address, page.Code, want.role)
			}
		}
		if strings.Join(got, " ") != want.offered {
			t.Errorf("%q are offered %q, want %q", groups, got, want.offered)
		}
		if w := d.by("MLEE", "/statistics", nil, groups); w.Code != want.statistics {
			t.Errorf("%q see the statistics with status %d", groups, w.Code)
		}
		for _, name := range access.Changes() {
			if slices.Contains(got, name) {
				continue
			}
			if w := d.by("MLEE", "/"+name, form, groups); w.Code != http.StatusForbidden {
				t.Errorf("%q: %s has status %d", groups, name, w.Code)
			}
		}
	}
	for _, page := range []string{"/", "/locks?sort=waiters", "/history", "/policies", "/waiters", "/health"} {
		if w := d.by("MLEE", page, nil, "auditors"); w.Code != http.StatusOK {
			t.Errorf("auditors see %s with status %d", page, w.Code)
		}
	}
	// The console believes that auditors may do all, and sends their forms to the database.
	d.console.sites[2].rights = allRights
	for _, verb := range access.Changes() {
		_, page := d.follows(t, "MLEE", "/"+verb, own, "auditors")
		check(t, page, "a privilege is missing")
	}
	if lock, mine := d.holder(t, "customer:42"), d.holder(t, "customer:1"); lock.Fence != grant.Fence || lock.Note+mine.Note != "" || mine.Fence == 0 {
		t.Errorf("something was changed: %+v, %+v", lock, mine)
	}
	if events := d.events(t); len(events) != 0 {
		t.Errorf("asking for rights, or a refusal, is in the history: %+v", events)
	}
	if status, page := d.follows(t, "MLEE", "/release", own, "operators"); status != http.StatusOK || !strings.Contains(page, "RELEASED") {
		t.Errorf("an operator releases a lock of its own: status %d: %s", status, page)
	}
	_, page := d.follows(t, "MLEE", "/transfer", form, "supervisors")
	check(t, page, "TRANSFERRED", "ASMITH")
}
