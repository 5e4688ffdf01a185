package db

import "context"

func purgeApplLockHistory() Operation {
	return Operation{
		Name:    "purge_appl_lock_history",
		Summary: "Remove old events from the history.",
		Parameters: []Parameter{
			{"p_older_than_seconds", In, Number, "minimum age in seconds, 1 to 315360000; NULL = 34560000 (400 days)"},
			{"p_max_rows", In, Number, "events to remove at the most, 1 to 10000; NULL = 1000"},
			{"p_purged", Out, Number, "events removed; fewer than p_max_rows mean that none is left"},
		},
		Answers: []Answer{remark("the number; the records of purges stay for 400 days at least")},
	}
}

// PurgeApplLockHistory calls purge_appl_lock_history_row.
func (r Routines) PurgeApplLockHistory(ctx context.Context, params PurgeParams) (PurgeResult, error) {
	return r.purge(ctx, "purge_appl_lock_history_row", params)
}
