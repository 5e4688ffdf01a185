package applock_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

const (
	deskOperators = 50
	deskCustomers = 2_000
	// deskSteps is how many operations there are: enough for each outcome to come several times.
	deskSteps = 1_500

	// deskMargin is how far from the model's now an end of a lock always lies: much longer than the test takes, so that
	// the real time that passes meanwhile ends no lock.
	deskMargin = 15 * time.Minute
	// deskTolerance is how well the model knows the time of the database.
	deskTolerance = time.Minute
)

// Goal: what 50 operators are told in 1,500 operations on 2,000 customers, over months, is exactly what the contract
// says: who has the customer, since when and until when, under which fence; and so is the table at the end.
// Method: random operations with a fixed seed run one after the other in the database and in a model in memory, and each
// answer is compared. Time passes by moving all timestamps of the table, and of the model, into the past.
func TestAcceptanceDesk(t *testing.T) {
	t.Parallel()
	onEachProduct(t, func(t *testing.T, product string) {
		t.Parallel()
		runDesk(t, newRealPlace(t, product))
	})
}

// Goal: all that is as true through an application's own pool for MariaDB and MySQL, on which a statement that finds a
// row and changes nothing counts as one that changed it (CLIENT_FOUND_ROWS).
// Method: as TestAcceptanceDesk.
func TestAcceptanceDeskFoundRows(t *testing.T) {
	t.Parallel()
	for _, product := range testdb.MySQLProducts() {
		t.Run(product, func(t *testing.T) {
			t.Parallel()
			place := newRealPlace(t, product)
			pool, err := openMySQL(place.dsn, func(config *mysql.Config) { config.ClientFoundRows = true })
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = pool.Close() })
			place.client = testclient.MySQL(t, pool)
			runDesk(t, place)
		})
	}
}

func runDesk(t *testing.T, place realPlace) {
	t.Helper()
	d := newDesk(t, place)
	for d.step = 1; d.step <= deskSteps; d.step++ {
		d.operate()
		if d.step%500 == 0 {
			d.compareTable()
		}
	}
	for _, outcome := range slices.Sorted(maps.Keys(d.outcomes)) {
		t.Logf("%6d %s", d.outcomes[outcome], outcome)
	}
	t.Logf("%d days, %d rows, %s", int(d.clock.Hours()/24), len(d.existing()), time.Since(d.began).Round(time.Millisecond))
	d.checkOutcomes()
}

// customer is one object as the model knows it.
type customer struct {
	object applock.Object
	// fence is that of the newest grant, for ever; former is that of the grant before.
	fence, former applock.Fence
	// exists is true while there is a row, of which the others tell the content. It may be expired.
	exists                       bool
	owner                        applock.Owner
	acquiredAt, lockedAt, endsAt time.Time
	ttl                          time.Duration
	// ends is when the object became or becomes free, by the clock of the model. released is true after a release, which leaves
	// endsAt as it was.
	ends     time.Duration
	released bool
}

func (c *customer) lock() applock.Lock {
	return applock.Lock{
		Object: c.object, Owner: c.owner, Fence: c.fence,
		AcquiredAt: c.acquiredAt, LockedAt: c.lockedAt, ExpiresAt: c.endsAt, TTL: c.ttl,
	}
}

// ttlOr returns a TTL that was asked for, and that of the grant otherwise.
func (c *customer) ttlOr(ttl time.Duration) time.Duration {
	return cmp.Or(ttl, c.ttl)
}

// desk runs operations in the database and in the model.
type desk struct {
	t         *testing.T
	place     realPlace
	random    *rand.Rand
	operators []applock.Owner
	customers []*customer // in the order of their objects' bytes
	// clock is how much time has passed in the model, not counting the time that the test takes.
	clock time.Duration
	// began and beganAt are the start of the test by this process and by the database.
	began    time.Time
	beganAt  time.Time
	outcomes map[string]int
	// step and action tell where the test is.
	step   int
	action string
}

func newDesk(t *testing.T, place realPlace) *desk {
	t.Helper()
	d := &desk{
		t: t, place: place,
		random:   rand.New(rand.NewPCG(4711, 2_000)),
		outcomes: map[string]int{},
	}
	d.beganAt, d.began = d.databaseTime(), time.Now()
	departments := []string{"", "CS", "cs", "BILLING", "Ørsted"}
	names := []string{"JDOE", "jdoe", "ASMITH", "SØREN", "o'neil"}
	for n := range deskOperators {
		name := fmt.Sprintf("%s%d", names[n%len(names)], n/len(names))
		d.operators = append(d.operators, applock.Owner{Operator: name, Department: departments[n/2%len(departments)]})
	}
	// Names that sort otherwise as bytes than in a dictionary or as numbers, and pairs that differ in their case only.
	types := []string{"customer", "customer", "Customer", "customer-vip"}
	ids := []string{"%d", "%d/a", "%d/A", "ø%d", "Z:%d", "a b%d"}
	for n := range deskCustomers {
		object := applock.Object{Type: types[n%len(types)], ID: fmt.Sprintf(ids[n%len(ids)], n/len(ids))}
		d.customers = append(d.customers, &customer{object: object})
	}
	slices.SortFunc(d.customers, func(a, b *customer) int {
		return cmp.Or(strings.Compare(a.object.Type, b.object.Type), strings.Compare(a.object.ID, b.object.ID))
	})
	return d
}

// operate runs one random operation.
func (d *desk) operate() {
	c, owner := d.anyCustomer(), d.anyOwner()
	switch n := d.random.IntN(1000); {
	case n < 270:
		d.get(c, owner)
	case n < 320:
		d.get(c, d.holderOr(c, owner))
	case n < 450:
		c = d.liveCustomer(c)
		d.get(c, d.holderOr(c, owner))
	case n < 620:
		d.release(c, d.mostlyHolder(c, owner).Operator, d.anyFence(c))
	case n < 760:
		d.transfer(c, d.mostlyHolder(c, owner).Operator, d.anyOwner())
	case n < 880:
		d.inquire(c)
	case n < 950:
		d.assert(c, d.mostlyHolder(c, owner).Operator, max(d.anyFence(c), 1))
	case n < 985:
		d.list()
	case n < 992:
		d.purge()
	default:
		d.advance()
	}
}

// anyCustomer prefers a few customers, so that operators meet.
func (d *desk) anyCustomer() *customer {
	if d.random.IntN(10) < 6 {
		return d.customers[d.random.IntN(100)*(deskCustomers/100)]
	}
	return d.customers[d.random.IntN(len(d.customers))]
}

// liveCustomer returns the first that is held, looking from c on; or c.
func (d *desk) liveCustomer(c *customer) *customer {
	start := slices.Index(d.customers, c)
	for n := range d.customers {
		if candidate := d.customers[(start+n)%len(d.customers)]; d.live(candidate) {
			return candidate
		}
	}
	return c
}

// anyOwner returns an operator with the usual department, or sometimes another one.
func (d *desk) anyOwner() applock.Owner {
	owner := d.operators[d.random.IntN(len(d.operators))]
	if d.random.IntN(10) == 0 {
		owner.Department = d.operators[d.random.IntN(len(d.operators))].Department
	}
	return owner
}

// holderOr returns the operator of the customer's row with the department of owner, or owner without a row.
func (d *desk) holderOr(c *customer, owner applock.Owner) applock.Owner {
	if c.exists {
		owner.Operator = c.owner.Operator
	}
	return owner
}

func (d *desk) mostlyHolder(c *customer, owner applock.Owner) applock.Owner {
	if d.random.IntN(10) < 7 {
		return d.holderOr(c, owner)
	}
	return owner
}

// anyFence returns none, the newest, the one before, or one that has never been.
func (d *desk) anyFence(c *customer) applock.Fence {
	return []applock.Fence{0, 0, c.fence, c.fence, c.former, c.fence + 1}[d.random.IntN(6)]
}

func (d *desk) anyTTL() time.Duration {
	hours := []int{0, 1, 2, 8, 24, 36, 3 * 24, 10 * 24, 30 * 24} // 0 is that of the grant, or the default
	return time.Duration(hours[d.random.IntN(len(hours))]) * time.Hour
}

// padded adds trailing blanks now and then, as callers do that keep names in CHAR(8).
func (d *desk) padded(text string) string {
	if d.random.IntN(10) == 0 {
		return text + "   "
	}
	return text
}

func (d *desk) live(c *customer) bool { return c.exists && c.ends > d.clock }

// existing returns the customers that have a row.
func (d *desk) existing() []*customer {
	var existing []*customer
	for _, c := range d.customers {
		if c.exists {
			existing = append(existing, c)
		}
	}
	return existing
}

func (d *desk) get(c *customer, owner applock.Owner) {
	ttl := d.anyTTL()
	d.begin("get %s by %s for %s", c.object, owner, ttl)
	grant, err := d.place.client.Get(d.t.Context(), applock.GetRequest{
		Object: applock.Object{Type: c.object.Type, ID: d.padded(c.object.ID)},
		Owner:  applock.Owner{Operator: d.padded(owner.Operator), Department: d.padded(owner.Department)},
		TTL:    ttl,
	})
	switch {
	case d.live(c) && c.owner.Operator != owner.Operator:
		d.outcome("get HELD")
		d.wantHeld(c, err, c.endsAt)
	case d.live(c):
		d.outcome("get RENEWED")
		ttl = c.ttlOr(ttl)
		d.wantGrant(c, grant, err, owner, true, ttl)
		d.granted(c, grant, ttl)
	default:
		d.outcome("get ACQUIRED" + d.after(c, owner))
		d.wantGrant(c, grant, err, owner, false, ttl)
		d.granted(c, grant, ttl)
	}
}

// after tells what a new grant comes after.
func (d *desk) after(c *customer, owner applock.Owner) string {
	switch {
	case !c.exists && c.fence == 0:
		return " for the first time"
	case !c.exists:
		return " after a purge"
	case c.released:
		return " after a release"
	case c.owner.Operator == owner.Operator:
		return " after the own expiry"
	}
	return " after another's expiry"
}

func (d *desk) transfer(c *customer, from string, to applock.Owner) {
	ttl := d.anyTTL()
	d.begin("transfer %s from %s to %s for %s", c.object, from, to, ttl)
	grant, err := d.place.client.Transfer(d.t.Context(), applock.TransferRequest{
		Object: c.object,
		From:   d.padded(from),
		To:     applock.Owner{Operator: d.padded(to.Operator), Department: d.padded(to.Department)},
		TTL:    ttl,
	})
	switch {
	case !d.live(c):
		d.outcome("transfer FREE")
		d.wantNotHeld(c, err)
	case c.owner.Operator != from:
		d.outcome("transfer HELD")
		d.wantHeld(c, err, c.endsAt)
	default:
		d.outcome("transfer TRANSFERRED")
		ttl = c.ttlOr(ttl)
		d.wantGrant(c, grant, err, to, false, ttl)
		d.granted(c, grant, ttl)
	}
}

// granted brings the model up to date.
func (d *desk) granted(c *customer, grant applock.Grant, ttl time.Duration) {
	ttl = cmp.Or(ttl, applock.DefaultTTL)
	began := grant.ExpiresAt.Add(-ttl)
	if earliest := c.lockedAt.Add(time.Microsecond); c.exists && began.Before(earliest) {
		c.lockedAt = earliest // which grows with each of them
	} else {
		c.lockedAt = began
	}
	if grant.Outcome != applock.OutcomeRenewed {
		c.acquiredAt = began
		c.former, c.fence = c.fence, grant.Fence
	}
	owner := grant.Owner
	if grant.Outcome == applock.OutcomeRenewed { // without a department it keeps the one that it has
		owner.Department = cmp.Or(owner.Department, c.owner.Department)
	}
	c.exists, c.released, c.owner = true, false, owner
	c.endsAt, c.ends, c.ttl = grant.ExpiresAt, d.clock+ttl, ttl
}

func (d *desk) release(c *customer, operator string, fence applock.Fence) {
	d.begin("release %s by %s with fence %d", c.object, operator, fence)
	released, err := d.place.client.Release(d.t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: c.object, Operator: d.padded(operator), Fence: fence}})
	kind := " without a fence"
	if fence != 0 {
		kind = " with a fence"
	}
	switch {
	case !d.live(c):
		d.outcome("release FREE" + kind)
		if released == applock.OutcomeReleased || err != nil {
			d.fail(c, "got %v, %v, want false", released, err)
		}
		if c.exists && !c.released && c.owner.Operator == operator && (fence == 0 || fence == c.fence) {
			c.released, c.ends = true, d.clock // what had expired is released, too
		}
	case c.owner.Operator == operator && (fence == 0 || fence == c.fence):
		d.outcome("release RELEASED" + kind)
		if released != applock.OutcomeReleased || err != nil {
			d.fail(c, "got %v, %v, want true", released, err)
		}
		c.released, c.ends = true, d.clock
	default:
		var endsAt time.Time // which a release does not tell
		if c.owner.Operator == operator {
			kind += " of another grant"
			endsAt = c.endsAt // which is told whole
		}
		d.outcome("release HELD" + kind)
		d.wantHeld(c, err, endsAt)
	}
}

func (d *desk) inquire(c *customer) {
	d.begin("inquire %s", c.object)
	lock, err := d.place.client.Inquire(d.t.Context(), c.object)
	if !d.live(c) {
		d.outcome("inquire N")
		d.wantNotHeld(c, err)
		return
	}
	d.outcome("inquire Y")
	if err != nil || !equalLocks(lock, c.lock()) {
		d.fail(c, "got %+v, %v", lock, err)
	}
}

func (d *desk) assert(c *customer, operator string, fence applock.Fence) {
	d.begin("assert %s by %s with fence %d", c.object, operator, fence)
	err := d.place.client.Assert(d.t.Context(), applock.Key{Object: c.object, Operator: operator, Fence: fence})
	if d.live(c) && c.owner.Operator == operator && c.fence == fence {
		d.outcome("assert ok")
		if err != nil {
			d.fail(c, "got %v", err)
		}
		return
	}
	d.outcome("assert LOST")
	if !errors.Is(err, applock.ErrLost) {
		d.fail(c, "got %v, want ErrLost", err)
	}
}

func (d *desk) list() {
	request := applock.ListRequest{PageSize: []int{0, 30, 100, applock.MaxPageSize}[d.random.IntN(4)]}
	owner := d.anyOwner()
	if d.random.IntN(2) == 0 {
		request.ObjectType = d.anyCustomer().object.Type
	}
	if d.random.IntN(3) == 0 {
		request.Operator = owner.Operator
	}
	if d.random.IntN(3) == 0 {
		request.Department = owner.Department
	}
	d.begin("list %+v", request)
	d.outcome("list")
	n := 0
	want := d.listed(request)
	for lock, err := range d.place.client.List(d.t.Context(), request) {
		if n >= len(want) || err != nil {
			d.t.Fatalf("%s: lock %d: got %+v, %v, want %d locks", d.where(), n+1, lock, err, len(want))
		}
		if !equalLocks(lock, want[n].lock()) {
			d.fail(want[n], "lock %d: got %+v", n+1, lock)
		}
		n++
	}
	if n != len(want) {
		d.t.Fatalf("%s: got %d locks, want %d; the next is %s", d.where(), n, len(want), want[n].object)
	}
	if n > 30 {
		d.outcome("list of more than 30")
	}
}

// listed returns the live locks that request selects.
func (d *desk) listed(request applock.ListRequest) []*customer {
	var listed []*customer
	for _, c := range d.customers {
		if d.live(c) &&
			(request.ObjectType == "" || request.ObjectType == c.object.Type) &&
			(request.Operator == "" || request.Operator == c.owner.Operator) &&
			(request.Department == "" || request.Department == c.owner.Department) {
			listed = append(listed, c)
		}
	}
	return listed
}

// purge removes rows in the database and in the model; their fences stay in the model.
func (d *desk) purge() {
	days := []int{0, 1, 2, 5, 10, 30}[d.random.IntN(6)] // 0 is the default
	request := applock.PurgeRequest{
		OlderThan: time.Duration(days) * 24 * time.Hour,
		Batch:     []int{0, 5, 100}[d.random.IntN(3)],
	}
	for d.near(d.clock - cmp.Or(request.OlderThan, applock.DefaultPurgeAge)) {
		request.OlderThan = cmp.Or(request.OlderThan, applock.DefaultPurgeAge) + deskMargin
	}
	var progress int64
	request.Progress = func(purged int64) { progress = purged }
	d.begin("purge older than %s by %d", request.OlderThan, request.Batch)
	d.waitUntilAllFencesArePast()
	purged, err := d.place.client.Purge(d.t.Context(), request)
	var want int64
	for _, c := range d.existing() {
		if c.ends < d.clock-cmp.Or(request.OlderThan, applock.DefaultPurgeAge) {
			c.exists = false
			want++
		}
	}
	if purged != want || progress != want || err != nil {
		d.t.Fatalf("%s: got %d, progress %d, %v, want %d", d.where(), purged, progress, err, want)
	}
	if want > 0 {
		d.outcome("purge of some")
	}
}

// waitUntilAllFencesArePast waits for the next microsecond or millisecond of the database: purge leaves a row alone whose
// fence does not lie in the past, and here a grant of a moment ago may be backdated by months.
func (d *desk) waitUntilAllFencesArePast() {
	var newest applock.Fence
	for _, c := range d.customers {
		newest = max(newest, c.fence)
	}
	for d.databaseTime().UnixMicro() <= int64(newest) {
		if err := d.t.Context().Err(); err != nil {
			d.t.Fatal(err)
		}
	}
}

// advance lets hours or days pass.
func (d *desk) advance() {
	passed := time.Duration(1+d.random.IntN(8)) * time.Hour
	if d.random.IntN(8) == 0 {
		passed *= 24
	}
	for d.near(d.clock + passed) {
		passed += deskMargin
	}
	d.begin("advance %s", passed)
	d.outcome("advance")
	d.backdate(passed)
	d.clock += passed
	for _, c := range d.customers {
		c.acquiredAt, c.lockedAt, c.endsAt = c.acquiredAt.Add(-passed), c.lockedAt.Add(-passed), c.endsAt.Add(-passed)
	}
}

// near reports whether a lock ends near a moment of the model's clock.
func (d *desk) near(moment time.Duration) bool {
	return slices.ContainsFunc(d.customers, func(c *customer) bool {
		return c.exists && (c.ends-moment).Abs() < deskMargin
	})
}

// backdate moves the timestamps of all rows.
func (d *desk) backdate(passed time.Duration) {
	interval := fmt.Sprintf(d.place.interval, passed.Microseconds())
	statement := fmt.Sprintf("UPDATE %[1]s SET acquired_ts = acquired_ts - %[2]s, lock_ts = lock_ts - %[2]s, expires_ts = expires_ts - %[2]s, released_ts = released_ts - %[2]s",
		d.place.locks, interval)
	if _, err := d.place.handle.ExecContext(d.t.Context(), statement); err != nil {
		d.t.Fatalf("%s: %v", d.where(), err)
	}
}

// databaseTime returns the time of the database's clock.
func (d *desk) databaseTime() time.Time {
	var microseconds int64
	if err := d.place.handle.QueryRowContext(d.t.Context(), "SELECT "+d.place.now).Scan(&microseconds); err != nil {
		d.t.Fatalf("%s: %v", d.where(), err)
	}
	return time.UnixMicro(microseconds).UTC()
}

// now returns about what the database's clock shows.
func (d *desk) now() time.Time { return d.beganAt.Add(time.Since(d.began)) }

func (d *desk) begin(format string, args ...any) { d.action = fmt.Sprintf(format, args...) }

func (d *desk) where() string {
	return fmt.Sprintf("step %d, after %s: %s", d.step, d.clock, d.action)
}

func (d *desk) outcome(outcome string) { d.outcomes[outcome]++ }

// fail ends the test: from here on database and model are not comparable.
func (d *desk) fail(c *customer, format string, args ...any) {
	d.t.Helper()
	d.t.Fatalf("%s: %s\nthe model has: live %t, %+v", d.where(), fmt.Sprintf(format, args...), d.live(c), *c)
}

func (d *desk) wantHeld(c *customer, err error, endsAt time.Time) {
	d.t.Helper()
	var held *applock.HeldError
	if !errors.As(err, &held) || !errors.Is(err, applock.ErrHeld) {
		d.fail(c, "got %v, want ErrHeld", err)
	}
	if held.Object != c.object || held.Holder.Owner != c.owner || !held.Holder.ExpiresAt.Equal(endsAt) {
		d.fail(c, "got %+v", *held)
	}
}

func (d *desk) wantNotHeld(c *customer, err error) {
	d.t.Helper()
	if !errors.Is(err, applock.ErrNotHeld) || errors.Is(err, applock.ErrHeld) {
		d.fail(c, "got %v, want ErrNotHeld", err)
	}
}

// wantGrant checks a grant before the model knows it.
func (d *desk) wantGrant(c *customer, grant applock.Grant, err error, owner applock.Owner, renewed bool, ttl time.Duration) {
	d.t.Helper()
	if err != nil {
		d.fail(c, "got %v, want a grant", err)
	}
	if grant.Object != c.object || grant.Owner != owner || grant.Outcome == applock.OutcomeRenewed != renewed {
		d.fail(c, "got %+v, want it for %s, renewed %t", grant, owner, renewed)
	}
	if renewed && grant.Fence != c.fence {
		d.fail(c, "got the fence %d, want the same, %d", grant.Fence, c.fence)
	}
	if !renewed && grant.Fence <= c.fence {
		d.fail(c, "got the fence %d, want one greater than %d", grant.Fence, c.fence)
	}
	expires := d.now().Add(cmp.Or(ttl, applock.DefaultTTL))
	if grant.ExpiresAt.Sub(expires).Abs() > deskTolerance || grant.ExpiresAt.Location() != time.UTC {
		d.fail(c, "expires at %s, want about %s", grant.ExpiresAt, expires)
	}
}

// equalLocks compares every field, times to the microsecond.
func equalLocks(a, b applock.Lock) bool {
	return a.Object == b.Object && a.Owner == b.Owner && a.Fence == b.Fence &&
		a.AcquiredAt.Equal(b.AcquiredAt) && a.LockedAt.Equal(b.LockedAt) && a.ExpiresAt.Equal(b.ExpiresAt)
}

// compareTable compares all rows with the model, those of free objects, too.
func (d *desk) compareTable() {
	d.begin("the whole table")
	got, want := d.readTable(), d.existing()
	if len(got) != len(want) {
		d.t.Errorf("%s: got %d rows, want %d", d.where(), len(got), len(want))
	}
	rows := map[applock.Object]applock.Lock{}
	for _, row := range got {
		rows[row.Object] = row
	}
	for _, c := range want {
		row := rows[c.object]
		delete(rows, c.object)
		if lock := c.lock(); !equalLocks(row, lock) {
			d.t.Errorf("%s: %s: got %+v, want %+v (released %t)", d.where(), c.object, row, lock, c.released)
		}
	}
	for _, row := range rows {
		d.t.Errorf("%s: the model has no row %+v", d.where(), row)
	}
	if d.t.Failed() {
		d.t.FailNow()
	}
}

func (d *desk) readTable() []applock.Lock {
	query := "SELECT object_type, object_id, operator_id, department_id, fence"
	for _, column := range []string{"acquired_ts", "lock_ts", "expires_ts"} {
		query += ", " + fmt.Sprintf(d.place.microseconds, column)
	}
	rows, err := d.place.handle.QueryContext(d.t.Context(), query+" FROM "+d.place.locks)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }() // Err tells what matters
	var table []applock.Lock
	for rows.Next() {
		var l applock.Lock
		var acquired, locked, expires int64
		err := rows.Scan(&l.Object.Type, &l.Object.ID, &l.Owner.Operator, &l.Owner.Department, &l.Fence, &acquired, &locked, &expires)
		if err != nil {
			d.t.Fatal(err)
		}
		l.AcquiredAt, l.LockedAt, l.ExpiresAt = time.UnixMicro(acquired), time.UnixMicro(locked), time.UnixMicro(expires)
		table = append(table, l)
	}
	if err := rows.Err(); err != nil {
		d.t.Fatal(err)
	}
	return table
}

// checkOutcomes looks whether the test met everything that it is for. With a fixed seed the numbers are always the same.
func (d *desk) checkOutcomes() {
	for _, outcome := range []string{
		"get HELD", "get RENEWED", "get ACQUIRED for the first time", "get ACQUIRED after a release",
		"get ACQUIRED after a purge", "get ACQUIRED after the own expiry", "get ACQUIRED after another's expiry",
		"transfer TRANSFERRED", "transfer HELD", "transfer FREE",
		"release RELEASED without a fence", "release RELEASED with a fence",
		"release FREE without a fence", "release FREE with a fence",
		"release HELD without a fence", "release HELD with a fence", "release HELD with a fence of another grant",
		"inquire Y", "inquire N", "assert ok", "assert LOST", "list of more than 30", "purge of some", "advance",
	} {
		if d.outcomes[outcome] == 0 {
			d.t.Errorf("%q never came", outcome)
		}
	}
}
