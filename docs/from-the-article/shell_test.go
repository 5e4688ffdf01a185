package fromthearticle_test

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/readme"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/testfile"
)

// shell runs lines in a folder, with applockctl and the product's client in the PATH, and returns what they print. HOME has what MySQL's client
// needs to log in.
func (s site) shell(t *testing.T, folder, lines string) string {
	t.Helper()
	home := filepath.Dir(testdb.Applockctl(t))
	server, err := url.Parse(s.dsn)
	if err != nil {
		t.Fatal("the test DSN is no URL")
	}
	client := ""
	if s.product == postgres {
		client = testdb.Psql(t)
	} else {
		client = testdb.MySQLClient(t, s.product)
		lines = regexp.MustCompile(`(?m)^mysql `).ReplaceAllString(lines, filepath.Base(client)+" ")
		password, _ := server.User.Password()
		options := fmt.Sprintf("[client]\nprotocol=tcp\nhost=%s\nport=%s\nuser=%s\npassword=%s\n[mysql]\ndatabase=%s\n",
			server.Hostname(), server.Port(), server.User.Username(), password, s.schema)
		if err := os.WriteFile(filepath.Join(home, ".my.cnf"), []byte(options), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), "sh", "-e", "-c", lines)
	command.Dir = folder
	command.Env = []string{"HOME=" + home, "PATH=" + strings.Join([]string{home, filepath.Dir(client), os.Getenv("PATH")}, ":")}
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s\n%v\n%s", lines, err, output)
	}
	return string(output)
}

// commands returns the one block of commands that a part of the page has with that word in it.
func commands(t *testing.T, part, word string) string {
	t.Helper()
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(part, -1) {
		if strings.Contains(block[1], word) {
			return block[1]
		}
	}
	t.Fatalf("the page has no commands with %s", word)
	return ""
}

// copyByShell copies the locks by the page's commands for MySQL and returns what the last one prints, with bars between the columns.
func (s site) copyByShell(t *testing.T, makeCalls string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "make-calls.sql"), []byte(makeCalls), 0o600); err != nil {
		t.Fatal(err)
	}
	answer := s.shell(t, folder, s.named(commands(t, s.page(t, "Copy"), "make-calls.sql"), ""))
	return strings.ReplaceAll(answer, "\t", "|")
}

// Goal: the page's commands install applock and the wrappers. Method: a shell runs them in the repository, on an empty database, also in another
// schema; then the article's story is played.
func TestInstallByShell(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Servers(), func(t *testing.T, product string) {
		s := site{product: product}
		s.open(t)
		page := readme.Under(testfile.Read(t, "../from-the-article.md"), "Install")
		if product != postgres {
			lines := strings.NewReplacer("mysql://applock_dba@db.example.org/applock", "'"+s.dsn+"'",
				"--host=db.example.org --user=applock_dba --password applock", s.schema).Replace(commands(t, page, "mysql.sql"))
			s.shell(t, "../..", lines)
			s.play(t, s.handle, "get 42 JDOE CS -> Y||")
			return
		}
		lines := strings.NewReplacer("postgres://applock_dba@db.example.org/shop", "'"+s.dsn+"'", " ...", " '"+s.dsn+"'",
			"PGOPTIONS", "applockctl --schema locks --dsn '"+s.dsn+"' migrate up\nPGOPTIONS").Replace(commands(t, page, "postgres.sql"))
		s.shell(t, "../..", lines)
		for _, schema := range []string{"applock", "locks"} {
			s.schema = schema
			s.play(t, s.handle, "get 42 JDOE CS -> Y||")
		}
	})
}
