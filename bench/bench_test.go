//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testfile"
)

// TestMain lets the test be one of the programs of the hot key, which start themselves again.
func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], []string{depositArgument}) {
		main()
		return
	}
	os.Exit(m.Run())
}

// Goal: the measurements still run, each on every product that has a server. Method: measure very little, on SQLite
// alone with -short, and count what the report has.
func TestSmoke(t *testing.T) {
	getenv := os.Getenv
	if testing.Short() {
		getenv = func(string) string { return "" }
	}
	found, err := servers(getenv, new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "report.json")
	var out, complaints bytes.Buffer
	if err := run(t.Context(), []string{"-smoke", "-json", path}, getenv, &out, &complaints); err != nil {
		t.Fatalf("%v\n%s%s", err, &complaints, &out)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var written report
	if err := json.Unmarshal(text, &written); err != nil {
		t.Fatal(err)
	}
	figures := map[string]int{}
	for _, each := range written.Figures {
		figures[each.Product]++
		if len(each.Values) == 0 || each.Baseline != "" && (median(each.Values) <= 0 || median(each.BaselineValues) <= 0) {
			t.Errorf("%s on %s is %v, against %v", each.Name, each.Product, each.Values, each.BaselineValues)
		}
		// A poll every 4 ms at the most, however fast the machine: those who wait do not ask for themselves.
		if strings.HasSuffix(each.Name, ": statements") && each.Values[0] > 250 {
			t.Errorf("%s on %s: %g a second", each.Name, each.Product, each.Values[0])
		}
		// One, and more on a machine that is late with everything; but not one for each of the hundred.
		// Where the server counts, it counts those of others as well.
		counted := each.Product == productPostgres || each.Product == productSQLite
		if counted && strings.HasSuffix(each.Name, ": statements in a renewal interval") && each.Values[0] > 50 {
			t.Errorf("%s on %s: %g", each.Name, each.Product, each.Values[0])
		}
	}
	want := map[string]int{
		productPostgres: 139, productMariaDB: 121, productMySQL: 109, productSQLite: 69, productRedis: 9, "inprocess": 1,
	}
	if len(written.Missing) > 0 { // what Java has
		t.Log(written.Missing)
		want[productPostgres] -= 12
		want[productMariaDB] -= 12
	}
	for _, s := range append(found, server{product: "inprocess"}) {
		if got := figures[s.product]; got != want[s.product] {
			t.Errorf("%d figures of %s, want %d", got, s.product, want[s.product])
		}
	}
	for _, never := range []string{"reached", "missed"} {
		if strings.Contains(out.String(), never) {
			t.Errorf("judged by next to nothing:\n%s", &out)
		}
	}
}

// Goal: a product that CI requires is not left out in silence. Method: require one without a server.
func TestMissingServer(t *testing.T) {
	environment := map[string]string{"APPLOCK_TEST_REQUIRE": "hsqldb,mariadb"}
	getenv := func(name string) string { return environment[name] }
	if _, err := servers(getenv, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "APPLOCK_TEST_MARIADB_DSN") {
		t.Errorf("error = %v", err)
	}
	environment["APPLOCK_TEST_MARIADB_DSN"] = "mysql://root@127.0.0.1:1/applock"
	var complaints bytes.Buffer
	found, err := servers(getenv, &complaints)
	if err != nil || len(found) != 2 || found[0].product != productMariaDB || found[1].product != productSQLite {
		t.Errorf("servers = %v, %v", found, err)
	}
	if !strings.Contains(complaints.String(), "without postgres") {
		t.Errorf("complaints = %q", &complaints)
	}
}

// Goal: a measurement that needs Java is reported as missing without Java. Method: a machine without any program.
func TestWithoutJava(t *testing.T) {
	t.Setenv("PATH", "")
	b := bench{directory: t.TempDir(), complaints: new(bytes.Buffer)}
	for _, product := range []string{productPostgres, productMariaDB} {
		if err := b.java(t.Context(), &place{server: server{product: product}}); err != nil {
			t.Error(err)
		}
	}
	if text := b.report.text(); strings.Count(text, "Not measured: ShedLock and JdbcLockRegistry") != 1 {
		t.Error(text)
	}
}

// Goal: each cell says what it came to, and nothing that was not measured is reached. Method: goals over a few figures.
func TestJudge(t *testing.T) {
	var r report
	ours := figure{Product: productMySQL, Name: "cycles: ours", Baseline: "by hand"}
	least := figure{Product: productMySQL, Name: "cycles: the least", Baseline: "by hand"}
	for _, values := range [][3]float64{{10, 2, 20}, {0.5, 1, 5}, {3, 1, 4}} { // ratios 5, 0.5 and 3, and 0.5, 0.1 and 0.75
		r.compare(ours, values[:1], values[1:2])
		r.compare(least, values[2:], values[1:2])
	}
	r.note(figure{Product: productMySQL, Name: "connections"}, 3, 2, 9)
	for _, c := range []struct {
		goal              goal
		measured, verdict string
	}{
		{goal{figure: "cycles: ours", against: "by hand", atLeast: true, must: 3}, "3", "reached"},
		{goal{figure: "cycles: ours", against: "by hand", atLeast: true, must: 3.1}, "3", missed},
		{goal{figure: "cycles: ours", against: "by hand", must: 2.9}, "3", missed},
		{goal{figure: "cycles: ours", against: "the least", atLeast: true, must: 0.5}, "0.5", "reached"},
		{goal{figure: "cycles: ours", against: "by others", must: 3}, "", "not measured"},
		{goal{figure: "connections", unit: "of them", must: 3}, "3 of them", "reached"},
		{goal{figure: "connections", must: 2}, "3", missed},
	} {
		c.goal.product = productMySQL
		if measured, verdict := c.goal.judge(&r); measured != c.measured || verdict != c.verdict {
			t.Errorf("%+v: %q, %q", c.goal, measured, verdict)
		}
	}
	r.Smoke = true
	if _, verdict := (goal{product: productMySQL, figure: "connections"}).judge(&r); verdict != "not judged" {
		t.Errorf("a smoke run is %q", verdict)
	}
}

// Goal: the page explains each cell that its run has missed. Method: ask for the reason of each.
func TestMissedCellsAreExplained(t *testing.T) {
	r, err := readJSON("../docs/performance/run.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range goals() {
		if _, verdict := g.judge(r); verdict == missed && g.why() == "" {
			t.Errorf("%s is missed, and nothing says why", g.key())
		}
	}
}

// Goal: a figure with several baselines appears once for each, and the page and its charts can be made from the values alone. Method: write
// a report as JSON, and make the page of it with -from.
func TestPageFromValues(t *testing.T) {
	var r report
	f := figure{Product: productPostgres, Name: "cycles, 8 connections: get & release", Unit: "/s", Baseline: "<peer>"}
	r.compare(f, []float64{1000, 1200, 900}, []float64{500, 400, 300})
	f.Baseline = "insert and delete"
	r.compare(f, []float64{1000, 1200, 900}, []float64{2000, 1200, 3000})
	r.note(figure{Product: productRedis, Name: "hand-off, redislock", Unit: "ms", Samples: true, Volatile: true}, 3, 1, 2)
	r.compare(figure{Product: productSQLite, Name: hotKeyPrefix + "Serialize", Unit: "/s", Baseline: "commits"}, []float64{90}, []float64{120})
	folder := t.TempDir()
	values, page, results := filepath.Join(folder, "values.json"), filepath.Join(folder, "speed.md"), filepath.Join(folder, "results.md")
	if err := errors.Join(r.writeJSON(values), os.Mkdir(filepath.Join(folder, "speed"), 0o700)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-from", values, "-report", page, "-results", results}, os.Getenv, &out, &out); err != nil {
		t.Fatal(err)
	}
	text := testfile.Read(t, page) + out.String()
	for _, want := range []string{
		"| cycles, 8 connections: get & release | postgres | 1000 /s | 1033 | 900 | | 1200 | <peer> | 400 /s | 400 | 3 |",
		"| insert and delete | 2000 /s | 2067 | 0.5 |",
		"| hand-off, redislock | redis | 2 ms | 2 | 1 | 3 | 3 | | | | |",
		"](speed/cycles.svg)", "](speed/hot-key.svg)", "[The results](results.md)",
	} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	chart := testfile.Read(t, filepath.Join(folder, "speed", "cycles.svg"))
	if err := xml.Unmarshal([]byte(chart), new(struct{})); err != nil {
		t.Error(err)
	}
	for _, label := range []string{"postgres", "get &amp; release", "&lt;peer&gt;", "insert and delete"} {
		if got := strings.Count(chart, ">"+label+"<"); got != 1 {
			t.Errorf("%q is there %d times in\n%s", label, got, chart)
		}
	}
	if r.text() != out.String() {
		t.Errorf("printed\n%s\nand not\n%s", &out, r.text())
	}
}

// Goal: the pages and charts are what their run came to, and no goal has changed since. Method: make them again of the run's
// values.
func TestPageOfTheRun(t *testing.T) {
	folder := t.TempDir()
	page, results := filepath.Join(folder, "docs", "performance.md"), filepath.Join(folder, "bench", "results.md")
	if err := os.Mkdir(filepath.Dir(results), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(folder, "docs", "performance"), os.DirFS("../docs/performance")); err != nil { // for the held snapshots
		t.Fatal(err)
	}
	charts, err := filepath.Glob("../docs/performance/*.svg")
	if err != nil || len(charts) < 3 {
		t.Fatalf("charts are %v, %v", charts, err)
	}
	for _, chart := range charts {
		if err := os.Remove(filepath.Join(folder, strings.TrimPrefix(chart, "../"))); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	arguments := []string{"-from", "../docs/performance/run.json", "-report", page, "-results", results}
	if err := run(t.Context(), arguments, os.Getenv, &out, &out); err != nil {
		t.Fatal(err)
	}
	for _, file := range append(charts, "../docs/performance.md", "../bench/results.md") {
		if testfile.Read(t, file) != testfile.Read(t, filepath.Join(folder, strings.TrimPrefix(file, "../"))) {
			t.Errorf("%s is not that of docs/performance/run.json: bench/README.md says how to write it", file)
		}
	}
}
