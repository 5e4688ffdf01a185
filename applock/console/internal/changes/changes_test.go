package changes

import (
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/pages"
)

// Goal: a note that does not fit behind the reason is cut, and the plan says so before. Method: reasons and notes of several lengths.
func TestHistoryKeepsWhatFits(t *testing.T) {
	t.Parallel()
	c := &Changer{Config: Config{Pages: pages.New(nil)}}
	for name, test := range map[string]struct {
		reason, note int
		whole        bool
	}{
		"fits":      {100, applock.MaxReasonLength - 100 - len(" [note: ]"), true},
		"one more":  {100, applock.MaxReasonLength - 99 - len(" [note: ]"), false},
		"no room":   {applock.MaxReasonLength, 10, false},
		"no note":   {applock.MaxReasonLength, 0, true},
		"all notes": {1, applock.MaxNoteLength, false},
	} {
		reason, note := strings.Repeat("r", test.reason), strings.Repeat("n", test.note)
		text, whole := c.withNote(reason, note)
		if length := len([]rune(text)); whole != test.whole || length > applock.MaxReasonLength || !strings.HasPrefix(text, reason) {
			t.Errorf("%s: %d characters, whole: %t: %s", name, length, whole, text)
		}
	}
}

// Goal: a lock that is handed over lasts its grant's time again, no longer than the policy lets it. Method: a lock's times.
func TestEndAfterAHandOver(t *testing.T) {
	t.Parallel()
	ends := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	lock := applock.Lock{ExpiresAt: ends, Left: 10 * time.Minute, TTL: time.Hour}
	if got, want := endsThen(verb{Gives: true}, change{}, lock, 0), ends.Add(50*time.Minute); !got.Equal(want) {
		t.Errorf("it ends at %s, want %s", got, want)
	}
	if got, want := endsThen(verb{Gives: true}, change{}, lock, 20*time.Minute), ends.Add(10*time.Minute); !got.Equal(want) {
		t.Errorf("with a policy it ends at %s, want %s", got, want)
	}
}
