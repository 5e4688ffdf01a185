//go:build linux

package clusters_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	applockpostgres "github.com/applock/applock/applock/postgres"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/wire"
)

// pgpooled is a primary and its standby.
type pgpooled struct {
	pgPlace

	servers          []string // the folders of both
	primary, standby string
	direct           *applock.Client // to the primary
}

func newPgpooled(t *testing.T) pgpooled {
	t.Helper()
	p := pgpooled{pgPlace: newPGPlace(t)}
	primary := testdb.OwnPostgres(t, "fsync = off\n")
	p.primary = primary.DSN()
	var err error
	if p.direct, err = applockpostgres.New(pgPool(t, p.primary), applockpostgres.Config{}); err != nil {
		t.Fatal(err)
	}
	if _, err := migrate.Up(t.Context(), p.direct, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	standby := testdb.StandbyOf(t, primary, "")
	p.standby, p.servers = standby.DSN(), []string{primary.Dir, standby.Dir}
	for _, folder := range p.servers {
		sweep(t, folder)
	}
	return p
}

// Goal: where pgpool sends calls, which look like queries. Those of the façade begin with a comment, and without allow_sql_comments pgpool takes for no
// query what does; with it, and for SQL without a comment, its lists of functions decide. What goes to the standby is refused there and changes
// nothing. Method: a primary and its standby, to which pgpool sends all that it takes for reading, as a query of a setting shows first; for each
// setting a get by the façade, by SQL with parameters, and by SQL with the simple protocol, alone and in a transaction.
func TestPgpool(t *testing.T) {
	p := newPgpooled(t)
	for name, c := range map[string]struct {
		settings string
		// refused are the gets that go to the standby: by the façade, and by SQL.
		facade, sql bool
	}{
		"as it comes":                            {},
		"comments are allowed":                   {settings: "allow_sql_comments = on\n"},
		"a list of others":                       {settings: "write_function_list = 'nextval,setval'\n", sql: true},
		"a list of others, comments are allowed": {settings: "write_function_list = 'nextval,setval'\nallow_sql_comments = on\n", facade: true, sql: true},
		"a list that has them": {
			settings: "write_function_list = 'nextval,setval,.*_appl_lock.*'\nallow_sql_comments = on\n",
		},
		"a list that says that all read": {settings: "read_only_function_list = '.*'\n", sql: true},
		"a list that says that all read, comments are allowed": {
			settings: "read_only_function_list = '.*'\nallow_sql_comments = on\n", facade: true, sql: true,
		},
		"as it comes, without the balance": {settings: "load_balance_mode = off\n"},
	} {
		t.Run(name, func(t *testing.T) {
			through := p.pgpool(t, p.primary, p.standby, c.settings, !strings.HasPrefix(c.settings, "load_balance_mode = off"))
			pool := pgPool(t, through)
			client, err := applockpostgres.New(pool, applockpostgres.Config{})
			if err != nil {
				t.Fatal(err)
			}
			object := func(how string) applock.Object { return applock.Object{Type: "customer", ID: name + ", " + how} }
			bySQL := func(o applock.Object, db interface {
				Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
			}, options ...any) error {
				_, err := db.Exec(t.Context(), "SELECT * FROM applock.get_appl_lock_row($1, $2, 'JDOE', NULL, 60)", append(options, o.Type, o.ID)...)
				return err
			}
			get := func(client *applock.Client, o applock.Object) error {
				_, err := client.Get(t.Context(), applock.GetRequest{Object: o, Owner: applock.Owner{Operator: "JDOE"}})
				return err
			}
			o := object("façade")
			p.sent(t, o, get(client, o), c.facade)
			o = object("façade in a transaction")
			p.sent(t, o, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { return get(applockpostgres.WithTx(client, tx), o) }), c.facade)
			o = object("parameters")
			p.sent(t, o, bySQL(o, pool, pgx.QueryExecModeExec), c.sql)
			o = object("simple protocol")
			p.sent(t, o, bySQL(o, pool, pgx.QueryExecModeSimpleProtocol), c.sql)
			o = object("simple protocol in a transaction")
			p.sent(t, o, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { return bySQL(o, tx, pgx.QueryExecModeSimpleProtocol) }), c.sql)
			o = object("simple protocol in a transaction that has written")
			p.sent(t, o, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
				if _, err := tx.Exec(t.Context(), "CREATE TABLE IF NOT EXISTS written ()"); err != nil {
					return err
				}
				return bySQL(o, tx, pgx.QueryExecModeSimpleProtocol)
			}), false)
		})
	}
}

// sent checks what became of a get: the primary has it, or the standby has refused it and nobody has it.
func (p pgpooled) sent(t *testing.T, o applock.Object, err error, refused bool) {
	t.Helper()
	lock, inquired := p.direct.Inquire(t.Context(), o)
	if !refused {
		if err != nil || inquired != nil || lock.Owner.Operator != "JDOE" {
			t.Errorf("%s: get says %v, and the primary has %v, %v", o.ID, err, lock, inquired)
		}
		return
	}
	answer, found := errors.AsType[*pgconn.PgError](err)
	if !found || answer.Code != "25006" || !errors.Is(inquired, applock.ErrNotHeld) {
		t.Errorf("%s: get says %v, and the primary has %v, %v; want the refusal of the standby", o.ID, err, lock, inquired)
	}
}

// Goal: who waits behind pgpool gets the lock when it is released. Method: a holder and a waiter behind pgpool, each with its pool; the holder
// releases when the waiter is in the line.
func TestPgpoolWaiter(t *testing.T) {
	p := newPgpooled(t)
	through := p.pgpool(t, p.primary, p.standby, "", true)
	var clients []*applock.Client
	for range 2 {
		client, err := applockpostgres.New(pgPool(t, through), applockpostgres.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		clients = append(clients, client)
	}
	object := applock.Object{Type: "handoff", ID: "42"}
	first, err := clients[0].Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "HOLDER"}, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		lease, err := clients[1].Acquire(t.Context(), applock.AcquireRequest{Object: object, MaxHold: time.Hour})
		if err == nil && lease.Fence() <= first.Fence {
			err = fmt.Errorf("the fence %d follows %d", lease.Fence(), first.Fence)
		}
		got <- err
	}()
	p.await(t, "there is a waiter", func() bool {
		for _, err := range p.direct.Waiters(t.Context(), applock.WaitersRequest{}) {
			return err == nil
		}
		return false
	})
	conn, err := pgx.Connect(t.Context(), p.primary)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	p.await(t, "a session listens at the primary", func() bool {
		var n int
		err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE query ~ 'LISTEN ' AND pid <> pg_backend_pid()").Scan(&n)
		return err == nil && n > 0
	})
	began := time.Now()
	if _, err := clients[0].Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: "HOLDER", Fence: first.Fence}}); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-got:
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("handed over in %s", time.Since(began).Round(time.Millisecond))
	case <-time.After(hangLimit):
		t.Fatal("the waiter never gets it")
	}
}

// pgpool starts one, and returns the DSN that leads through it as soon as what only reads goes where it shall: to the standby if it is balanced.
func (p pgPlace) pgpool(t *testing.T, primary, standby, settings string, balanced bool) string {
	t.Helper()
	folder, err := os.MkdirTemp(p.folder, "pgpool-")
	if err != nil {
		t.Fatal(err)
	}
	p.own(t, folder)
	socket := func(dsn string) string {
		parsed, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		return parsed.Query().Get("host")
	}
	port := wire.FreePort(t)
	config := "backend_clustering_mode = 'streaming_replication'\nlisten_addresses = '127.0.0.1'\nport = " + port +
		"\npcp_listen_addresses = ''\npcp_port = " + wire.FreePort(t) + "\nunix_socket_directories = '" + folder + "'\npcp_socket_dir = '" + folder +
		"'\nwd_ipc_socket_dir = '" + folder + "'\npid_file_name = '" + folder + "/pid'\nlogdir = '" + folder + "'\nwork_dir = '" + folder +
		"'\nbackend_hostname0 = '" + socket(primary) + "'\nbackend_port0 = 5432\nbackend_weight0 = 0\n" +
		"backend_hostname1 = '" + socket(standby) + "'\nbackend_port1 = 5432\nbackend_weight1 = 1\n" +
		"sr_check_user = 'applock'\nsr_check_period = 1\nhealth_check_period = 0\nnum_init_children = 4\n" + settings
	path := filepath.Join(folder, "pgpool.conf")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	p.own(t, path)
	command := p.start(t, filepath.Base(folder), filepath.Join(p.tools, "debian/usr/sbin/pgpool"),
		[]string{"LD_LIBRARY_PATH=" + filepath.Join(p.tools, "debian/usr/lib/x86_64-linux-gnu")}, "-n", "-f", path)
	t.Cleanup(func() { _ = command.Process.Kill() })
	dsn := "postgres://applock@127.0.0.1:" + port + "/postgres?sslmode=disable"
	where := socket(standby)
	if !balanced {
		where = socket(primary)
	}
	p.await(t, "pgpool knows which server is which", func() bool {
		conn, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			return false
		}
		defer func() { _ = conn.Close(t.Context()) }()
		var answered string // by a function that is STABLE, and so taken for reading
		err = conn.QueryRow(t.Context(), "SELECT current_setting('unix_socket_directories')").Scan(&answered)
		return err == nil && answered == where
	})
	return dsn
}
