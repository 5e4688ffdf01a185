package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/internal/secret"
)

// failure is an error for a model. The text of the database's client, which may name hosts and users, goes to the log only.
type failure struct{ text string }

func (f *failure) Error() string { return f.text }

// deadDatabase is the text if the database did not answer.
const deadDatabase = "the database cannot be reached; nothing is locked; do not write. " +
	"This server keeps no locks of its own. What you held before may end meanwhile: call lock_status when the database is back."

// explained turns an error of the façade into one that a model can act on. Refusals are answers, and do not come here.
func (l locks) explained(ctx context.Context, tool string, err error) error {
	if known, is := errors.AsType[*failure](err); is {
		return known
	}
	if invalid, is := errors.AsType[*applock.InvalidError](err); is {
		return &failure{text: argumentOf(invalid.Argument) + " " + invalid.Reason + ". Nothing has changed."}
	}
	l.logger.ErrorContext(ctx, "applock-mcp", slog.String("tool", tool), slog.String("error", secret.Redact(err.Error())))
	for _, known := range []struct {
		err  error
		text string
	}{
		{applock.ErrOutcomeUnknown, "the database did not answer in time: it is not known whether this call took effect; do not write. " +
			"Call lock_status to see what you hold, then repeat the call: repeating is safe."},
		{applock.ErrUnreachable, deadDatabase},
		{applock.ErrClosed, deadDatabase},
		{applock.ErrReadOnly, "the database takes no changes: nothing is locked; do not write. " +
			"A person has to point this server to the primary."},
		{applock.ErrPrivilege, "this server's database user may not do that: nothing has changed. Do not try another way; tell a person."},
		{applock.ErrSchema, "applock is not installed in this database, or too old: nothing is locked; do not write. " +
			"A person has to run: applockctl migrate up"},
		{applock.ErrBusy, "another transaction is changing this lock: nothing has changed; do not write. Call again in a few seconds."},
		{applock.ErrContention, "many calls are changing this lock: nothing has changed; do not write. Call again in a few seconds."},
		{applock.ErrRetry, "the call collided with another one: nothing has changed; do not write. Call again."},
		{applock.ErrInvalid, "an argument was refused: nothing has changed."},
		{context.DeadlineExceeded, deadDatabase},
	} {
		if errors.Is(err, known.err) {
			return &failure{text: known.text}
		}
	}
	return &failure{text: "the database refused the call: nothing is known to be locked; do not write. " +
		"This server's log says why; tell a person."}
}

// argumentOf returns the tool's argument for a field of a request.
func argumentOf(field string) string {
	return cmp.Or(map[string]string{
		"Object": "object", "Object.Type": "object", "Object.ID": "object", "ObjectType": "object",
		"TTL": "ttl_seconds", "MaxWait": "max_wait_seconds", "Fence": "fence", "ExpectedFence": "expected_fence",
		"Note": "note", "Message": "message", "Reason": "reason", "Asker": "asker", "Answer": "answer",
		"Prefix": "prefix", "Operator": "operator", "After": "after", "PageSize": "limit", "Position.After": "position",
		"Owner.Operator": "the operator of this server", "Owner.Department": "the department of this server",
	}[field], field)
}
