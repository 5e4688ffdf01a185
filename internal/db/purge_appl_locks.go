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

// PurgeApplLocksParams are the IN parameters of purge_appl_locks.
type PurgeApplLocksParams struct {
	OlderThanSeconds int64
	MaxRows          int64
}

// PurgeApplLocksResult are the OUT parameters of purge_appl_locks.
type PurgeApplLocksResult struct {
	Purged int64
}

// PurgeApplLocks calls purge_appl_locks_row.
func (r Routines) PurgeApplLocks(ctx context.Context, params PurgeApplLocksParams) (PurgeApplLocksResult, error) {
	args := []any{params.OlderThanSeconds, params.MaxRows}
	return Row(ctx, r, "purge_appl_locks_row", args, func(result *PurgeApplLocksResult) []any { return []any{&result.Purged} })
}
