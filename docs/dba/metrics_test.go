package dba_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Goal: cron's line replaces the file by a whole one, and leaves it alone where the database does not answer. Method: the line of the page, run
// as cron does, with a database and without.
func TestCrontabOfMetrics(t *testing.T) {
	t.Parallel()
	bin, folder := build(t), t.TempDir()
	block := regexp.MustCompile("(?s)```crontab\n(.*?)\n```").FindStringSubmatch(page(t))
	if block == nil {
		t.Fatal("the page has no crontab")
	}
	here := strings.NewReplacer(
		"/etc/applock/auditor.dsn", filepath.Join(folder, "auditor.dsn"), "/var/lib/node_exporter", folder, "/usr/local/bin/", bin+"/",
	).Replace(block[1])
	variable, line, _ := strings.Cut(here, "\n")
	line = regexp.MustCompile(`^(\S+ +){5}`).ReplaceAllString(line, "")
	run := func(line string) error {
		command := exec.CommandContext(t.Context(), "env", "-i", "PATH=/usr/bin:/bin", "sh", "-c", "export "+variable+"; "+line)
		return command.Run()
	}
	point := func(dsn string) {
		if err := os.WriteFile(filepath.Join(folder, "auditor.dsn"), []byte(dsn+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	metrics := func() string {
		text, _ := os.ReadFile(filepath.Join(folder, "applock.prom")) // none is none
		return string(text)
	}

	point("sqlite:" + filepath.Join(folder, "shop.db"))
	if err := run(bin + "/applockctl migrate up && " + bin + "/applockctl get customer:42 --operator JDOE --department CS"); err != nil {
		t.Fatal(err)
	}
	if err := run(line); err != nil {
		t.Fatal(err)
	}
	const live = `applock_locks{type="customer",department="CS",state="live"} `
	if !strings.Contains(metrics(), "\n"+live+"1\n") {
		t.Errorf("the file has\n%s", metrics())
	}
	if err := run(bin + "/applockctl get customer:43 --operator JDOE --department CS"); err != nil {
		t.Fatal(err)
	}
	if err := run(line); err != nil || !strings.Contains(metrics(), "\n"+live+"2\n") {
		t.Errorf("again: %v, the file has\n%s", err, metrics())
	}
	before := metrics()
	point("sqlite:" + filepath.Join(folder, "gone", "shop.db"))
	if err := run(line); err == nil || metrics() != before {
		t.Errorf("without a database: %v, the file has\n%s", err, metrics())
	}
	var told []string
	ofFile, _, _ := strings.Cut(page(t), "\n## Probes and metrics") // the rest are the console's
	for _, row := range regexp.MustCompile("(?m)^\\| `(applock_\\w+)` \\|").FindAllStringSubmatch(ofFile, -1) {
		told = append(told, row[1])
	}
	var written []string
	for _, kind := range regexp.MustCompile(`(?m)^# TYPE (\w+) gauge$`).FindAllStringSubmatch(before, -1) {
		written = append(written, kind[1])
	}
	if !slices.Equal(told, written) {
		t.Errorf("the page tells of %q, and the file has %q", told, written)
	}
}
