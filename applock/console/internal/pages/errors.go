package pages

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/applock/applock/applock"
)

// The errors that only pages have.
var (
	ErrNoPage     = errors.New("there is no such page")
	ErrNoForm     = errors.New("the page does not take that")
	ErrMayNot     = errors.New("not allowed to do that")
	ErrNoAnswer   = errors.New("the answer is not kept any more")
	ErrFormTooBig = errors.New("the form is too big")
	ErrFormLate   = errors.New("the form has not arrived in time")
)

// OthersError names the locks of others, or an operator's desk, that a person may not change. It is ErrMayNot.
type OthersError []string

// Error names the first of them.
func (e OthersError) Error() string {
	return "not allowed to change what others hold: " + strings.Join(e[:min(len(e), namesShown)], ", ")
}

// Is reports whether the target is ErrMayNot.
func (OthersError) Is(target error) bool { return target == ErrMayNot }

// Failure returns the page of an error.
func (p *Pages) Failure(err error) View {
	status, text := p.Explain(err)
	v := View{Template: "error", Status: status, Title: p.texts["error.title"], Data: text}
	var others OthersError
	if errors.As(err, &others) {
		v.Data = p.texts.html("error.others", p.texts.names(others))
	}
	return v
}

// Log logs server errors. Pages do not show their text, which may name hosts and users.
func (p *Pages) Log(ctx context.Context, page string, err error) {
	if status, _ := p.Explain(err); status >= http.StatusInternalServerError {
		p.logger.ErrorContext(ctx, "console", slog.String("page", page), slog.String("error", err.Error()))
	}
}

// Explain returns the status and the text for an error.
func (p *Pages) Explain(err error) (status int, text string) {
	var invalid *applock.InvalidError
	if errors.As(err, &invalid) {
		return http.StatusBadRequest, fmt.Sprintf(p.texts["error.invalid"], p.Argument(invalid.Argument), invalid.Reason)
	}
	for _, known := range []struct {
		err    error
		status int
		text   string
	}{
		{ErrNoPage, http.StatusNotFound, p.texts["error.no-page"]},
		{ErrNoForm, http.StatusMethodNotAllowed, p.texts["error.no-form"]},
		{ErrNoAnswer, http.StatusNotFound, p.texts["error.no-answer"]},
		{ErrMayNot, http.StatusForbidden, p.texts["error.may-not"]},
		{ErrFormLate, http.StatusRequestTimeout, p.texts["error.form-late"]},
		{ErrFormTooBig, http.StatusRequestEntityTooLarge, p.texts["error.too-big"]},
		{applock.ErrInvalid, http.StatusBadRequest, applock.ErrInvalid.Error()},
		{applock.ErrReadOnly, http.StatusServiceUnavailable, p.texts["error.read-only"]},
		{applock.ErrPrivilege, http.StatusForbidden, applock.ErrPrivilege.Error()},
		{applock.ErrOutcomeUnknown, http.StatusGatewayTimeout, applock.ErrOutcomeUnknown.Error()},
		{applock.ErrSchema, http.StatusServiceUnavailable, p.texts["error.schema"]},
		{applock.ErrUnreachable, http.StatusServiceUnavailable, p.texts["error.unreachable"]},
		{applock.ErrBusy, http.StatusServiceUnavailable, applock.ErrBusy.Error()},
		{applock.ErrContention, http.StatusServiceUnavailable, applock.ErrContention.Error()},
		{context.DeadlineExceeded, http.StatusGatewayTimeout, p.texts["error.late"]},
	} {
		if errors.Is(err, known.err) {
			return known.status, known.text
		}
	}
	return http.StatusInternalServerError, p.texts["error.internal"]
}

// Argument returns the label of a request's field.
func (p *Pages) Argument(name string) string {
	label := map[string]string{
		"Object": "label.object", "Object.Type": "label.type", "Object.ID": "label.object", "ObjectType": "label.type",
		"Prefix": "label.prefix", "Operator": "label.operator", "Department": "label.department",
		"NoDepartment": "label.no-department", "OlderThan": "label.older", "ExpiresWithin": "label.within",
		"After": "label.after", "Since": "label.back",
		"To.Operator": "label.to", "To.Department": "label.to-department", "Reason": "label.reason", "Note": "label.note",
		"Message": "label.message", "Wait": "label.wait",
	}[name]
	if label == "" {
		return name
	}
	return "“" + p.texts[label] + "”"
}
