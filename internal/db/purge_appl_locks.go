package db

import "context"

func purgeApplLocks() Operation {
	return Operation{
		Name:    "purge_appl_locks",
		Summary: "Remove the rows of objects that have been free for long.",
		Parameters: []Parameter{
			{"p_older_than_seconds", In, Number, "minimum seconds since the object became free, 1 to 315360000; NULL = 2592000 (30 days)"},
			{"p_max_rows", In, Number, "rows to remove at the most, 1 to 10000; NULL = 1000"},
			{"p_purged", Out, Number, "rows removed; fewer than p_max_rows mean that none is left"},
		},
		Answers: []Answer{remark("the number; a call that removes fewer than p_max_rows also removes waiters, requests and viewers that have been dead for as long, at most p_max_rows of each, and does not count them")},
	}
}

// PurgeParams are the IN parameters of purge_appl_locks and purge_appl_lock_history.
type PurgeParams struct {
	OlderThanSeconds int64
	MaxRows          int64
}

// PurgeResult is the OUT parameter of both.
type PurgeResult struct {
	Purged int64
}

// PurgeApplLocks calls purge_appl_locks_row.
func (r Routines) PurgeApplLocks(ctx context.Context, params PurgeParams) (PurgeResult, error) {
	return r.purge(ctx, "purge_appl_locks_row", params)
}

func (r Routines) purge(ctx context.Context, routine string, params PurgeParams) (PurgeResult, error) {
	args := []any{params.OlderThanSeconds, params.MaxRows}
	return Row(ctx, r, routine, args, func(result *PurgeResult) []any { return []any{&result.Purged} })
}
