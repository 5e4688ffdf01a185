package console

import (
	"net/http"
	"strings"
	"testing"

	"github.com/applock/applock/applock/console/internal/reading"
)

// Goal: the first page of many locks has at most 56 KB, for who looks and for a supervisor, who has a box for each lock.
// Method: the bytes of the page, on SQLite.
func TestBytesOfFirstPage(t *testing.T) {
	t.Parallel()
	for who, config := range map[string]Config{"who looks": {}, "a supervisor": supervisor()} {
		d := newDesk(t, config)
		fill(t, d, 1000) // more change nothing but the total
		page := d.see(t, "/locks", http.StatusOK)
		if rows := strings.Count(page, "<tr><th"); rows != reading.RowsOfPage+1 || len(page) > pageMost {
			t.Errorf("the page of %s has %d rows in %d bytes, want %d at most", who, rows, len(page), pageMost)
		}
		t.Logf("%s: %d bytes", who, len(page))
	}
}
