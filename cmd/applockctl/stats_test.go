package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
)

// Goal: a supervisor sees how much there is of what. Method: locks of two departments, a free object and a waiter, as a table, as
// JSON and selected.
func TestStats(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	if got := u.must(t, "stats"); !regexp.MustCompile(`^TYPE  DEPARTMENT  LIVE  EXPIRED  OLDEST  NEXT END  WAITERS  LONGEST WAIT\nWHAT +OF +VALUE\nprogram +version \S+, contract \d+ +1\n$`).MatchString(got.stdout) {
		t.Errorf("of nothing: %q", got.stdout)
	}
	fillForStats(t, u)
	fillBesideLocks(t, u)
	got := u.must(t, "stats")
	table := leftOfTable.ReplaceAllString(gapOfTable.ReplaceAllString(got.stdout, "  "), "  LEFT$2")
	want := "TYPE  DEPARTMENT  LIVE  EXPIRED  OLDEST  NEXT END  WAITERS  LONGEST WAIT\n"
	if !strings.HasPrefix(table, want) || !regexp.MustCompile(`\ncustomer  -  0  1  -  -  1  \S+\ncustomer  sales  2  0  \S+  \S+  0  -\nWHAT  OF  VALUE\nrequests  type customer, department -  1\nviewers  type customer, department -  1\nevents  event POLICY  1\noldest event  -  20\d\d-\S+ \S+\nrows to purge  -  1\nprogram `).MatchString(table) {
		t.Errorf("the table is\n%s", got.stdout)
	}
	line := u.must(t, "stats", "--type", "customer", "--department", "sales", "--output", "json").stdout
	if !regexp.MustCompile(`^{"outcome":"COUNTED","object_type":"customer","department_id":"sales","live":2,"expired":0,` +
		`"oldest_seconds":\d+,"next_expiry_seconds":(3[56]\d\d),"waiters":0,"longest_wait_seconds":0}\n$`).MatchString(line) {
		t.Errorf("JSON: %s", line)
	}
	if all := u.must(t, "stats", "--output", "json").stdout; !regexp.MustCompile(`\n{"outcome":"SUMMED","what":"events","labels":{"event":"POLICY"},"value":1}\n{"outcome":"SUMMED","what":"oldest event","labels":{},"value":\d+}\n`).MatchString(all) {
		t.Errorf("JSON of all: %s", all)
	}
	if line := u.must(t, "stats", "--no-department", "--output", "json").stdout; strings.Count(line, "\n") != 1 || !strings.Contains(line, `"expired":1`) {
		t.Errorf("without department: %s", line)
	}
	u.run(t, "stats", "--department", "sales", "--no-department").check(t, exitUsage, "--no-department")
	u.run(t, "stats", "--type", "a:b").check(t, exitUsage, "--type")
}

// fillForStats leaves two locks of sales, a free object and somebody without a department who waits.
func fillForStats(t *testing.T, u user) {
	t.Helper()
	u.must(t, "get", "customer:1", "--operator", "jdoe", "--department", "sales", "--ttl", "1h")
	u.must(t, "get", "customer:2", "--operator", "jdoe", "--department", "sales", "--ttl", "2h")
	u.must(t, "get", "customer:3", "--operator", "jdoe", "--department", "sales")
	u.must(t, "release", "customer:3", "--operator", "jdoe")
	announce(t, u, db.AnnounceApplLockWaiterParams{ObjectType: "customer", ObjectID: "1", OperatorID: "asmith"})
}

// fillBesideLocks leaves a row to purge, an event, a request and somebody who looks.
func fillBesideLocks(t *testing.T, u user) {
	t.Helper()
	withFile(t, u, func(exec func(string)) { // a year is not waited for
		exec("UPDATE appl_lock SET released_ts = released_ts - 366 * 86400 * 1000000 WHERE released_ts IS NOT NULL")
	})
	u.must(t, "policy", "set", "customer", "--by", "boss")
	u.must(t, "see", "customer:1", "--operator", "asmith", "--client", "tab")
	u.must(t, "ask", "customer:1", "--operator", "asmith", "--client", "tab")
}

// Goal: Prometheus takes the text, whatever names there are, and only this command has it. Method: the rules of the format, and a flag
// before and behind the command.
func TestStatsForPrometheus(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	if samples := checkMetrics(t, u.must(t, "stats", "--output", "prometheus").stdout); len(samples) != 2 || samples["applock_rows_to_purge"] != "0" {
		t.Errorf("of nothing: %v", samples)
	}
	fillForStats(t, u)
	fillBesideLocks(t, u)
	u.must(t, "get", "customer:4", "--operator", "jdoe", "--department", "R&D \"new\"\\lines")
	text := u.must(t, "--output", "prometheus", "stats").stdout
	samples := checkMetrics(t, text)
	for sample, want := range map[string]string{
		`applock_locks{type="customer",department="sales",state="live"}`:              "2",
		`applock_locks{type="customer",department="sales",state="expired"}`:           "",
		`applock_locks{type="customer",department="",state="expired"}`:                "1",
		`applock_locks{type="customer",department="R&D \"new\"\\lines",state="live"}`: "1",
		`applock_waiters{type="customer",department=""}`:                              "1",
		`applock_oldest_lock_age_seconds{type="customer",department=""}`:              "",
		`applock_next_expiry_seconds{type="customer",department=""}`:                  "",
		`applock_longest_wait_seconds{type="customer",department="sales"}`:            "",
		`applock_waiters{type="customer",department="sales"}`:                         "",
		`applock_requests{type="customer",department=""}`:                             "1",
		`applock_viewers{type="customer",department=""}`:                              "1",
		`applock_history_events{event="POLICY"}`:                                      "1",
		`applock_rows_to_purge`:                                                       "1",
	} {
		if samples[sample] != want {
			t.Errorf("%s is %q, want %q", sample, samples[sample], want)
		}
	}
	if version := regexp.MustCompile(`\napplock_build_info\{version="[^"]+",contract="\d+"\} 1\n`); !version.MatchString(text) {
		t.Errorf("no version in\n%s", text)
	}
	if oldest, _ := strconv.ParseInt(samples["applock_history_oldest_timestamp_seconds"], 10, 64); oldest <= 0 || oldest > time.Now().Unix()+60 {
		t.Errorf("the oldest event is of %d", oldest)
	}
	if zero := regexp.MustCompile(`(?m)^applock_(locks|waiters|requests|viewers|history_events)\{.*\} 0$`).FindString(text); zero != "" {
		t.Errorf("a sample of nothing: %s", zero)
	}
	selected := u.must(t, "stats", "--type", "order", "--output", "prometheus").stdout
	if regexp.MustCompile(`(?m)^applock_(viewers|requests|history|rows)\w*(\{| \d)`).MatchString(selected) {
		t.Errorf("another type has\n%s", selected)
	}
	if len(samples) != 3+2+2+1+1+6 {
		t.Errorf("%d samples:\n%s", len(samples), text)
	}
	u.run(t, "list", "--output", "prometheus").check(t, exitUsage, "write table or json")
	u.run(t, "stats", "--output", "xml").check(t, exitUsage, "write table, json or prometheus")
}

// Goal: each product counts the history and the rows to purge. Method: an event, as the user who has installed.
func TestHistoryForPrometheus(t *testing.T) {
	t.Parallel()
	onEveryDialect(t, func(t *testing.T, u user) {
		u.must(t, "policy", "set", "customer", "--by", "boss")
		samples := checkMetrics(t, u.must(t, "stats", "--output", "prometheus").stdout)
		if samples[`applock_history_events{event="POLICY"}`] == "" || samples["applock_history_oldest_timestamp_seconds"] == "" || samples["applock_rows_to_purge"] == "" {
			t.Errorf("the metrics are %v", samples)
		}
	})
}

// Goal: an account gets the metrics of what it may read, and no error for the rest. Method: an auditor and a janitor.
func TestMetricsOfRoles(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		dsn := s.installedDatabase(t)
		for role, want := range map[string]map[string]bool{
			"auditor": {"applock_requests": true, "applock_history_events": true, "applock_viewers": true},
			"janitor": {"applock_locks": true},
		} {
			name := s.newUser(t, dsn, "secret")
			userOf(dsn).must(t, "grant", "--to", name, "--as", role)
			text := userOf(withUser(t, dsn, name, "secret")).must(t, "stats", "--output", "prometheus").stdout
			for _, family := range []string{"applock_locks", "applock_requests", "applock_viewers", "applock_history_events", "applock_rows_to_purge"} {
				wanted := want[family] || family == "applock_locks"
				if strings.Contains(text, "# TYPE "+family+" ") != wanted {
					t.Errorf("%s: %s, want %t in\n%s", role, family, wanted, text)
				}
			}
		}
	})
}

// checkMetrics checks a text by the rules of the format, and those that promtool has for names, and returns its samples.
func checkMetrics(t *testing.T, text string) map[string]string {
	t.Helper()
	var (
		help     = regexp.MustCompile(`^# HELP (applock_[a-z_]+[a-z]) [A-Z].*\.$`)
		kind     = regexp.MustCompile(`^# TYPE (applock_[a-z_]+[a-z]) gauge$`)
		sample   = regexp.MustCompile(`^((applock_[a-z_]+[a-z])(?:\{[a-z]+="(?:[^"\\]|\\["\\n])*"(?:,[a-z]+="(?:[^"\\]|\\["\\n])*")*\})?) (\d+)$`)
		samples  = map[string]string{}
		families = map[string]bool{}
		family   string
	)
	if !strings.HasSuffix(text, "\n") {
		t.Error("the last line has no end")
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		if found := help.FindStringSubmatch(lines[i]); found != nil && i+1 < len(lines) {
			family = found[1]
			next := kind.FindStringSubmatch(lines[i+1])
			if families[family] || next == nil || next[1] != family {
				t.Errorf("%s is there twice, or has no type: %s", family, lines[i+1])
			}
			families[family] = true
			i++
			continue
		}
		found := sample.FindStringSubmatch(lines[i])
		if found == nil || found[2] != family || samples[found[1]] != "" {
			t.Errorf("%q is no sample of %s, or is there twice", lines[i], family)
			continue
		}
		samples[found[1]] = found[3]
	}
	if len(families) < 5 {
		t.Errorf("%d families", len(families))
	}
	return samples
}

// Goal: what has not happened is not shown as 0 s. Method: the text of statistics with nothing live, and of none.
func TestMetricsOfNothing(t *testing.T) {
	t.Parallel()
	text := metricsOf([]applock.Stats{{ObjectType: "a", Expired: 3}, {ObjectType: "b", Waiters: 1, LongestWait: time.Minute}})
	samples := checkMetrics(t, text)
	if len(samples) != 1+1+1 || samples[`applock_longest_wait_seconds{type="b",department=""}`] != "60" {
		t.Errorf("%v of\n%s", samples, text)
	}
	if samples := checkMetrics(t, metricsOf(nil)); len(samples) != 0 {
		t.Errorf("of nothing: %v", samples)
	}
}
