package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/console/internal/pages"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
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

// Goal: a supervisor who is bound to departments changes nothing of another one, but for own locks; what a desk has of others stays as it is. Method: pages
// and forms about locks of three departments.
func TestDepartmentsBoundASupervisor(t *testing.T) {
	t.Parallel()
	config := supervisor()
	config.Departments = func(person, role string) []string {
		return map[string][]string{"MLEE ": {"sales", "billing"}}[person+" "+role]
	}
	d := newDesk(t, config)
	sales := d.hold(t, "a:1", "JDOE", "sales", time.Hour)
	billing := d.hold(t, "a:2", "JDOE", "billing", time.Hour)
	legal := d.hold(t, "a:3", "JDOE", "legal", time.Hour)
	own := d.hold(t, "a:4", "MLEE", "legal", time.Hour)
	for object, may := range map[string]bool{"a:1": true, "a:2": true, "a:3": false, "a:4": true} {
		page := d.see(t, "/object?name="+object, http.StatusOK)
		if strings.Contains(page, `href="release?`) != may || !strings.Contains(page, `href="ask?`) {
			t.Errorf("%s is offered to release: %t", object, !may)
		}
	}
	d.see(t, "/release?name=a:3", http.StatusForbidden)
	foreign := confirmedForm(legal, "gone")
	foreign.Add("lock", pages.FormatGrant(sales.Key()))
	for _, confirmed := range []bool{true, false} {
		if !confirmed {
			foreign.Del("confirmed")
		}
		w := d.submit("/release", foreign)
		check(t, w.Body.String(), "Nothing has happened. You may change only your own locks here, and those of your departments", "a:3 (JDOE (legal))")
		if w.Code != http.StatusForbidden {
			t.Errorf("a lock of another department has status %d", w.Code)
		}
	}
	plan := d.sends(t, "/release", deskForm("JDOE", ""), http.StatusOK, "<button>Release 2 locks of JDOE</button>", "Of this desk only the locks of your departments: sales, billing.")
	d.sends(t, "/release", formOf(plan), http.StatusOK)
	d.sends(t, "/release", confirmedForm(own, "done"), http.StatusOK)
	for object, want := range map[string]applock.Fence{"a:1": 0, "a:2": 0, "a:3": legal.Fence, "a:4": 0} {
		if got := d.holder(t, object).Fence; got != want {
			t.Errorf("%s has the fence %d, want %d (billing's was %d)", object, got, want, billing.Fence)
		}
	}
	check(t, d.see(t, "/operator?name=JDOE", http.StatusOK), "a:3")
	lacks(t, d.see(t, "/operator?name=JDOE", http.StatusOK), `href="release?desk`)
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
		"supervisors":                 {"transfer take release extend note ask transfer take release extend", "supervisors", http.StatusOK},
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
		d.as("MLEE", "auditors").sends(t, "/"+verb, own, http.StatusForbidden, "a privilege is missing")
	}
	if lock, mine := d.holder(t, "customer:42"), d.holder(t, "customer:1"); lock.Fence != grant.Fence || lock.Note+mine.Note != "" || mine.Fence == 0 {
		t.Errorf("something was changed: %+v, %+v", lock, mine)
	}
	if events := d.events(t); len(events) != 0 {
		t.Errorf("asking for rights, or a refusal, is in the history: %+v", events)
	}
	d.as("MLEE", "operators").sends(t, "/release", own, http.StatusOK, "RELEASED")
	d.as("MLEE", "supervisors").sends(t, "/transfer", form, http.StatusOK, "TRANSFERRED", "ASMITH")
}

// operatorRole is a database whose user gets this answer to a hand-over and a take: by default that of the role operator, nil for none.
type operatorRole struct {
	db.Driver
	answer atomic.Pointer[db.Error]
}

func (o *operatorRole) says(kind db.Kind) {
	o.answer.Store(&db.Error{Kind: kind, Err: errors.New("no")})
}

func (o *operatorRole) TransferApplLock(ctx context.Context, params db.TransferApplLockParams) (db.Result, error) {
	if answer := o.answer.Load(); answer != nil {
		return db.Result{}, answer
	}
	return o.Driver.TransferApplLock(ctx, params)
}

func (o *operatorRole) TakeApplLock(ctx context.Context, params db.TakeApplLockParams) (db.Result, error) {
	if answer := o.answer.Load(); answer != nil {
		return db.Result{}, answer
	}
	return o.Driver.TakeApplLock(ctx, params)
}

func (o *operatorRole) DropApplLockPolicy(context.Context, db.DropApplLockPolicyParams) (db.Result, error) {
	return db.Result{}, &db.Error{Kind: db.KindPrivilege, Err: errors.New("no")}
}

// operators is the database of people of role operator.
func (d desk) operators(role string) (*site, *operatorRole) {
	user := &operatorRole{Driver: d.calls}
	user.says(db.KindPrivilege)
	return d.console.newSite(clients.New[*applock.Client](user, nil, lease.Hooks{}), role), user
}

// withRoles is a logged console for operators and supervisors.
func withRoles(t *testing.T) (d desk, role *operatorRole, log *bytes.Buffer) {
	t.Helper()
	d, log = logged(t)
	d.console.config.Roles = []Role{{Name: "operators"}, {Name: "supervisors"}}
	operators, role := d.operators("operators")
	d.console.sites = []*site{operators, d.console.newSite(d.console.own.client, "supervisors")}
	return d, role, log
}

// anyForm has what any action asks for, about these grants.
func anyForm(keys ...applock.Key) url.Values {
	form := url.Values{
		"reason": {"typed"}, "to": {"ASMITH"}, "unknown": {"ASMITH"}, "confirmed": {"yes"}, "message": {"typed"}, "asker": {"ASMITH"},
		"client": {"test"}, "answer": {"NO"}, "old": {"marker"}, "lasts": {"8h"},
	}
	for _, key := range keys {
		form.Add("lock", pages.FormatGrant(key))
	}
	return form
}

// eachAction calls play with each action of the console, for a lock of MLEE and for one of JDOE, which have texts.
func (d desk) eachAction(t *testing.T, play func(action, holder string, grant applock.Grant)) {
	t.Helper()
	for pattern := range d.console.own.handlers {
		action, is := strings.CutPrefix(pattern, "POST /")
		for _, holder := range []string{"MLEE", "JDOE"} {
			if !is {
				continue
			}
			grant := d.get(t, action+":"+holder, holder, time.Hour)
			d.note(t, grant, "marker")
			request := applock.AskRequest{Object: grant.Object, Owner: applock.Owner{Operator: "ASMITH"}, Client: "test", Message: "marker"}
			if _, err := d.client.Ask(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			play(action, holder, grant)
		}
	}
}

// Goal: the log has no note, message or reason, neither another's nor the person's own, and names a receiver only where there is one.
// Method: every action, done and refused.
func TestLogHasNoTexts(t *testing.T) {
	t.Parallel()
	d, _, log := withRoles(t)
	d.eachAction(t, func(action, holder string, grant applock.Grant) {
		old := grant.Key()
		old.Fence++
		for _, key := range []applock.Key{old, grant.Key()} {
			for _, groups := range []string{"operators", "supervisors"} {
				log.Reset()
				d.as("MLEE", groups).submit("/"+action, anyForm(key))
				text := log.String()
				gives := strings.Contains(text, "level=INFO") && (action == "transfer" || action == "take")
				if strings.Contains(text, "marker") || strings.Contains(text, "typed") || strings.Contains(text, " to=") != gives {
					t.Errorf("%s of the %s on a lock of %s: %s", action, groups, holder, text)
				}
			}
		}
	})
}

// Goal: a person of role operator changes only what this person holds, by each action and in each of its steps. Method: every action of
// the console, forged too, on a lock and a desk of that person and of another one. A new action fails until its statuses are here.
func TestOperatorsChangeTheirOwn(t *testing.T) {
	t.Parallel()
	d, _, _ := withRoles(t)
	d.eachAction(t, func(action, holder string, grant applock.Grant) {
		statuses, known := map[string]map[string]int{
			"transfer": {"MLEE": 403, "JDOE": 403}, "take": {"MLEE": 403, "JDOE": 403}, "release": {"MLEE": 200, "JDOE": 403}, "extend": {"MLEE": 200, "JDOE": 403},
			"note": {"MLEE": 200, "JDOE": 403}, "respond": {"MLEE": 200, "JDOE": 403}, "policy": {"MLEE": 403, "JDOE": 403},
			"ask": {"MLEE": 409, "JDOE": 200}, "get": {"MLEE": 200, "JDOE": 409}, "withdraw": {"MLEE": 200, "JDOE": 200}, // in one's own name
		}[action]
		if !known {
			t.Errorf("nobody has said what an operator may do by %s", action)
		}
		want, tries := statuses[holder], []url.Values{anyForm(grant.Key())}
		if slices.Contains(access.Changes(), action) {
			if w := d.by("MLEE", "/"+action+"?name="+grant.Object.String(), nil, "operators"); w.Code != want {
				t.Errorf("the form of %s on a lock of %s has status %d", action, holder, w.Code)
			}
			planning := anyForm(grant.Key())
			planning.Del("confirmed")
			tries = append([]url.Values{{"lock": planning["lock"]}, planning}, tries...)
			if slices.Contains(access.ChangesOfMany(), action) {
				tries = append([]url.Values{{"desk": {holder}}, {"desk": {holder}, "reason": {"typed"}, "lasts": {"8h"}}}, tries...)
			}
		}
		for _, form := range tries {
			d.as("MLEE", "operators").sends(t, "/"+action, form, want)
		}
		forged := grant.Key()
		forged.Operator = "MLEE"
		d.as("MLEE", "operators").submit("/"+action, anyForm(forged))
		after := d.holder(t, grant.Object.String())
		changed, may := after.Fence != grant.Fence || after.Note != "marker", holder == "MLEE" && (action == "release" || action == "note")
		if changed != may {
			t.Errorf("%s on a lock of %s leaves %+v", action, holder, after)
		}
	})
}

// Goal: several locks of which one is another's are refused as a whole, with its name; and so is a plan from before the person's role, or
// the rights of its database user, changed. Method: forms of a supervisor, and of an operator who has had the rights.
func TestOthersAreRefusedByName(t *testing.T) {
	t.Parallel()
	d, role, _ := withRoles(t)
	own, other := d.get(t, "customer:1", "MLEE", time.Hour), d.get(t, "customer:2", "JDOE", time.Hour)
	operator, supervisor := d.as("MLEE", "operators"), d.as("MLEE", "supervisors")
	form := anyForm(own.Key(), other.Key())
	refused := func(what string, form url.Values) {
		t.Helper()
		lacks(t, operator.sends(t, "/release", form, http.StatusForbidden, "Nothing has happened", "customer:2 (JDOE)", "only your own locks"), "customer:1")
		if d.holder(t, "customer:1").Fence != own.Fence || d.holder(t, "customer:2").Fence != other.Fence {
			t.Errorf("%s: something has changed", what)
		}
	}
	refused("both", form)
	form.Del("confirmed")
	refused("both, not yet confirmed", form)
	for _, query := range []string{"type=customer", "q=customer"} {
		refused("the list "+query, url.Values{"all": {query}, "reason": {"typed"}})
	}
	plan := supervisor.sends(t, "/release", form, http.StatusOK)
	refused("the plan of a supervisor", formOf(plan))
	role.answer.Store(nil)
	plan = operator.sends(t, "/release", form, http.StatusOK)
	role.says(db.KindUnreachable)
	operator.sends(t, "/release", formOf(plan), http.StatusServiceUnavailable) // nobody knows whether the user has the right
	role.says(db.KindPrivilege)
	refused("the plan of a user that has lost its rights since", formOf(plan))
	supervisor.sends(t, "/release", formOf(plan), http.StatusOK, "RELEASED")
}

// Goal: pages offer an operator what would not be refused, and no operator sees the buttons of another. Method: the pages with locks of
// two operators, for each of them, for a third, and for supervisors.
func TestOperatorsAreOfferedTheirOwn(t *testing.T) {
	t.Parallel()
	d, _, _ := withRoles(t)
	both := []string{"MLEE", "JDOE"}
	for _, holder := range both {
		d.get(t, "customer:"+holder, holder, time.Hour)
		d.wait(t, "customer:"+holder, "PKING")
	}
	for page, holders := range map[string][]string{
		"/": both, "/waiters": both, "/locks": both, "/locks?operator=JDOE": both[1:], "/object?name=customer:MLEE": both[:1],
		"/object?name=customer:JDOE": both[1:], "/operator?name=MLEE": both[:1], "/operator?name=JDOE": both[1:],
	} {
		for _, person := range append(both, "ASMITH") {
			for _, groups := range []string{"operators", "supervisors"} {
				text := d.by(person, page, nil, groups).Body.String()
				list, bar, button := strings.HasPrefix(page, "/locks"), strings.Contains(page, "/locks") || strings.Contains(page, "/operator"), false
				for _, holder := range both {
					may := slices.Contains(holders, holder) && (groups == "supervisors" || person == holder)
					button = button || may && bar
					if regexp.MustCompile(`href="release\?(name=customer%3a|desk=)`+holder).MatchString(text) != (may && !list) {
						t.Errorf("%s of the %s at %s may release for %s: %t", person, groups, page, holder, may)
					}
				}
				if strings.Contains(text, `formaction="release"`) != button || strings.Contains(text, `formaction="ask"`) != list {
					t.Errorf("%s of the %s at %s may release the selected: %t", person, groups, page, button)
				}
			}
		}
	}
}

// Goal: pages that differ for each operator share the read of all locks. Method: forty operators at one page, in a time of the test's own.
func TestOperatorsShareSnapshots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Config{SignIn: byHeader{}, MayChange: func(string) bool { return true }})
		d.console.own, _ = d.operators("")
		const lookers, intervals = 40, 5
		for n := range lookers * intervals {
			l := &looker{desk: d, address: "/waiters", person: fmt.Sprintf("OP%d", n%lookers), version: "none"}
			l.asks()
			time.Sleep(DefaultInterval / lookers)
		}
		if reads := d.calls.locks.Load(); reads > 3*intervals || reads < intervals {
			t.Errorf("all locks were read %d times in %d intervals", reads, intervals)
		}
	})
}
