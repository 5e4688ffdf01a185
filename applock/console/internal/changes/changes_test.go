package changes

import (
	"strings"
	"testing"

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
