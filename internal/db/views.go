package db

// This file lists the views and their columns, in order.

// View is one view of the contract.
type View struct {
	Name    string
	Summary string
	Columns []Parameter
	// Key is how many columns, from the first, identify a row.
	Key int
}

// Views returns all views in the order of the documentation.
func Views() []View {
	return []View{liveView(), waitingView(), askingView(), viewersView(), historyView(), policiesView(), statsView()}
}

func column(name string, kind Type, meaning string) Parameter {
	return Parameter{name, Out, kind, meaning}
}

func objectColumns() []Parameter {
	return []Parameter{
		column("object_type", Text, "kind of object"),
		column("object_id", Text, "which object"),
	}
}

func liveView() View {
	const key = 2
	return View{
		Name:    "appl_lock_live",
		Summary: "A row for each live lock.",
		Key:     key,
		Columns: append(objectColumns(),
			column("operator_id", Text, "who holds it"),
			column("department_id", Text, "the holder's department; may be empty"),
			column("fence", Number, "fencing token of the grant"),
			column("acquired_ts", Timestamp, "start of the grant"),
			column("lock_ts", Timestamp, "last get, renewal or transfer"),
			column("expires_ts", Timestamp, "when the lock ends"),
			column("seconds_left", Number, "whole seconds from now to expires_ts, rounded up"),
			column("ttl_seconds", Number, "the ttl that the last get, renewal or transfer asked for"),
			column("note", Text, "the holder's note; may be empty"),
		),
	}
}

func waitingView() View {
	const key = 5
	return View{
		Name:    "appl_lock_waiting",
		Summary: "A row for each operator that waits for an object, in each program.",
		Key:     key,
		Columns: append(objectColumns(),
			column("operator_id", Text, "who waits"),
			column("department_id", Text, "that operator's department; may be empty"),
			column("client_id", Text, "the waiting program"),
			column("since_ts", Timestamp, "since when it waits"),
			column("until_ts", Timestamp, "when it gives up; NULL = never"),
			column("waited_seconds", Number, "whole seconds since since_ts, rounded down; 0 after the clock was set back"),
			column("holder_id", Text, "who holds the object; empty when it is free"),
			column("holder_department_id", Text, "the holder's department; empty when it is free"),
			column("seconds_left", Number, "whole seconds from now to the end of the holder's lock, rounded up; 0 when it is free"),
		),
	}
}

func askingView() View {
	const key = 5
	return View{
		Name:    "appl_lock_asking",
		Summary: "A row for each operator that asks for an object, in each program.",
		Key:     key,
		Columns: append(objectColumns(),
			column("operator_id", Text, "who asks"),
			column("department_id", Text, "that operator's department; may be empty"),
			column("client_id", Text, "the program that asks"),
			column("message", Text, "the message to the holder; may be empty"),
			column("since_ts", Timestamp, "since when it asks"),
			column("until_ts", Timestamp, "when it gives up; NULL = never"),
			column("waited_seconds", Number, "whole seconds since since_ts, rounded down; 0 after the clock was set back"),
			column("answer", Text, "the holder's answer, `LATER` or `NO`; empty for none"),
			column("answer_reason", Text, "the reason that the holder gave; may be empty"),
			column("holder_id", Text, "who holds the object; empty when it is free"),
			column("holder_department_id", Text, "the holder's department; empty when it is free"),
			column("seconds_left", Number, "whole seconds from now to the end of the holder's lock, rounded up; 0 when it is free"),
		),
	}
}

func viewersView() View {
	const key = 5
	return View{
		Name:    "appl_lock_viewers",
		Summary: "A row for each operator that looks at an object, in each program, as see_appl_lock lists it. On PostgreSQL only the primary has it.",
		Key:     key,
		Columns: append(objectColumns(),
			column("operator_id", Text, "who looks"),
			column("department_id", Text, "that operator's department; may be empty"),
			column("client_id", Text, "the browser tab or program"),
			column("state", Text, "what it does there: `VIEWING`, `EDITING` or `IDLE`"),
			column("since_ts", Timestamp, "since when it looks"),
			column("seconds_left", Number, "whole seconds until its listing ends unless it calls again; rounded up"),
		),
	}
}

func historyView() View {
	return View{
		Name:    "appl_lock_history",
		Summary: "A row for each event of the history.",
		Key:     1,
		Columns: []Parameter{
			column("event_id", Number, "number of the event; greater for a later one"),
			column("event_ts", Timestamp, "when it happened"),
			column("object_type", Text, "kind of object; empty for `PURGED` and `HISTORY_PURGED`"),
			column("object_id", Text, "which object; empty for `PURGED`, `HISTORY_PURGED` and `POLICY`"),
			column("event", Text, "`TRANSFERRED`, `TAKEN`, `GIVEN`, `YIELDED`, `RELEASED`, `OVERTAKEN`, `ACQUIRED`, `RENEWED`, `REFUSED`, `POLICY`, `PURGED` or `HISTORY_PURGED`"),
			column("actor_id", Text, "who did it, as the call named it; empty when the call named nobody"),
			column("db_user", Text, "the database user; empty on SQLite"),
			column("program", Text, "the program, where its connection names it; else empty"),
			column("from_operator_id", Text, "who held it; empty if nobody"),
			column("from_department_id", Text, "that operator's department"),
			column("to_operator_id", Text, "who holds it now; empty if nobody"),
			column("to_department_id", Text, "that operator's department"),
			column("from_fence", Number, "fencing token of the grant before; 0 for none"),
			column("to_fence", Number, "fencing token of the grant now; 0 for none"),
			column("reason", Text, "why; for `PURGED` and `HISTORY_PURGED` the number of rows, for `POLICY` the new values, then the reason"),
		},
	}
}

func policiesView() View {
	return View{
		Name:    "appl_lock_policies",
		Summary: "A row for each type that has a policy.",
		Key:     1,
		Columns: []Parameter{
			column("object_type", Text, "kind of object"),
			column("default_ttl_seconds", Number, "ttl of a new grant whose caller names none; NULL = 604800 (7 days)"),
			column("longest_ttl_seconds", Number, "limit of every ttl; NULL = 315360000 (10 years)"),
			column("take_reason_fl", Text, "whether taking a lock from another needs a reason, `Y` or `N`"),
			column("history_level", Text, "what the history records: `CHANGES`, or `ALL`: each get, renewal, refusal and release, too"),
			column("presence_fl", Text, "whether see_appl_lock records and shows who looks at an object, `Y` or `N`"),
			column("yield_after_seconds", Number, "how long a holder may leave a request unanswered; NULL = for ever"),
		},
	}
}

func statsView() View {
	const key = 2
	return View{
		Name:    "appl_lock_stats",
		Summary: "A row for each type and department that has rows in the tables.",
		Key:     key,
		Columns: []Parameter{
			column("object_type", Text, "kind of object"),
			column("department_id", Text, "the department of holders and waiters; empty for none, and for free objects"),
			column("live", Number, "live locks"),
			column("expired", Number, "rows of objects that are free again and have not been purged; with live, all rows"),
			column("oldest_seconds", Number, "whole seconds since the start of the oldest live grant, rounded down; 0 for none"),
			column("next_expiry_seconds", Number, "whole seconds until the next live lock ends, rounded up; 0 for none"),
			column("waiters", Number, "operators that wait"),
			column("longest_wait_seconds", Number, "whole seconds since the longest waiter began to wait, rounded down; 0 for none"),
		},
	}
}
