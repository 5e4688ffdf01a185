package readme

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// nobody stands for what no test can run, since the server cannot be had; the page says so.
const nobody = "nobody"

// execution says which test runs or checks the blocks of a language below a heading of a page.
type execution struct {
	page, heading, language string
	count                   int
	// by is the folder of a test and its name.
	by string
}

// executions is complete: a block of a page that is not here fails TestEveryBlockIsExecuted. Pages of clients/ and Derby's, whose
// code is there, have a test of their own.
func executions() []execution {
	return []execution{
		{"README.md", "applock", "sql", 1, "internal/testing/readme TestReadmeSQL"},
		{"README.md", "applock", "sh", 1, "internal/testing/readme TestReadmeCLI"},
		{"README.md", "applock", "go", 1, "internal/testing/readme TestReadmeGo"},
		{"README.md", "Try it", "sh", 1, "internal/testing/readme TestReadmeNamesWhatCIRuns"},
		{"README.md", "Install", "sh", 1, "docs/dba TestReadmeInstalls"},
		{"README.md", "Your first lock", "sh", 1, "docs/dba TestReadmeInstalls"},
		{"docs/agents.md", "Start", "sh", 1, "docs/agents TestPage"},
		{"docs/agents.md", "Start", "json", 1, "docs/agents TestPage"},
		{"docs/agents.md", "Hooks: no edit without the lock", "sh", 1, "docs/agents TestPage"},
		{"docs/choosing.md", "*", "go", 8, "docs/choosing TestPagesShowTestedCode"},
		{"docs/recipes.md", "*", "go", 9, "docs/choosing TestPagesShowTestedCode"},
		{"docs/console.md", "In an application", "go", 1, "applock/console TestPageShowsTheExample"},
		{"docs/cron.md", "cron", "crontab", 1, "docs/cron TestCrontab"},
		{"docs/cron.md", "cron", "crontab", 2, "docs/cron TestPurges"},
		{"docs/cron.md", "systemd", "systemd", 2, "docs/cron TestSystemd"},
		{"docs/cron.md", "Kubernetes", "yaml", 1, "docs/cron TestKubernetesRunsTheJobOnce"},
		{"docs/cron.md", "A script of its own", "sh", 1, "cmd/applockctl testProcessScriptOfAJob"},
		{"docs/db2.md", "Install on Linux, UNIX and Windows", "sql", 1, nobody},
		{"docs/db2.md", "Install on Linux, UNIX and Windows", "sh", 2, nobody},
		{"docs/db2.md", "Install on z/OS", "sh", 1, nobody},
		{"docs/db2.md", "Call", "sql", 1, nobody},
		{"docs/db2.md", "Check the plans", "sh", 1, nobody},
		{"docs/db2.md", "Check the plans", "sql", 1, nobody},
		{"docs/db2.md", "On a real server", "sh", 1, nobody},
		{"docs/dba.md", "The owner", "sh", 1, "docs/dba TestAnotherOwner"},
		{"docs/dba.md", "Check", "sh", 2, "docs/dba TestInstallByTheMigratorAndByHand"},
		{"docs/watching.md", "Find an operator's locks in a large table", "sql", 1, "docs/dba TestIndexOnOperators"},
		{"docs/watching.md", "Plans on PRODUCT", "sql", 3, "docs/dba TestPlans"},
		{"docs/watching.md", "Verify", "sh", 1, "docs/dba TestInstallByTheMigratorAndByHand"},
		{"docs/watching.md", "Metrics", "crontab", 1, "docs/dba TestCrontabOfMetrics"},
		{"docs/dba.md", "Upgrade", "sh", 2, "docs/dba TestInstallByTheMigratorAndByHand"},
		{"docs/dba.md", "PRODUCT: rights", "sql", 2, "docs/dba TestInstallByTheMigratorAndByHand"},
		{"docs/dba.md", "PRODUCT: install", "sh", 6, "docs/dba TestInstallByTheMigratorAndByHand"},
		{"docs/dba.md", "PRODUCT: back up", "sh", 3, "docs/dba TestBackupAndRestore"},
		{"docs/dba.md", "PRODUCT: restore", "sh", 8, "docs/dba TestApplicationAfterARestore"},
		{"docs/dba.md", "PRODUCT: restore", "sql", 1, "docs/dba TestApplicationAfterARestore"},
		{"docs/dba.md", "PRODUCT: remove", "sh", 3, "docs/dba TestInstallByTheMigratorAndByHand"},
		{"docs/developers.md", "Begin", "sh", 1, "internal/testing/readme TestReadmeNamesWhatIsThere"},
		{"docs/developers.md", "*", "go", 4, "docs/developers TestDevelopersShowsTestedCode"},
		{"docs/from-the-article.md", "Install", "sh", 2, "docs/from-the-article TestInstallByShell"},
		{"docs/from-the-article.md", "Install", "sh", 1, nobody},
		{"docs/from-the-article.md", "When a lock ends", "sql", 1, "docs/from-the-article testRights"},
		{"docs/from-the-article.md", "Rights on PRODUCT", "sql", 3, "docs/from-the-article testRights"},
		{"docs/from-the-article.md", "Copy on PRODUCT", "sql", 3, "docs/from-the-article testCopy"},
		{"docs/from-the-article.md", "Copy on MySQL and MariaDB", "sh", 1, "docs/from-the-article testCopy"},
		{"docs/from-the-article.md", "Copy on Db2", "sh", 1, nobody},
		{"docs/from-the-semaphore.md", "What becomes what", "sql", 1, "docs/from-the-semaphore TestMovesOver"},
		{"docs/from-the-semaphore.md", "Move over", "sql", 1, "docs/from-the-semaphore TestMovesOver"},
		{"docs/from-the-semaphore.md", "Move over", "sql", 1, "docs/from-the-semaphore TestCopiesRowsThatStay"},
		{"docs/from-the-semaphore.md", "Copy on PRODUCT", "sql", 2, "docs/from-the-semaphore TestCopiesRowsThatStay"},
		{"docs/grants.md", "Who may do what", "sh", 1, "cmd/applockctl TestGrant"},
		{"docs/grants.md", "On MySQL and MariaDB", "sql", 1, "internal/db/mysql TestOwnerNeedsFewRights"},
		{"docs/guard.md", "Guards", "sh", 1, "docs/guard TestGuardPage"},
		{"docs/guard.md", "Guards", "sql", 1, "docs/guard TestGuardPage"},
		{"docs/install.md", "Check what you have downloaded", "sh", 1, nobody},
		{"docs/install.md", "What the packages for Debian and RPM bring", "sh", 1, nobody},
		{"docs/install.md", "A try-out with docker", "sh", 1, nobody},
		{"docs/oracle.md", "Install", "sh", 1, nobody},
		{"docs/oracle.md", "Install", "sql", 1, nobody},
		{"docs/oracle.md", "Call", "sql", 1, nobody},
		{"docs/oracle.md", "On a real server", "sh", 1, nobody},
		{"docs/postgres.md", "Each call once", "sql", 1, "internal/db/postgres TestProceduresReadme"},
		{"docs/presence.md", "The browser", "js", 1, "clients TestHeartbeat"},
		{"docs/presence.md", "The server", "sql", 1, "internal/db/postgres TestPresencePage"},
		{"docs/presence.md", "A list of cases", "sql", 1, "internal/db/postgres TestPresencePage"},
		{"docs/presence.md", "From the command line", "sh", 1, "docs/presence TestCommands"},
		{"docs/supervisors.md", "*", "sh", 10, "docs/supervisors TestSupervisors"},
		{"procedures/README.md", "On PostgreSQL", "sql", 1, "internal/db/postgres TestProceduresReadme"},
		{"procedures/README.md", "On MySQL and MariaDB", "sql", 1, "internal/db/mysql TestProceduresReadme"},
		{"procedures/README.md", "On Db2", "sql", 1, "internal/db/db2 TestReadmeJoin"},
		{"procedures/README.md", "On SQLite", "sql", 1, "internal/testing/readme TestJoinOnSQLite"},
		{"procedures/README.md", "Programs that hold many", "json", 1, "internal/db/postgres TestReadmeGrantsAsJSON"},
	}
}

var (
	headingOrFence = regexp.MustCompile("(?m)^(#+ .*|```.*)$")
	product        = regexp.MustCompile(`\b(?:PostgreSQL|MySQL and MariaDB|SQLite|Db2)\b`)
)

// plain are the pages with a block without a language: a drawing, and what a maintainer does at a release. Elsewhere it would be a way
// past the list.
func plain() []string { return []string{"docs/architecture.md", "docs/evolution.md"} }

// blocksOf counts the blocks of each language below each heading of a page, those of text apart: they are answers.
func blocksOf(page string) map[[2]string]int {
	counts := map[[2]string]int{}
	title, open := "", false
	for _, found := range headingOrFence.FindAllString(page, -1) {
		language, isFence := strings.CutPrefix(found, "```")
		switch {
		case !isFence && !open:
			title = strings.TrimLeft(found, "# ")
		case isFence && !open:
			open = true
			if language != "text" {
				counts[[2]string{title, language}]++
			}
		case isFence:
			open = false
		}
	}
	return counts
}

// heads reports whether an execution is that of blocks below a heading.
func (e execution) heads(title string) bool {
	return e.heading == "*" || e.heading == title || strings.Contains(e.heading, "PRODUCT") && e.heading == product.ReplaceAllString(title, "PRODUCT")
}

// Goal: what a page shows in SQL, in a shell or in a file, a test runs. Method: all blocks are counted against the list, whose tests there
// are.
func TestEveryBlockIsExecuted(t *testing.T) {
	t.Parallel()
	list := executions()
	wanted := map[int]int{}
	for page, text := range pages(t) {
		if strings.HasPrefix(page, "clients/") || page == "docs/derby.md" {
			continue
		}
		for block, count := range blocksOf(text) {
			isForUsers := page == "README.md" || strings.HasPrefix(page, "docs/")
			if block[1] == "" && (!isForUsers || slices.Contains(plain(), page)) {
				continue
			}
			for i, e := range list {
				if e.page == page && e.language == block[1] && e.heads(block[0]) {
					taken := min(count, e.count-wanted[i])
					wanted[i] += taken
					count -= taken
				}
			}
			if count > 0 {
				t.Errorf("%s, %q: %d blocks of %q that nobody runs, as far as this test knows", page, block[0], count, block[1])
			}
		}
	}
	for i, e := range list {
		if wanted[i] != e.count {
			t.Errorf("%s, %q: %d blocks of %s, the list has %d", e.page, e.heading, wanted[i], e.language, e.count)
		}
		e.check(t)
	}
}

// check checks that there is the test.
func (e execution) check(t *testing.T) {
	t.Helper()
	if e.by == nobody {
		if text := pages(t)[e.page]; !regexp.MustCompile(`(?i)no Db2 was at hand|nothing here has run on a real|has not run on a real|nobody has run the blocks of this page`).MatchString(text) {
			t.Errorf("%s does not say that it has blocks which nobody has run", e.page)
		}
		return
	}
	folder, name, _ := strings.Cut(e.by, " ")
	found := false
	walk(t, "_test.go", func(file, text string) {
		found = found || filepath.ToSlash(filepath.Dir(file)) == folder && strings.Contains(text, fmt.Sprintf("\nfunc %s(", name))
	})
	if !found {
		t.Errorf("%s, %q: there is no test %q", e.page, e.heading, e.by)
	}
}

// Goal: the list cannot pass over a block. Method: pages of one block each.
func TestBlocksAreSeen(t *testing.T) {
	t.Parallel()
	got := blocksOf("# One\n\n```sh\n# not a heading\n```\n\n## Two\n\n```text\n```\n\n```sql\nSELECT 1\n```\n\n```sql\n```\n")
	if len(got) != 2 || got[[2]string{"One", "sh"}] != 1 || got[[2]string{"Two", "sql"}] != 2 {
		t.Errorf("found %v", got)
	}
	if e := (execution{heading: "PRODUCT: rights"}); !e.heads("MySQL and MariaDB: rights") || e.heads("Oracle: rights") {
		t.Error("PRODUCT is not a product")
	}
}
