//go:build linux

package clusters_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	applockpostgres "github.com/applock/applock/applock/postgres"
	"github.com/applock/applock/internal/testing/testdb"
)

// Goal: pgpool sends calls, which look like queries, to the primary. Method: a primary and its standby, to which pgpool sends all that it
// takes for reading, as a query of a setting shows first; settings that decide what that is, and for each a get, which the primary must have then.
func TestPgpool(t *testing.T) {
	p := newPGPlace(t)
	instance := testdb.NewPostgresInstance(t)
	instance.Initialise(t, "primary")
	primary := instance.Start(t, "primary", "fsync = off\n")
	pool := pgPool(t, primary)
	direct, err := applockpostgres.New(pool, applockpostgres.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migrate.Up(t.Context(), direct, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	instance.Copy(t, "primary", "standby")
	standby := instance.Start(t, "standby", "")
	for name, settings := range map[string]string{
		"as it comes":                      "",
		"a list of others":                 "write_function_list = 'nextval,setval'\n",
		"a list that has them":             "write_function_list = 'nextval,setval,.*_appl_lock.*'\n",
		"a list that says that all read":   "read_only_function_list = '.*'\n",
		"as it comes, without the balance": "load_balance_mode = off\n",
	} {
		t.Run(name, func(t *testing.T) {
			through := p.pgpool(t, primary, standby, settings, !strings.HasPrefix(settings, "load_balance_mode = off"))
			client, err := applockpostgres.New(pgPool(t, through), applockpostgres.Config{})
			if err != nil {
				t.Fatal(err)
			}
			object := applock.Object{Type: "customer", ID: name}
			_, err = client.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}})
			if err != nil {
				t.Fatal(err)
			}
			if lock, err := direct.Inquire(t.Context(), applock.InquireRequest{Object: object}); err != nil || lock.Owner.Operator != "JDOE" {
				t.Errorf("the primary has %v, %v", lock, err)
			}
		})
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
	port := pgPort(t)
	config := "backend_clustering_mode = 'streaming_replication'\nlisten_addresses = '127.0.0.1'\nport = " + port +
		"\npcp_listen_addresses = ''\npcp_port = " + pgPort(t) + "\nunix_socket_directories = '" + folder + "'\npcp_socket_dir = '" + folder +
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
