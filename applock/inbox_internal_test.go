package applock

import (
	"fmt"
	"slices"
	"testing"

	"github.com/applock/applock/internal/db"
)

// told returns the events of some rows with what an inbox makes of them.
func told(position InboxPosition, most int, safe int64, events ...int64) (told []int64, next InboxPosition) {
	var rows []db.Notice
	for _, event := range events {
		rows = append(rows, db.Notice{EventID: event, SafeEventID: safe})
	}
	notices, next := position.told(rows, most)
	for _, notice := range notices {
		told = append(told, notice.Event)
	}
	return told, next
}

// Goal: each event is told once, also one that commits after later ones were told, and none is lost where a page ends. Method: answers of
// the database in turn; 0 is somebody who waits, whom each answer has.
func TestInboxTellsEachEventOnce(t *testing.T) {
	t.Parallel()
	var position InboxPosition
	for i, step := range []struct {
		most   int
		safe   int64
		events []int64
		told   []int64
		next   InboxPosition
	}{
		{10, 0, nil, nil, InboxPosition{}},
		{10, 3, []int64{2, 3, 7, 0}, []int64{2, 3, 7, 0}, InboxPosition{After: 3, Told: []int64{7}}},
		{10, 3, []int64{5, 7, 9, 0}, []int64{5, 9, 0}, InboxPosition{After: 3, Told: []int64{5, 7, 9}}}, // 5 has committed late
		{10, 7, []int64{5, 7, 9}, nil, InboxPosition{After: 7, Told: []int64{9}}},
		{10, 0, nil, nil, InboxPosition{After: 7, Told: []int64{9}}}, // no row tells a number
		{2, 20, []int64{9, 11, 12, 13, 14}, []int64{11, 12}, InboxPosition{After: 12, Told: nil}},
		{2, 20, []int64{13, 14, 0}, []int64{13, 14}, InboxPosition{After: 20, Told: nil}},
		{2, 18, []int64{21}, []int64{21}, InboxPosition{After: 20, Told: []int64{21}}}, // it never goes back
	} {
		got, next := told(position, step.most, step.safe, step.events...)
		if !slices.Equal(got, step.told) || fmt.Sprint(next) != fmt.Sprint(step.next) {
			t.Errorf("step %d: told %v, next %v, want %v, %v", i, got, next, step.told, step.next)
		}
		position = next
	}
}

// Goal: what was told takes no place in a page. Method: the number of rows that is asked for.
func TestInboxAsksForMoreThanItHasTold(t *testing.T) {
	t.Parallel()
	params, err := InboxRequest{Operator: "JDOE", Position: InboxPosition{Told: []int64{7, 9}}, PageSize: 10}.params()
	if err != nil || params.MaxRows != 12 {
		t.Errorf("%d rows, %v, want 12", params.MaxRows, err)
	}
}
