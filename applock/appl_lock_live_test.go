package applock_test

import (
	"bytes"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/testclient"
)

// Goal: a list of one object or of a prefix reads no other part of the table. Method: 10,000 other locks on either side,
// and the rows that the debug records count.
func TestListReadsItsRangeOnly(t *testing.T) {
	t.Parallel()
	var records bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&records, &slog.HandlerOptions{Level: slog.LevelDebug}))
	path := filepath.Join(t.TempDir(), "applock.db")
	client := testclient.Open(t, "sqlite:"+path, "", logger)
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	addLocks(t, path, "customer", 20000)
	addLocks(t, path, "order", 10000)
	for _, test := range []struct {
		request  applock.ListRequest
		want     int
		mostRows int
	}{
		{applock.ListRequest{ObjectType: "customer", ObjectID: "10042"}, 1, 1},
		{applock.ListRequest{ObjectType: "customer", ObjectID: "10042x"}, 0, 1},
		{applock.ListRequest{Prefix: "customer:1004", PageSize: 50}, 10, 50},
		{applock.ListRequest{Prefix: "customer:19", PageSize: 300}, 1000, 1200},
		{applock.ListRequest{Prefix: "customer:2", PageSize: 10}, 1, 10},
		{applock.ListRequest{Prefix: "o", PageSize: 10000}, 10000, 10000},
		{applock.ListRequest{Prefix: "customer:", Operator: "ASMITH", PageSize: 10}, 0, 0},
		{applock.ListRequest{ObjectType: "customer", After: applock.Object{Type: "customer", ID: "19990"}, PageSize: 10}, 10, 10},
		{applock.ListRequest{ObjectType: "customer", After: applock.Object{Type: "customer", ID: "20000"}, PageSize: 10}, 0, 0},
		{applock.ListRequest{After: applock.Object{Type: "customer", ID: "20000x"}, PageSize: 10000}, 10000, 10000},
		{applock.ListRequest{Prefix: "customer:1", After: applock.Object{Type: "customer", ID: "19995"}, PageSize: 10}, 4, 10},
	} {
		records.Reset()
		got := 0
		for _, err := range client.List(t.Context(), test.request) {
			if err != nil {
				t.Fatal(err)
			}
			got++
		}
		if rows := rowsRead(t, records.String()); got != test.want || rows > test.mostRows {
			t.Errorf("%+v: %d locks of %d rows, want %d of at most %d", test.request, got, rows, test.want, test.mostRows)
		}
	}
}

// addLocks adds locks of a type with the ids 00001 and so on.
func addLocks(t *testing.T, path, objectType string, count int) {
	t.Helper()
	handle, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = handle.Close() }()
	_, err = handle.ExecContext(t.Context(), `
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
		INSERT INTO appl_lock
		SELECT ?1, printf('%05d', i), 'JDOE', '', 1, 0, 0, 604800, 4102444800000000, '', 'N', NULL FROM n`, objectType, count)
	if err != nil {
		t.Fatal(err)
	}
}

// rowsRead sums what the debug records of pages say.
func rowsRead(t *testing.T, records string) int {
	t.Helper()
	sum := 0
	for _, match := range regexp.MustCompile(`msg=appl_lock_live rows=(\d+)`).FindAllStringSubmatch(records, -1) {
		rows, err := strconv.Atoi(match[1])
		if err != nil {
			t.Fatal(err)
		}
		sum += rows
	}
	return sum
}

// Goal: a list has a lock whose renewal has read the clock before the grant began, as one that had to wait for its row did: seconds
// are rounded, and so such a lock can seem to begin later than now. Method: a row that begins far from now.
func TestListHasEveryLiveLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "applock.db")
	client := testclient.Open(t, "sqlite:"+path, "", nil)
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	handle, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = handle.Close() }()
	const late = int64(4_000_000_000_000_000) // long after now
	_, err = handle.ExecContext(t.Context(), `INSERT INTO appl_lock VALUES ('customer', '1', 'JDOE', '', 1, ?1, ?1, 3600, ?2, '', 'N', NULL)`,
		late, late+time.Hour.Microseconds())
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for lock, err := range client.List(t.Context(), applock.ListRequest{ObjectType: "customer", ObjectID: "1"}) {
		if err != nil || lock.Owner.Operator != "JDOE" {
			t.Fatal(lock, err)
		}
		found++
	}
	if found != 1 {
		t.Errorf("%d locks, want 1", found)
	}
}

// Goal: a selection that contradicts itself, or is too long, is refused before the database is asked.
// Method: a client whose file does not exist.
func TestListRefusals(t *testing.T) {
	t.Parallel()
	client := testclient.Open(t, "sqlite:"+filepath.Join(t.TempDir(), "applock.db"), "", nil)
	for argument, request := range map[string]applock.ListRequest{
		"ObjectType":    {ObjectID: "42"},
		"ObjectID":      {ObjectType: "customer", ObjectID: strings.Repeat("4", 256)},
		"Prefix":        {ObjectType: "customer", Prefix: "customer:4"},
		"Department":    {Department: strings.Repeat("D", 65)},
		"NoDepartment":  {Department: "CS", NoDepartment: true},
		"OlderThan":     {OlderThan: time.Millisecond},
		"ExpiresWithin": {ExpiresWithin: -time.Second},
		"PageSize":      {PageSize: applock.MaxPageSize + 1},
		"Order":         {Order: "nonsense"},
		"After.Type":    {After: applock.Object{Type: strings.Repeat("t", 65), ID: "42"}},
		"After.ID":      {After: applock.Object{Type: "customer", ID: "4\x00"}},
	} {
		for _, err := range client.List(t.Context(), request) {
			requireInvalid(t, argument, err)
		}
	}
	for _, request := range []applock.ListRequest{
		{Order: applock.ByAge, Prefix: "customer:4"},
		{Order: applock.ByAge, ObjectType: "customer", ObjectID: "42"},
		{Order: applock.ByWaiters, After: applock.Object{Type: "customer", ID: "42"}},
	} {
		for _, err := range client.List(t.Context(), request) {
			requireInvalid(t, "Order", err)
		}
	}
	for _, prefix := range []string{":4", strings.Repeat("t", 65), "customer:" + strings.Repeat("4", 256), "customer:\xff", "c\x00"} {
		for _, err := range client.List(t.Context(), applock.ListRequest{Prefix: prefix}) {
			requireInvalid(t, "Prefix", err)
		}
	}
	for argument, request := range map[string]applock.WaitersRequest{
		"Prefix":       {ObjectType: "customer", Prefix: "customer:4"},
		"NoDepartment": {Department: "CS", NoDepartment: true},
		"OlderThan":    {OlderThan: applock.MaxTTL + time.Second},
	} {
		for _, err := range client.Waiters(t.Context(), request) {
			requireInvalid(t, argument, err)
		}
	}
}

func requireInvalid(t *testing.T, argument string, err error) {
	t.Helper()
	var invalid *applock.InvalidError
	if !errors.As(err, &invalid) || invalid.Argument != argument {
		t.Errorf("%v, want an InvalidError of %s", err, argument)
	}
}
