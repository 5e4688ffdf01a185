package pages

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/testfile"
)

// Goal: every text is there, and every text is used. Method: the names in templates and code.
func TestTexts(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	quoted := regexp.MustCompile(`"([a-zA-Z]+(?:[.-][a-zA-Z-]+)*)"`)
	for _, pattern := range []string{"templates/*.html", "*.go", "../*/*.go", "../../*.go"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if filepath.Base(path) == "texts.go" || strings.HasSuffix(path, "_test.go") {
				continue
			}
			for _, match := range quoted.FindAllStringSubmatch(testfile.Read(t, path), -1) {
				used[match[1]] = true
			}
		}
	}
	for _, verb := range []string{"transfer", "take", "release", "note"} {
		for _, prefix := range []string{"verb.", "form.", "title."} {
			used[prefix+verb] = true
		}
	}
	for _, verb := range []string{"transfer", "take", "release"} {
		used["desk."+verb], used["some."+verb] = true, true
	}
	for _, name := range []string{"verb.ask", "some.ask", "here.asks.all", "here.edits.all", "here.looks.all", "result.GIVE", "result.LATER", "result.NO", "asks.LATER", "asks.NO"} {
		used[name] = true
	}
	for _, outcome := range []applock.Outcome{
		applock.OutcomeTransferred, applock.OutcomeTaken, applock.OutcomeReleased, applock.OutcomeNoted, applock.OutcomeHeld, applock.OutcomeFree,
	} {
		used["answer."+string(outcome)] = true
	}
	for _, kind := range []applock.EventKind{
		applock.EventTransferred, applock.EventTaken, applock.EventReleased, applock.EventOvertaken, applock.EventAcquired, applock.EventRenewed,
		applock.EventRefused, applock.EventGiven, applock.EventYielded, applock.EventPurged, applock.EventHistoryPurged, applock.EventPolicy,
	} {
		used["event."+string(kind)] = true
	}
	words := english()
	for _, name := range slices.Sorted(maps.Keys(words)) {
		if !used[name] {
			t.Errorf("the text %q is not used", name)
		}
	}
	inTemplate := regexp.MustCompile(`text "([^"]+)"`)
	inCode := regexp.MustCompile(`(?:texts\[|\.html\(|\.HTML\(|\.Text\()"([^"]+)"[\],)]`)
	for _, of := range []struct {
		pattern string
		name    *regexp.Regexp
	}{{"templates/*.html", inTemplate}, {"*.go", inCode}, {"../*/*.go", inCode}, {"../../*.go", inCode}} {
		paths, _ := filepath.Glob(of.pattern)
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			for _, match := range of.name.FindAllStringSubmatch(testfile.Read(t, path), -1) {
				if _, found := words[match[1]]; !found {
					t.Errorf("%s: there is no text %q", path, match[1])
				}
			}
		}
	}
	if _, err := words.say("nonsense"); err == nil {
		t.Error("a text that is missing is no error")
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
