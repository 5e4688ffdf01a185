package weblock

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/applock/applock/applock"
)

// answer is what a page is told. Its keys are those of docs/json.md; a fence is a text, since a script's numbers are not exact.
type answer struct {
	page `json:"-"`

	Outcome            applock.Outcome `json:"outcome"`
	ObjectType         string          `json:"object_type"`
	ObjectID           string          `json:"object_id"`
	OperatorID         string          `json:"operator_id"`
	HolderID           string          `json:"holder_id"`
	HolderDepartmentID string          `json:"holder_department_id"`
	// Fence is that of the page's own grant, empty for none.
	Fence       string `json:"fence"`
	AcquiredTS  stamp  `json:"acquired_ts"`
	SecondsLeft int64  `json:"seconds_left"`
	Note        string `json:"note"`
	// TakeFL is Y if the person may take the lock from the holder.
	TakeFL string `json:"take_fl"`
	// Present are the others who ask or look. Notices are about this object.
	Present      []applock.Presence    `json:"present"`
	Notices      []notice              `json:"notices"`
	NextPosition applock.InboxPosition `json:"next_position"`
}

func (a *answer) holder(of applock.Holder) {
	a.HolderID, a.HolderDepartmentID = of.Owner.Operator, of.Owner.Department
	a.AcquiredTS, a.SecondsLeft, a.Note = stamp(of.AcquiredAt), int64(of.Left/time.Second), of.Note
}

func (a *answer) grant(grant applock.Grant) {
	a.holder(applock.Holder{Owner: grant.Owner, AcquiredAt: grant.AcquiredAt, Left: grant.Left, Note: grant.Note})
	a.Outcome, a.Fence = grant.Outcome, strconv.FormatInt(int64(grant.Fence), 10)
}

// refused adds a refusal of the database: who has the object now.
func (a *answer) refused(err error) (*answer, error) {
	var of applock.Holder
	if held, is := errors.AsType[*applock.HeldError](err); is {
		of = held.Holder
	} else if lost, is := errors.AsType[*applock.LostError](err); is {
		of = lost.Holder
	}
	switch {
	case of.Owner.Operator != "":
		a.Outcome = applock.OutcomeHeld
		a.holder(of)
	case errors.Is(err, applock.ErrNotAsking):
		a.Outcome = applock.OutcomeGone
	case errors.Is(err, applock.ErrNotHeld):
		a.Outcome = applock.OutcomeFree
		a.holder(of)
	default:
		return nil, err
	}
	return a, err
}

// complete adds what each answer has.
func (a *answer) complete() *answer {
	if a == nil {
		return nil
	}
	a.ObjectType, a.ObjectID, a.OperatorID, a.TakeFL = a.object.Type, a.object.ID, a.owner.Operator, "N"
	if a.Outcome == applock.OutcomeHeld && a.HolderID != a.owner.Operator && a.may(VerbTake) == nil {
		a.TakeFL = "Y"
	}
	if a.Present == nil {
		a.Present = []applock.Presence{}
	}
	if a.Notices == nil {
		a.Notices = []notice{}
	}
	return a
}

// notice is a notice with its fence as a text.
type notice applock.Notice

// MarshalJSON returns the keys of docs/json.md.
func (n notice) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(applock.Notice(n))
	if err != nil {
		return nil, err
	}
	keys := map[string]any{}
	if err := json.Unmarshal(text, &keys); err != nil {
		return nil, err
	}
	keys["fence"] = strconv.FormatInt(int64(n.Fence), 10)
	return json.Marshal(keys)
}

// stamp is a time as in docs/json.md, null for none.
type stamp time.Time

// MarshalJSON returns UTC with microseconds.
func (s stamp) MarshalJSON() ([]byte, error) {
	if time.Time(s).IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(time.Time(s).UTC().Format("2006-01-02T15:04:05.000000Z"))
}

// UnmarshalJSON takes what MarshalJSON returns.
func (s *stamp) UnmarshalJSON(text []byte) error { return (*time.Time)(s).UnmarshalJSON(text) }

// problem is RFC 9457, with the keys of an answer where the database has refused.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	// Argument is the key that was refused.
	Argument string `json:"argument,omitempty"`
	*answer
}

// refusedError is a refusal before the database was asked. Its cause is for the log alone.
type refusedError struct {
	problem
	cause error
}

func (e *refusedError) Error() string { return e.Title }

func (e *refusedError) Unwrap() error { return e.cause }

func refused(status int, title string, cause error) error {
	return &refusedError{problem{Title: title, Status: status}, cause}
}

// refuse writes and logs the problem that an error is.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, a *answer, err error) {
	p := problemOf(err)
	p.answer = a.complete()
	if p.Status != http.StatusConflict && r.Context().Err() == nil { // nobody waits for an answer
		level := slog.LevelWarn
		if p.Status >= http.StatusInternalServerError {
			level = slog.LevelError
		}
		attributes := []any{slog.Int("status", p.Status), slog.String("title", p.Title), slog.String("route", r.URL.Path[:min(len(r.URL.Path), 100)])}
		if cause := errors.Unwrap(err); cause != nil {
			attributes = append(attributes, slog.String("error", cause.Error()))
		}
		h.config.Logger.Log(r.Context(), level, "weblock: refused", attributes...)
	}
	writeProblem(w, p)
}

func problemOf(err error) problem {
	if known, is := errors.AsType[*refusedError](err); is {
		return known.problem
	}
	if invalid, is := errors.AsType[*applock.InvalidError](err); is {
		return problem{Status: http.StatusBadRequest, Title: "An argument is invalid.", Detail: invalid.Error(), Argument: keyOf(invalid.Argument)}
	}
	for _, known := range []struct {
		is     error
		status int
		title  string
	}{
		{applock.ErrLost, http.StatusConflict, "The lock has ended."},
		{applock.ErrHeld, http.StatusConflict, "Somebody else has the lock."},
		{applock.ErrNotAsking, http.StatusConflict, "Nobody asks any more."},
		{applock.ErrNotHeld, http.StatusConflict, "Nobody has the lock."},
		{applock.ErrInvalid, http.StatusBadRequest, "An argument is invalid."},
		{applock.ErrPrivilege, http.StatusForbidden, "The database does not permit that."},
	} {
		if errors.Is(err, known.is) {
			return problem{Status: known.status, Title: known.title}
		}
	}
	return problem{Status: http.StatusServiceUnavailable, Title: "The database does not answer now."}
}

// keyOf returns the key of an argument of package applock.
func keyOf(argument string) string {
	return map[string]string{
		"Object.Type": "object_type", "Object.ID": "object_id", "Client": "client_id", "Fence": "fence", "Message": "message", "Reason": "reason",
		"Asker": "asker_id", "Answer": "answer", "Position": "position", "Owner.Operator": "operator_id", "Owner.Department": "department_id",
	}[argument]
}

func writeProblem(w http.ResponseWriter, p problem) {
	p.Type = "about:blank"
	write(w, "application/problem+json", p.Status, p)
}

func write(w http.ResponseWriter, kind string, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, nil // nothing here fails to be written
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(text) // the browser may have gone
}
