// Package watching_test checks the alerts and the dashboard of docs/watching.md.
package watching_test

import (
	"encoding/json"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/testfile"
)

var (
	named  = regexp.MustCompile(`applock_[a-z_]+`)
	family = regexp.MustCompile(`"(applock_[a-z_]+)"`)
)

// Goal: each alert fires when it should, and only then. Method: promtool plays alerts_test.yml, in which each alert is expected to fire, and not to.
func TestAlerts(t *testing.T) {
	t.Parallel()
	played := testfile.Read(t, "alerts_test.yml")
	for _, alert := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(testfile.Read(t, "alerts.yml"), -1) {
		fires := regexp.MustCompile(`alertname: ` + alert[1] + `\n +exp_alerts:\n +- exp_`)
		if !fires.MatchString(played) || !strings.Contains(played, "alertname: "+alert[1]+"}") {
			t.Errorf("%s is not both expected to fire and not to fire", alert[1])
		}
	}
	promtool := testdb.Promtool(t)
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		if output, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", args, err, output)
		}
	}
}

// Goal: dashboard, alerts and page name the metrics that there are: the first and the last all of them. Method: the names in the programs' sources.
func TestMetricsExist(t *testing.T) {
	t.Parallel()
	exist := map[string]bool{}
	for _, source := range []string{"../../cmd/applockctl/metrics.go", "../../cmd/applockctl/surplus.go", "../../cmd/internal/probes/probes.go"} {
		for _, match := range family.FindAllStringSubmatch(testfile.Read(t, source), -1) {
			exist[match[1]] = true
		}
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(testfile.Read(t, "dashboard.json")), &board); err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			names := named.FindAllString(target.Expr, -1)
			if len(names) == 0 {
				t.Errorf("%s shows no metric: %s", panel.Title, target.Expr)
			}
			for _, name := range names {
				shown[name] = true
			}
		}
	}
	if !maps.Equal(shown, exist) {
		t.Errorf("the dashboard shows %q, and there are %q", slices.Sorted(maps.Keys(shown)), slices.Sorted(maps.Keys(exist)))
	}
	page := testfile.Read(t, "../watching.md")
	for name := range exist {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page does not name %s", name)
		}
	}
	for _, expression := range regexp.MustCompile(`(?m)expr: (.*)$`).FindAllStringSubmatch(testfile.Read(t, "alerts.yml"), -1) {
		for _, name := range named.FindAllString(expression[1], -1) {
			if !exist[name] {
				t.Errorf("an alert looks at %s, which is not there", name)
			}
		}
	}
}
