// Package dba_test runs the commands of docs/dba.md and docs/watching.md.
package dba_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the database/sql driver "pgx"
	_ "modernc.org/sqlite"             // the database/sql driver "sqlite"

	mysqldriver "github.com/applock/applock/internal/db/mysql"
	"github.com/applock/applock/internal/testing/readme"
	"github.com/applock/applock/internal/testing/testdb"
)

// site is a product as its administrator uses it.
type site struct {
	// chapter is the product's heading.
	chapter string
	// folder is where the commands are run.
	folder string
	// environment tells the product's tools where the server is, and the shell where the tools are.
	environment []string
	// words are what the page says, and what that is here.
	words *strings.Replacer
	// dsn and copied are the DSNs of the database and of the one that it is restored into.
	dsn, copied string
	// open returns a pool on a database.
	open func(dsn string) *sql.DB
	// shift moves all rows by days, as on a server whose clock is wrong.
	shift func(days int) string
}

const day = 24 * int64(time.Hour/time.Microsecond)

// build builds applockctl into a folder of its own.
func build(t *testing.T) string {
	t.Helper()
	return filepath.Dir(testdb.Applockctl(t))
}

// page returns both pages.
func page(t *testing.T) string {
	t.Helper()
	var both strings.Builder
	for _, name := range []string{"../dba.md", "../watching.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		both.Write(text)
	}
	return both.String()
}

// path is the PATH that finds these programs first.
func path(folders ...string) string {
	return "PATH=" + strings.Join(append(folders, os.Getenv("PATH")), ":")
}

func sqliteSite(t *testing.T, bin string) site {
	t.Helper()
	testdb.SQLite3(t)
	folder := t.TempDir()
	return site{
		chapter:     "SQLite",
		folder:      folder,
		environment: []string{path(bin), "APPLOCK_DSN=sqlite:shop.db"},
		words:       strings.NewReplacer(),
		dsn:         "sqlite:shop.db",
		copied:      "sqlite:shop_copy.db",
		open: func(dsn string) *sql.DB {
			handle, err := sql.Open("sqlite", filepath.Join(folder, strings.TrimPrefix(dsn, "sqlite:")))
			if err != nil {
				t.Fatal(err)
			}
			return handle
		},
		shift: func(days int) string {
			return fmt.Sprintf(`UPDATE appl_lock SET fence = fence + %[1]d, acquired_ts = acquired_ts + %[1]d,
				lock_ts = lock_ts + %[1]d, expires_ts = expires_ts + %[1]d WHERE object_type = '%[2]s'`, int64(days)*day, clockOf(days))
		},
	}
}

// parse parses a DSN without telling it.
func parse(t *testing.T, dsn string) *url.URL {
	t.Helper()
	parsed, err := url.Parse(dsn)
	if err != nil {
		t.Fatal("the test DSN is no URL")
	}
	return parsed
}

// another returns a DSN for another database or user.
func another(t *testing.T, dsn, database string, user *url.Userinfo) string {
	t.Helper()
	parsed := parse(t, dsn)
	if database != "" {
		parsed.Path = "/" + database
	}
	if user != nil {
		parsed.User = user
	}
	return parsed.String()
}

func postgresSite(t *testing.T, bin string) site {
	t.Helper()
	dsn := testdb.Postgres(t)
	server := parse(t, dsn)
	password, _ := server.User.Password()
	shop := strings.TrimPrefix(server.Path, "/")
	copied := another(t, dsn, shop+"_copy", nil)
	tools := filepath.Dir(testdb.PostgresTool(t, "pg_restore"))
	open := func(dsn string) *sql.DB {
		handle, err := sql.Open("pgx", dsn)
		if err != nil {
			t.Fatal(err)
		}
		return handle
	}
	t.Cleanup(func() { execute(t, open(dsn), "DROP DATABASE IF EXISTS "+shop+"_copy WITH (FORCE)") })
	return site{
		chapter: "PostgreSQL",
		folder:  t.TempDir(),
		environment: []string{
			path(bin, tools), "APPLOCK_DSN=" + dsn, "PGHOST=" + server.Hostname(), "PGPORT=" + server.Port(),
			"PGUSER=" + server.User.Username(), "PGPASSWORD=" + password, "PGSSLMODE=" + server.Query().Get("sslmode"),
		},
		words: strings.NewReplacer("postgres://postgres@db.example.com/shop_copy", "'"+copied+"'",
			"shop.dump", "shop.dump", "shop", shop, "applock_dba", shop+"_dba"),
		dsn:    dsn,
		copied: copied,
		open:   open,
		shift: func(days int) string {
			return fmt.Sprintf(`UPDATE applock.appl_lock SET fence = fence + %d, acquired_ts = acquired_ts + interval '%[2]d days',
				lock_ts = lock_ts + interval '%[2]d days', expires_ts = expires_ts + interval '%[2]d days'
				WHERE object_type = '%[3]s'`, int64(days)*day, days, clockOf(days))
		},
	}
}

// optionsOf writes the file that MySQL's clients read, and returns its folder.
func optionsOf(t *testing.T, server *url.URL) string {
	t.Helper()
	home := t.TempDir()
	password, _ := server.User.Password()
	options := fmt.Sprintf("[client]\nprotocol=tcp\nhost=%s\nport=%s\nuser=%s\npassword=%s\n",
		server.Hostname(), server.Port(), server.User.Username(), password)
	if err := os.WriteFile(filepath.Join(home, ".my.cnf"), []byte(options), 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}

func mysqlSite(t *testing.T, product, bin string) site {
	t.Helper()
	dsn := testdb.MySQL(t, product)
	server := parse(t, dsn)
	shop := strings.TrimPrefix(server.Path, "/")
	copied := another(t, dsn, shop+"_copy", nil)
	// A name of up to 32 characters; shop_app begins with a letter: 5e3 is a number.
	short := shop[len("applock_"):]
	open := func(dsn string) *sql.DB {
		config, err := mysqldriver.ParseDSN(dsn)
		if err != nil {
			t.Fatal(err)
		}
		handle, err := sql.Open("mysql", config.FormatDSN())
		if err != nil {
			t.Fatal(err)
		}
		return handle
	}
	t.Cleanup(func() { execute(t, open(dsn), "DROP DATABASE IF EXISTS "+shop+"_copy") })
	client, dump := "mariadb", "mariadb-dump"
	if product == "mysql" {
		client, dump = "mysql", "mysqldump --set-gtid-purged=OFF"
	}
	return site{
		chapter: "MySQL and MariaDB",
		folder:  t.TempDir(),
		environment: []string{
			path(bin, filepath.Dir(testdb.MySQLClient(t, product)), filepath.Dir(testdb.MySQLDump(t, product))),
			"APPLOCK_DSN=" + dsn, "HOME=" + optionsOf(t, server),
		},
		words: strings.NewReplacer("mysql://root@db.example.com/shop_copy", "'"+copied+"'", "--dialect mariadb", "--dialect mariadb", "mariadb-dump", dump,
			"mariadb", client, "shop.sql", "shop.sql", "shop_app", short+"_app", "shop", shop, "applock_dba", short+"_dba"),
		dsn:    dsn,
		copied: copied,
		open:   open,
		shift: func(days int) string {
			return fmt.Sprintf(`UPDATE appl_lock SET fence = fence + %d, acquired_ts = acquired_ts + INTERVAL %[2]d DAY,
				lock_ts = lock_ts + INTERVAL %[2]d DAY, expires_ts = expires_ts + INTERVAL %[2]d DAY
				WHERE object_type = '%[3]s'`, int64(days)*day, days, clockOf(days))
		},
	}
}

// clockOf is the type of the objects that were locked on a server whose clock is so many days ahead.
func clockOf(days int) string { return map[int]string{-1: "behind", 0: "right", 1: "ahead"}[days] }

// execute runs statements, also after the test has ended, and closes the pool.
func execute(t *testing.T, handle *sql.DB, statements ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	defer func() { _ = handle.Close() }()
	for _, statement := range statements {
		if _, err := handle.ExecContext(ctx, statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

var (
	shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")
	sqlBlock   = regexp.MustCompile("(?s)```sql\n(.*?)```")
)

// shell runs lines as the administrator types them, and returns what they print and their exit code.
func (s site) shell(t *testing.T, lines string, environment ...string) (output string, code int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "sh", "-e", "-c", lines)
	command.Dir = s.folder
	command.Env = append(append([]string{}, s.environment...), environment...)
	text, err := command.CombinedOutput()
	if command.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), command.ProcessState.ExitCode()
}

// must runs lines that have to work.
func (s site) must(t *testing.T, lines string, environment ...string) string {
	t.Helper()
	output, code := s.shell(t, lines, environment...)
	if code != 0 {
		t.Fatalf("%s\nexits with %d:\n%s", lines, code, output)
	}
	return output
}

// blocks returns the lines of the page under a heading of the product's chapter, or of all.
func (s site) blocks(t *testing.T, title string) []string {
	t.Helper()
	var found []string
	for _, block := range shellBlock.FindAllStringSubmatch(readme.Under(page(t), title), -1) {
		found = append(found, s.words.Replace(block[1]))
	}
	if len(found) == 0 {
		t.Fatalf("the page has no commands under %q", title)
	}
	return found
}

// grant is what a command tells of a lock, as JSON.
type grant struct {
	Outcome string `json:"outcome"`
	Fence   int64  `json:"fence"`
}

// lock calls applockctl and returns its answer.
func (s site) lock(t *testing.T, dsn, command string) (answer grant, code int) {
	t.Helper()
	output, code := s.shell(t, "applockctl --output json "+command+" 2>/dev/null", "APPLOCK_DSN="+dsn)
	line, _, _ := strings.Cut(output, "\n")
	if err := json.Unmarshal([]byte(line), &answer); err != nil {
		t.Errorf("%s: %v\n%s", command, err, output)
	}
	return answer, code
}

// onSites runs a test on each product.
func onSites(t *testing.T, test func(t *testing.T, s site)) {
	t.Helper()
	bin := build(t)
	t.Run("Sites", func(t *testing.T) {
		testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
			switch product {
			case "sqlite":
				test(t, sqliteSite(t, bin))
			case "postgres":
				test(t, postgresSite(t, bin))
			default:
				test(t, mysqlSite(t, product, bin))
			}
		})
	})
}

// Goal: an administrator who follows the page restores a backup on another server, and everything goes on: locks are
// still held, and every new fence is greater than those that the backup has, whatever the clock says. Method: the page's
// commands, word for word, install, dump with live locks, restore elsewhere and repair; some rows are of a server whose
// clock was a day ahead or behind.
func TestHeavyBackupAndRestore(t *testing.T) {
	t.Parallel()
	onSites(t, func(t *testing.T, s site) {
		migrator := s.migrator(t)
		s.must(t, s.blocks(t, s.chapter+": install")[0], migrator...)
		fences := map[string]int64{}
		for days := -1; days <= 1; days++ {
			for _, id := range []string{"1", "2"} {
				if _, code := s.lock(t, s.dsn, "get "+clockOf(days)+":"+id+" --operator jdoe --ttl 7d"); code != 0 {
					t.Fatalf("get: exit code %d", code)
				}
			}
			if days != 0 {
				execute(t, s.open(s.dsn), s.shift(days))
			}
			for _, id := range []string{"1", "2"} {
				held, _ := s.lock(t, s.dsn, "inquire "+clockOf(days)+":"+id)
				fences[clockOf(days)+":"+id] = held.Fence
			}
		}
		s.must(t, s.blocks(t, s.chapter+": back up")[0])
		restoring := map[string][]string{
			"PostgreSQL": {"--no-owner", "migrate repair"}, "MySQL and MariaDB": {"CREATE DATABASE", "GRANT ", "migrate repair"}, "SQLite": {"migrate repair"},
		}[s.chapter]
		repair := len(restoring) - 1
		for _, words := range restoring[:repair] {
			s.play(t, s.block(t, s.chapter+": restore", words))
		}
		if output, code := s.shell(t, "applockctl migrate status", "APPLOCK_DSN="+s.copied); s.chapter == "PostgreSQL" &&
			(code != 1 || !strings.Contains(output, "others, each may be executed by everybody (PUBLIC); mend it with: applockctl migrate repair")) {
			t.Errorf("after the restore the status is %d:\n%s", code, output)
		}
		s.play(t, s.block(t, s.chapter+": restore", restoring[repair]))
		s.must(t, "applockctl migrate status", "APPLOCK_DSN="+s.copied)
		for object, fence := range fences {
			s.goesOn(t, object, fence)
		}
	})
}

// goesOn goes on with a restored lock.
func (s site) goesOn(t *testing.T, object string, fence int64) {
	t.Helper()
	if refused, code := s.lock(t, s.copied, "get "+object+" --operator asmith"); code != 1 || refused.Outcome != "HELD" {
		t.Errorf("%s: get by somebody else: %v, exit code %d, want a refusal", object, refused, code)
	}
	if held, _ := s.lock(t, s.copied, "inquire "+object); held.Fence != fence {
		t.Errorf("%s has fence %d, had %d", object, held.Fence, fence)
	}
	next := "transfer " + object + " --from jdoe --to kim --by boss"
	if strings.HasSuffix(object, ":2") {
		if _, code := s.lock(t, s.copied, fmt.Sprintf("release %s --operator jdoe --fence %d", object, fence)); code != 0 {
			t.Errorf("%s: release with its fence: exit code %d", object, code)
		}
		next = "get " + object + " --operator jdoe"
	}
	granted, code := s.lock(t, s.copied, next)
	if code != 0 || granted.Fence <= fence {
		t.Errorf("%s: the new grant has fence %d, exit code %d, want more than %d", object, granted.Fence, code, fence)
	}
	if late, code := s.lock(t, s.copied, fmt.Sprintf("release %s --operator jdoe --fence %d", object, fence)); code != 1 || late.Outcome != "HELD" {
		t.Errorf("%s: release with the old fence: %v, exit code %d, want a refusal", object, late, code)
	}
}

// Goal: the rights that the page names are enough, to install, check, repair and remove, and the ways by hand are the
// same as the others. Method: an account with these rights and no others does it; then what is printed is installed by
// the product's own client; each time the status is good, and nothing is left in the end.
func TestHeavyInstallByTheMigratorAndByHand(t *testing.T) {
	t.Parallel()
	onSites(t, func(t *testing.T, s site) {
		environment := s.migrator(t)
		install := s.blocks(t, s.chapter+": install")
		remove := s.blocks(t, s.chapter+": remove")[0]
		for _, lines := range []string{install[0], "applockctl migrate status --exit-code", "applockctl migrate repair", remove} {
			s.must(t, lines, environment...)
		}
		s.must(t, install[1], environment...)
		for _, title := range []string{"Check", "Verify", "Upgrade"} {
			for _, lines := range s.blocks(t, title) {
				s.must(t, lines, environment...)
			}
		}
		s.must(t, "applockctl migrate status --exit-code")
		if _, code := s.lock(t, s.dsn, "get customer:42 --operator jdoe"); code != 0 {
			t.Errorf("get: exit code %d", code)
		}
		if output, code := s.shell(t, remove); code != 1 || !strings.Contains(output, "1 lock is live and would be lost") {
			t.Errorf("remove with a live lock: %d\n%s", code, output)
		}
		s.must(t, "applockctl release customer:42 --operator jdoe\n"+remove)
		if output := s.must(t, "applockctl migrate status"); strings.Count(output, "pending") != 2 {
			t.Errorf("after the removal: %s", output)
		}
	})
}

// Goal: an administrator who has installed with his own account is told so by status, and what the page says gives everything to another:
// the locks stay, and verify has nothing to say. Method: the page's commands, with a live lock.
func TestHeavyAnotherOwner(t *testing.T) {
	t.Parallel()
	onSites(t, func(t *testing.T, s site) {
		if s.chapter == "SQLite" {
			return
		}
		output := s.must(t, "applockctl migrate up")
		const told = "create an account NAME that can migrate and no more; mend it with: applockctl migrate repair --owner NAME"
		if !strings.Contains(output, told) {
			t.Errorf("migrate up does not tell of the owner:\n%s", output)
		}
		if output, code := s.shell(t, "applockctl migrate status"); code != 1 || strings.Count(output, told) != 1 {
			t.Errorf("the status is %d:\n%s", code, output)
		}
		held, _ := s.lock(t, s.dsn, "get customer:42 --operator jdoe")
		s.migrator(t)
		s.must(t, s.blocks(t, "The owner")[0])
		s.must(t, "applockctl migrate status")
		s.must(t, "applockctl verify")
		if still, _ := s.lock(t, s.dsn, "get customer:42 --operator jdoe"); still.Outcome != "RENEWED" || still.Fence != held.Fence {
			t.Errorf("the lock is %v, was %v", still, held)
		}
	})
}

// rights returns the statements that make the account that the page describes.
func (s site) rights(t *testing.T) []string {
	t.Helper()
	block := sqlBlock.FindStringSubmatch(readme.Under(page(t), s.chapter+": rights"))
	if block == nil {
		t.Fatalf("the page has no rights for %s", s.chapter)
	}
	return strings.Split(strings.TrimSuffix(strings.TrimSpace(s.words.Replace(block[1])), ";"), ";\n")
}

// migrator makes that account, and returns where applockctl and the product's client take it from.
func (s site) migrator(t *testing.T) []string {
	t.Helper()
	if s.chapter == "SQLite" {
		return nil
	}
	account := s.words.Replace("applock_dba")
	drop := []string{"DROP USER " + account}
	if s.chapter == "PostgreSQL" {
		copied := strings.TrimPrefix(parse(t, s.copied).Path, "/")
		drop = []string{"DROP DATABASE IF EXISTS " + copied + " WITH (FORCE)", "DROP OWNED BY " + account, "DROP ROLE " + account}
	}
	t.Cleanup(func() { execute(t, s.open(s.dsn), drop...) })
	execute(t, s.open(s.dsn), s.rights(t)...)
	dsn := another(t, s.dsn, "", url.UserPassword(account, "change-me"))
	return []string{"APPLOCK_DSN=" + dsn, "PGUSER=" + account, "PGPASSWORD=change-me", "HOME=" + optionsOf(t, parse(t, dsn))}
}
