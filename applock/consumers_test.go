package applock_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Goal: a program links what it names and nothing else. Method: the packages that the toolchain would link into a
// consumer of one package of ours.
func TestConsumersLinkWhatTheyName(t *testing.T) {
	t.Parallel()
	drivers := map[string]string{
		"pgx":       "github.com/jackc/pgx/",
		"mysql":     "github.com/go-sql-driver/mysql",
		"sqlite":    "modernc.org/sqlite",
		"go_ibm_db": "github.com/ibmdb/go_ibm_db",
		"goose":     "github.com/pressly/goose/",
		"redis":     "github.com/redis/",
		"etcd":      "go.etcd.io/",
		"tcell":     "github.com/gdamore/tcell/",
		"oidc":      "github.com/coreos/go-oidc/",
	}
	for name, consumer := range map[string]struct {
		// most is how many packages of other modules may be linked.
		most int
		// allowed are the drivers that may be among them.
		allowed []string
	}{
		"applock":                  {most: 0},
		"applock/console":          {most: 0},
		"applock/weblock":          {most: 0},
		"applock/lease/inprocess":  {most: 0},
		"applock/console/openid":   {most: 6, allowed: []string{"oidc"}},
		"applock/postgres":         {most: 30, allowed: []string{"pgx"}},
		"applock/lease/pgadvisory": {most: 30, allowed: []string{"pgx"}},
		"applock/mysql":            {most: 3, allowed: []string{"mysql"}},
		"applock/lease/getlock":    {most: 3, allowed: []string{"mysql"}},
		"applock/sqlite":           {most: 15, allowed: []string{"sqlite"}},
		"applock/db2":              {most: 0}, // the driver comes with the tag db2
		"applock/lease/redislock":  {most: 25, allowed: []string{"redis"}},
		"applock/migrate":          {most: 50, allowed: []string{"goose", "pgx"}},
		"applock/lease/locktest":   {most: 2}, // goleak
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			linked := thirdParty(t, "../"+name)
			if len(linked) > consumer.most {
				t.Errorf("links %d packages of others, at most %d are expected:\n%s", len(linked), consumer.most, strings.Join(linked, "\n"))
			}
			for driver, path := range drivers {
				allowed := strings.Contains(strings.Join(consumer.allowed, " "), driver)
				if found := strings.Contains(strings.Join(linked, "\n")+"\n", path); found != allowed {
					t.Errorf("links %s: %t, want %t", driver, found, allowed)
				}
			}
		})
	}
}

// thirdParty returns the packages of other modules that a package needs, without those of its tests.
func thirdParty(t *testing.T, folder string) []string {
	t.Helper()
	const template = "{{if .Module}}{{if not .Module.Main}}{{.ImportPath}}{{end}}{{end}}"
	output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", template, folder).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return strings.Fields(string(output))
}
