package pages

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/testfile"
)

// Goal: every text is there that a page names. Method: the names in templates and code, and the kinds of events.
func TestTexts(t *testing.T) {
	t.Parallel()
	words := english()
	for _, kind := range []applock.EventKind{
		applock.EventTransferred, applock.EventTaken, applock.EventReleased, applock.EventOvertaken, applock.EventAcquired, applock.EventRenewed,
		applock.EventRefused, applock.EventGiven, applock.EventYielded, applock.EventPurged, applock.EventHistoryPurged, applock.EventPolicy,
	} {
		if words["event."+string(kind)] == "" {
			t.Errorf("the event %s has no words", kind)
		}
	}
	for pattern, name := range map[string]string{
		"templates/*.html": `text "([^"]+)"`, "*.go": `texts(?:\[|\.html\()"([^"]+)"[\],)]`, "../*/*.go": `\.(?:HTML|Text)\("([^"]+)"[,)]`, "../../*.go": `\.Text\("([^"]+)"\)`,
	} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(paths), err)
		}
		for _, path := range paths {
			for _, match := range regexp.MustCompile(name).FindAllStringSubmatch(testfile.Read(t, path), -1) {
				if _, found := words[match[1]]; !found && !strings.HasSuffix(path, "_test.go") {
					t.Errorf("%s: there is no text %q", path, match[1])
				}
			}
		}
	}
}

// Goal: a text isolates its values and nothing else, and its title says the same. Method: a text of each kind of argument.
func TestTextsIsolateValues(t *testing.T) {
	t.Parallel()
	words := texts{"greeting": "%s & %s: %d", "bare": "a < b"}
	got := words.html("greeting", "<x>\u200b", Value("y"), 3)
	if want := `<bdi>&lt;x&gt;\u200b</bdi> &amp; <bdi>y</bdi>: 3`; string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
	if title, want := Plain(got), `<x>\u200b & y: 3`; title != want {
		t.Errorf("the title is %s, want %s", title, want)
	}
	if bare, err := words.shown("bare"); err != nil || bare != "a < b" {
		t.Errorf("%v, %v", bare, err)
	}
	if _, err := words.shown("nonsense", 1); err == nil {
		t.Error("a text that is missing is no error")
	}
}

// Goal: times are written as people say them. Method: times around one.
func TestTimesAsPeopleSayThem(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 16, 0, 0, 0, time.UTC) // a Thursday
	for at, want := range map[time.Time]string{
		now.Add(-3 * time.Hour): "13:00", now.Add(9 * time.Hour): "Fri 01:00", now.Add(-66 * time.Hour): "Mon 22:00", now.Add(-7 * 24 * time.Hour): "19 Nov 16:00",
		now.Add(12 * 24 * time.Hour): "8 Dec 16:00", now.Add(400 * 24 * time.Hour): "31 Dec 2027", now.In(time.FixedZone("", 3600)): "16:00",
	} {
		if got := said(at, now); got != want {
			t.Errorf("%s is said %q, want %q", at, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 59 * time.Second: "59 s", 32*time.Minute + 59*time.Second: "32 m", time.Hour: "1 h", 5*time.Hour + 12*time.Minute: "5 h 12 m",
		48 * time.Hour: "2 d", 51 * time.Hour: "2 d 3 h", 30*24*time.Hour + 5*time.Hour: "30 d",
	} {
		if got := Lasting(d); got != want {
			t.Errorf("%s lasts %q, want %q", d, got, want)
		}
	}
	for number, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := grouped(number); string(got) != want {
			t.Errorf("%d is written %q", number, got)
		}
	}
}
