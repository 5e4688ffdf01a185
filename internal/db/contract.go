package db

import "strings"

// This file is the naming table of the contract: the operations, their parameters in order, and their
// answers. The tables in procedures/README.md are made from it, and each dialect's catalogue is compared
// with it.

// Direction tells which way a parameter goes.
type Direction string

// The directions of parameters.
const (
	In  Direction = "IN"
	Out Direction = "OUT"
)

// Type is the type of a parameter; each dialect has one SQL type for it.
type Type string

// The types of parameters.
const (
	Text      Type = "text"
	FlagType  Type = "flag"
	Number    Type = "number"
	Timestamp Type = "timestamp"
	// Document is a list of records: JSON, on Db2 text of lengths and values.
	Document Type = "document"
)

// Parameter is one parameter of an operation.
type Parameter struct {
	Name      string
	Direction Direction
	Type      Type
	Meaning   string
}

// Length returns how many characters an OUT parameter of type Text has at most: those of the column that it shows.
func (p Parameter) Length() int {
	const outcome, note, name = 11, 255, 64
	switch p.Name {
	case "p_outcome":
		return outcome
	case "p_note":
		return note
	}
	return name
}

// Optional reports whether NULL means something, which Meaning says then.
func (p Parameter) Optional() bool { return strings.Contains(p.Meaning, "NULL = ") }

// Operation is one operation of the contract.
type Operation struct {
	Name       string
	Summary    string
	Parameters []Parameter
	// Answers lists flag and outcome, and what they mean.
	Answers []string
	// Columns are those of the operation's result set; it has no OUT parameters then, and only one form.
	Columns []Parameter
	// Version is true for appl_lock_version, which has no parameters and returns one value.
	Version bool
}

// ResultSet reports whether the operation returns rows.
func (o Operation) ResultSet() bool { return len(o.Columns) > 0 }

// InParameters returns what a caller gives, in order.
func (o Operation) InParameters() []Parameter { return o.directed(In) }

// Required returns how many of InParameters a caller must give: the ones behind them may be NULL.
func (o Operation) Required() int {
	in := o.InParameters()
	required := len(in)
	for required > 0 && in[required-1].Optional() {
		required--
	}
	return required
}

// OutParameters returns what a caller gets, in order.
func (o Operation) OutParameters() []Parameter { return o.directed(Out) }

func (o Operation) directed(direction Direction) []Parameter {
	var parameters []Parameter
	for _, parameter := range o.Parameters {
		if parameter.Direction == direction {
			parameters = append(parameters, parameter)
		}
	}
	return parameters
}

// RowParameters returns the columns of the operation's row form: its OUT parameters, or, where it has
// none, a flag that is always Y.
func (o Operation) RowParameters() []Parameter {
	if columns := o.OutParameters(); len(columns) > 0 {
		return columns
	}
	return []Parameter{{Name: "p_ok_fl", Direction: Out, Type: FlagType, Meaning: "always `Y`"}}
}

// RowForm returns the routine that answers with rows: where the operation has OUT parameters or none, that is one of
// its own.
func (o Operation) RowForm() string {
	if o.ResultSet() || o.Version {
		return o.Name
	}
	return o.Name + "_row"
}

// RowsForm returns the routine that runs the operation for each of a list and answers with as many result sets, empty if there is
// none. It is for MySQL and MariaDB only: on PostgreSQL a query joins the row form to a list.
func (o Operation) RowsForm() string {
	if o.Name == "get_appl_lock" {
		return o.Name + "_rows"
	}
	return ""
}

// Contract returns all operations in the order of the documentation.
func Contract() []Operation {
	objectType := Parameter{"p_object_type", In, Text, "kind of object, 1 to 64 characters, without `:`"}
	objectID := Parameter{"p_object_id", In, Text, "which object, 1 to 255 characters"}
	operatorID := Parameter{"p_operator_id", In, Text, "the operator, 1 to 64 characters"}
	secondsLeft := Parameter{"p_seconds_left", Out, Number, "whole seconds from now to p_expires_ts, rounded up; 0 for none"}
	rowSecondsLeft := Parameter{"seconds_left", Out, Number, "whole seconds from now to expires_ts, rounded up; 0 for none"}
	okFL := Parameter{"p_ok_fl", Out, FlagType, "`Y` or `N`"}
	outcome := Parameter{"p_outcome", Out, Text, "the answer in one word"}
	oldOperatorID := Parameter{"p_old_operator_id", Out, Text, "who holds it, when `HELD`; else empty"}
	oldDepartmentID := Parameter{"p_old_department_id", Out, Text, "the holder's department, when `HELD`; else empty"}
	reason := Parameter{"p_reason", In, Text, "why, for the history, up to 255 characters; NULL = empty"}
	onlyType := Parameter{"p_object_type", In, Text, "only this type; NULL = any"}
	afterType := Parameter{"p_after_type", In, Text, "type of the last row of the page before; NULL = from the start"}
	afterID := Parameter{"p_after_id", In, Text, "id of the last row of the page before; NULL = from the start"}
	maxRows := Parameter{"p_max_rows", In, Number, "size of the page, 1 to 10000; NULL = 1000"}
	dryRun := Parameter{"p_dry_run_fl", In, Text, "`Y` = only say what would be done; `N`, empty or NULL = do it"}
	policyActorID := Parameter{"p_actor_id", In, Text, "who does it, for the history, 1 to 64 characters"}
	policyReason := Parameter{"p_reason", In, Text, "why, for the history, up to 180 characters; NULL = empty"}
	clientID := Parameter{"p_client_id", In, Text, "the waiting program, 1 to 64 characters, unique to it"}
	rowType := Parameter{"object_type", Out, Text, "kind of object"}
	rowID := Parameter{"object_id", Out, Text, "which object"}
	rowDepartmentID := Parameter{"department_id", Out, Text, "the operator's department; may be empty"}
	rowOutcome := Parameter{"outcome", Out, Text, "the answer in one word"}
	rowOldOperatorID := Parameter{"old_operator_id", Out, Text, "who holds it, when `HELD`; else empty"}
	rowOldDepartmentID := Parameter{"old_department_id", Out, Text, "the holder's department, when `HELD`; else empty"}
	return []Operation{
		{
			Name:    "get_appl_lock",
			Summary: "Take or renew the lock on an object for one operator until it expires.",
			Parameters: []Parameter{
				objectType, objectID, operatorID,
				{"p_department_id", In, Text, "the operator's department, up to 64 characters; NULL = as it is in a renewal, empty in a new grant"},
				{"p_ttl_seconds", In, Number, "seconds until expiry, 1 to 315360000; NULL = those of the grant in a renewal, in a new grant those of the type's policy, else 604800 (7 days)"},
				{"p_new_fl", In, Text, "`Y` = refuse the operator's own live grant as well, with its own name; `N`, empty or NULL = renew it"},
				{"p_ok_fl", Out, FlagType, "`Y` or `N`"},
				outcome, oldOperatorID, oldDepartmentID,
				{"p_fence", Out, Number, "fencing token of the grant; 0 when `HELD`"},
				{"p_expires_ts", Out, Timestamp, "when the lock ends: the caller's, or the holder's when `HELD`"},
				secondsLeft,
				{"p_note", Out, Text, "what the holder has noted, when `HELD`; the caller's own note when `RENEWED`; else empty"},
			},
			Answers: []string{
				"`Y ACQUIRED`: it was free or expired; a new grant",
				"`Y RENEWED`: this operator held it; the same grant, and the ttl counts from now",
				"`N HELD`: another operator holds it, or this one when p_new_fl is `Y`",
			},
		},
		{
			Name:    "get_appl_lock_permit",
			Summary: "Take or renew one of the permits of an object, of which there are so many, for one operator until it expires.",
			Parameters: []Parameter{
				objectType,
				{"p_object_id", In, Text, "which object; with `#` and p_permits behind it, up to 255 characters"},
				{"p_permits", In, Number, "how many may hold it at once, 1 to 1000; the same in all calls"},
				operatorID,
				{"p_department_id", In, Text, "the operator's department, up to 64 characters; NULL = as it is in a renewal, empty in a new grant"},
				{"p_ttl_seconds", In, Number, "seconds until expiry, 1 to 315360000; NULL = those of the grant in a renewal, in a new grant those of the type's policy, else 604800 (7 days)"},
			},
			Columns: []Parameter{
				{"outcome", Out, Text, "the answer in one word"},
				{"slot_id", Out, Text, "the object id of the slot, such as `desk#2`, for all other operations"},
				{"operator_id", Out, Text, "who holds the slot; empty when it has become free during the call"},
				rowDepartmentID,
				{"fence", Out, Number, "fencing token of the slot's grant; 0 when it has become free"},
				{"expires_ts", Out, Timestamp, "when the slot's lock ends; NULL when it has become free"},
				rowSecondsLeft,
				{"note", Out, Text, "why the slot is held; empty when nobody has said so, or when it has become free"},
			},
			Answers: []string{
				"`ACQUIRED`, one row: a slot was free or expired; a new grant",
				"`RENEWED`, one row: this operator held a slot; the same grant, and the ttl counts from now",
				"`FULL`, one row for each slot, the soonest to expire first: others hold all of them",
			},
		},
		{
			Name:    "release_appl_lock",
			Summary: "End the grant that an operator holds on an object.",
			Parameters: []Parameter{
				objectType, objectID, operatorID,
				{"p_fence", In, Number, "the grant to end, 1 or greater; NULL = whichever grant"},
				{"p_actor_id", In, Text, "who releases it, 1 to 64 characters; NULL = p_operator_id"},
				reason,
				okFL, outcome, oldOperatorID, oldDepartmentID,
			},
			Answers: []string{
				"`Y RELEASED`: the operator held it; it is free now",
				"`Y FREE`: nobody holds it",
				"`N HELD`: another operator, or another grant than p_fence, holds it",
			},
		},
		{
			Name:    "release_appl_locks",
			Summary: "Release what an operator holds, all or of a type, page by page.",
			Parameters: []Parameter{
				{"p_operator_id", In, Text, "whose locks, 1 to 64 characters"},
				onlyType,
				{"p_actor_id", In, Text, "who releases them, 1 to 64 characters; NULL = p_operator_id"},
				reason, afterType, afterID, maxRows, dryRun,
			},
			Columns: []Parameter{
				rowType, rowID, rowOutcome, rowOldOperatorID, rowOldDepartmentID,
				{"fence", Out, Number, "fencing token of the operator's grant; 0 when `HELD` or `FREE`"},
				{"expires_ts", Out, Timestamp, "when the lock ends; NULL when `RELEASED` or `FREE`"},
				rowSecondsLeft,
			},
			Answers: []string{
				"a row for each lock of the page, fewer than p_max_rows are the last page",
				"`RELEASED`: it is free now",
				"`BUSY`: another transaction has locked it, and it is left as it was; not on Db2",
				"`HELD`, `FREE`: it has changed hands since the page was read, and is left as it was",
				"`WOULD_RELEASE`: nothing was done",
			},
		},
		{
			Name:    "inquire_appl_lock",
			Summary: "Who holds an object, since when and until when.",
			Parameters: []Parameter{
				objectType, objectID,
				okFL,
				{"p_operator_id", Out, Text, "the holder; empty when `N`"},
				{"p_department_id", Out, Text, "the holder's department; empty when `N`"},
				{"p_fence", Out, Number, "fencing token of the grant; 0 when `N`"},
				{"p_acquired_ts", Out, Timestamp, "start of the grant; NULL when `N`"},
				{"p_lock_ts", Out, Timestamp, "last get, renewal or transfer; NULL when `N`"},
				{"p_expires_ts", Out, Timestamp, "when the lock ends; NULL when `N`"},
				secondsLeft,
				{"p_note", Out, Text, "what the holder has noted; empty for nothing, and when `N`"},
			},
			Answers: []string{"`Y`: it is locked", "`N`: it is free or expired"},
		},
		{
			Name:    "transfer_appl_lock",
			Summary: "Hand a held object from one operator to another.",
			Parameters: []Parameter{
				objectType, objectID,
				{"p_from_operator_id", In, Text, "who holds it, 1 to 64 characters"},
				{"p_to_operator_id", In, Text, "who shall hold it, 1 to 64 characters"},
				{"p_to_department_id", In, Text, "the new holder's department, up to 64 characters; NULL = empty"},
				{"p_ttl_seconds", In, Number, "seconds until expiry, 1 to 315360000; NULL = those of the grant that it ends"},
				{"p_actor_id", In, Text, "who hands it over, 1 to 64 characters; NULL = unknown, and whoever loses it is told"},
				reason,
				okFL, outcome, oldOperatorID, oldDepartmentID,
				{"p_fence", Out, Number, "fencing token of the new grant; 0 unless `TRANSFERRED`"},
				{"p_expires_ts", Out, Timestamp, "when the lock ends; NULL when `FREE`"},
				secondsLeft,
			},
			Answers: []string{
				"`Y TRANSFERRED`: the new operator holds it; a new grant",
				"`N HELD`: somebody else than p_from_operator_id holds it",
				"`N FREE`: nobody holds it",
			},
		},
		{
			Name:    "take_appl_lock",
			Summary: "Take a held object from whoever holds it, for a reason.",
			Parameters: []Parameter{
				objectType, objectID,
				{"p_operator_id", In, Text, "who takes it, 1 to 64 characters"},
				{"p_department_id", In, Text, "that operator's department, up to 64 characters; NULL = empty"},
				{"p_reason", In, Text, "why, for the history and for who holds it, 1 to 255 characters; may be empty where the policy of the type says so"},
				{"p_expected_fence", In, Number, "the grant to end, 1 or greater; NULL = whichever grant"},
				{"p_ttl_seconds", In, Number, "seconds until expiry, 1 to 315360000; NULL = those of the grant that it ends"},
				okFL, outcome,
				{"p_old_operator_id", Out, Text, "who held it, when `TAKEN` from another operator; who holds it, when `HELD`; else empty"},
				{"p_old_department_id", Out, Text, "that operator's department; else empty"},
				{"p_fence", Out, Number, "fencing token of the new grant; 0 unless `TAKEN`"},
				{"p_expires_ts", Out, Timestamp, "when the lock ends; NULL when `FREE`"},
				secondsLeft,
			},
			Answers: []string{
				"`Y TAKEN`: it was held, and p_operator_id holds it; a new grant, also of what p_operator_id held itself",
				"`N HELD`: another grant than p_expected_fence holds it",
				"`N FREE`: nobody holds it; get_appl_lock gets it",
			},
		},
		{
			Name:    "transfer_appl_locks",
			Summary: "Hand over what an operator holds, all or of a type, page by page.",
			Parameters: []Parameter{
				{"p_from_operator_id", In, Text, "who holds them, 1 to 64 characters"},
				onlyType,
				{"p_to_operator_id", In, Text, "who shall hold them, 1 to 64 characters"},
				{"p_to_department_id", In, Text, "the new holder's department, up to 64 characters; NULL = empty"},
				{"p_ttl_seconds", In, Number, "seconds until expiry, 1 to 315360000; NULL = those of each grant that it ends"},
				{"p_actor_id", In, Text, "who hands them over, 1 to 64 characters; NULL = unknown, and whoever loses it is told"},
				reason, afterType, afterID, maxRows, dryRun,
			},
			Columns: []Parameter{
				rowType, rowID, rowOutcome, rowOldOperatorID, rowOldDepartmentID,
				{"fence", Out, Number, "fencing token of the new grant; of the old one when `BUSY` or `WOULD_TRANSFER`; 0 when `HELD` or `FREE`"},
				{"expires_ts", Out, Timestamp, "when the lock ends; NULL when `FREE`"},
				rowSecondsLeft,
			},
			Answers: []string{
				"a row for each lock of the page, fewer than p_max_rows are the last page",
				"`TRANSFERRED`: the new operator holds it; a new grant",
				"`BUSY`: another transaction has locked it, and it is left as it was; not on Db2",
				"`HELD`, `FREE`: it has changed hands since the page was read, and is left as it was",
				"`WOULD_TRANSFER`: nothing was done",
			},
		},
		{
			Name:    "note_appl_lock",
			Summary: "Say why an operator holds an object, for whoever asks.",
			Parameters: []Parameter{
				objectType, objectID, operatorID,
				{"p_fence", In, Number, "the grant to note it on, 1 or greater; NULL = whichever grant"},
				{"p_note", In, Text, "the note, up to 255 characters; NULL = empty, which takes it back"},
				okFL, outcome, oldOperatorID, oldDepartmentID,
			},
			Answers: []string{
				"`Y NOTED`: the operator holds it; the note lasts as long as the grant, through renewals",
				"`N FREE`: nobody holds it",
				"`N HELD`: another operator, or another grant than p_fence, holds it",
			},
		},
		{
			Name:    "purge_appl_locks",
			Summary: "Remove the rows of objects that have been free for long.",
			Parameters: []Parameter{
				{"p_older_than_seconds", In, Number, "free for at least so long, 1 to 315360000; NULL = 2592000 (30 days)"},
				{"p_max_rows", In, Number, "rows to remove at the most, 1 to 10000; NULL = 1000"},
				{"p_purged", Out, Number, "rows removed; fewer than p_max_rows mean that none is left"},
			},
			Answers: []string{"the number; waiters that have not been listed for so long go as well, and are not counted"},
		},
		{
			Name:    "purge_appl_lock_history",
			Summary: "Remove old events from the history.",
			Parameters: []Parameter{
				{"p_older_than_seconds", In, Number, "happened at least so long ago, 1 to 315360000; NULL = 34560000 (400 days)"},
				{"p_max_rows", In, Number, "events to remove at the most, 1 to 10000; NULL = 1000"},
				{"p_purged", Out, Number, "events removed; fewer than p_max_rows mean that none is left"},
			},
			Answers: []string{"the number; what tells of a purge stays for 400 days at least"},
		},
		{
			Name:    "assert_appl_lock",
			Summary: "Fail unless exactly this grant is live, and keep it so to the end of the transaction.",
			Parameters: []Parameter{
				objectType, objectID, operatorID,
				{"p_fence", In, Number, "the grant, 1 or greater"},
			},
			Answers: []string{"none: it raises `LK002`, which names the holder, unless the grant is live"},
		},
		{
			Name:       "serialize_appl_lock",
			Summary:    "Let one transaction at a time work on an object.",
			Parameters: []Parameter{objectType, objectID},
			Answers:    []string{"none: it waits for its turn and keeps it until commit or rollback"},
		},
		{
			Name:    "renew_appl_locks",
			Summary: "Renew many grants in one call, each by its fence.",
			Parameters: []Parameter{
				{"p_grants", In, Document, "up to 10000 grants, no object twice: object_type, object_id, operator_id, fence, ttl_seconds of each"},
			},
			Columns: []Parameter{
				rowType, rowID,
				{"outcome", Out, Text, "the answer in one word"},
				{"old_operator_id", Out, Text, "who holds it, when `HELD`; else empty"},
				{"old_department_id", Out, Text, "the holder's department, when `HELD`; else empty"},
				{"expires_ts", Out, Timestamp, "when the lock ends: the grant's, or the holder's when `HELD`; NULL when `FREE`"},
				rowSecondsLeft,
			},
			Answers: []string{
				"`RENEWED`: this grant is live, and lasts for its ttl from now, or as long as it did if that is longer",
				"`HELD`: another operator or another grant holds the object",
				"`FREE`: nobody holds it; the grant has ended",
				"no row: another transaction is changing or asserting the lock; ask again",
			},
		},
		{
			Name:    "announce_appl_lock_waiter",
			Summary: "Say that an operator waits for an object, or still waits.",
			Parameters: []Parameter{
				objectType, objectID, operatorID,
				{"p_department_id", In, Text, "the operator's department, up to 64 characters; NULL = empty"},
				clientID,
				{"p_wait_seconds", In, Number, "seconds until it gives up, 1 to 315360000; NULL = never"},
			},
			Answers: []string{"none: the waiter is listed for 60 s, or until it gives up; each poll of its program keeps it listed"},
		},
		{
			Name:       "retract_appl_lock_waiter",
			Summary:    "Say that an operator does not wait for an object any more.",
			Parameters: []Parameter{objectType, objectID, operatorID, clientID},
			Answers:    []string{"none: the waiter is not listed any more, whether it was or not"},
		},
		{
			Name:    "poll_appl_locks",
			Summary: "Which of the objects that a program waits for are free, or will be next; keeps its waiters listed.",
			Parameters: []Parameter{
				clientID,
				{"p_max_rows", In, Number, "rows at the most, 1 to 10000; NULL = 1000"},
			},
			Columns: []Parameter{
				rowType, rowID,
				{"free_in_us", Out, Number, "microseconds until its lock ends, 0 when it is free"},
			},
			Answers: []string{"the objects that will be free soonest, in that order"},
		},
		{
			Name:    "inbox_appl_locks",
			Summary: "What concerns an operator: what others did with its locks, and who waits for them.",
			Parameters: []Parameter{
				operatorID,
				{"p_after_event_id", In, Number, "safe_event_id of its last call, 0 or greater; NULL = from the start"},
				{"p_max_rows", In, Number, "rows at the most, 1 to 10000; NULL = 1000"},
			},
			Columns: []Parameter{
				{"kind", Out, Text, "`TAKEN`, `HANDED` or `RELEASED`, which are events; `AWAITED`, which is how it is now"},
				{"event_id", Out, Number, "number of the event; 0 for none"},
				rowType, rowID,
				{"other_operator_id", Out, Text, "who has it now, `TAKEN`; who had it, `HANDED`; who ended the lock, `RELEASED`; who waits, `AWAITED`; else empty"},
				{"other_department_id", Out, Text, "that operator's department; empty when `RELEASED`"},
				{"event_ts", Out, Timestamp, "when it happened; since when that one waits, `AWAITED`"},
				{"seconds_left", Out, Number, "whole seconds from now to the end of the operator's lock, rounded up; 0 for events"},
				{"reason", Out, Text, "why; empty for none"},
				{"safe_event_id", Out, Number, "p_after_event_id of the next call: no event up to it is still to come; the same in each row"},
			},
			Answers: []string{
				"`TAKEN`: another operator took it, or handed it on; `HANDED`: another operator handed it over to this one; `RELEASED`: another operator ended its lock",
				"`AWAITED`: another operator waits for what this one holds",
				"events in their order, then who waits longest first; p_max_rows rows may not be all; an event may come twice",
			},
		},
		{
			Name:    "set_appl_lock_policy",
			Summary: "Lay down how long locks on objects of a type last, whether a take wants a reason, and what the history is told.",
			Parameters: []Parameter{
				objectType,
				{"p_default_ttl_seconds", In, Number, "ttl of a new grant for which none is given, 1 to 315360000; NULL = 604800 (7 days)"},
				{"p_longest_ttl_seconds", In, Number, "greatest ttl, 1 to 315360000, to which greater ones are cut; NULL = 315360000 (10 years)"},
				{"p_take_reason_fl", In, Text, "`Y`: who takes a lock away from another must say why; `N`: need not; NULL = `Y`"},
				policyActorID, policyReason,
				{"p_history_level", In, Text, "what the history is told: `CHANGES`, or `ALL`: each get, renewal, refusal and release, too; NULL = `CHANGES`"},
				okFL, outcome,
			},
			Answers: []string{"`Y SET`: the policy of the type is this one, from the next call on; a grant keeps its end until it is renewed or transferred"},
		},
		{
			Name:       "drop_appl_lock_policy",
			Summary:    "Take back the policy of a type.",
			Parameters: []Parameter{objectType, policyActorID, policyReason, okFL, outcome},
			Answers:    []string{"`Y DROPPED`: the type has no policy any more", "`N NONE`: it had none"},
		},
		{
			Name:    "appl_lock_version",
			Summary: "The version of the installed contract.",
			Answers: []string{"a whole number"},
			Version: true,
		},
	}
}
