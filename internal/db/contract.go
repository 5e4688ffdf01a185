package db

import (
	"slices"
	"strings"
)

// This file lists the operations of the contract and says what an operation consists of. Its parameters and answers are in the file of its
// name. The tables in docs/reference.md are made from them, and each dialect's catalogue is compared with them.

// Direction is IN or OUT.
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
	// Document is a list of records: JSON, or on Db2 a text of lengths and values.
	Document Type = "document"
)

// Parameter is one parameter of an operation.
type Parameter struct {
	Name      string
	Direction Direction
	Type      Type
	Meaning   string
}

// Length returns the most characters of an OUT parameter of type Text: the length of its column.
func (p Parameter) Length() int {
	const outcome, department, text = 11, 64, 255
	switch p.Name {
	case "p_outcome":
		return outcome
	case "p_department_id", "p_old_department_id":
		return department
	}
	return text
}

// Optional reports whether NULL is allowed; Meaning then says what it means.
func (p Parameter) Optional() bool { return strings.Contains(p.Meaning, "NULL = ") }

// Answer is one answer of an operation. An entry without an Outcome is a remark.
type Answer struct {
	Outcome string
	// Granted reports whether the caller got what it asked for. The flag, where the operation has one, is Y then, else N.
	Granted bool
	Meaning string
}

func granted(outcome, meaning string) Answer { return Answer{outcome, true, meaning} }

func refused(outcome, meaning string) Answer { return Answer{outcome, false, meaning} }

func remark(meaning string) Answer { return Answer{Meaning: meaning} }

// Operation is one operation of the contract.
type Operation struct {
	Name       string
	Summary    string
	Parameters []Parameter
	// Answers lists the answers and the remarks on them, in the order of the documentation.
	Answers []Answer
	// Columns are the columns of the result set. An operation with columns has no OUT parameters and only one form.
	Columns []Parameter
	// Version marks appl_lock_version, which has no parameters and returns one value.
	Version bool
}

// ResultSet reports whether the operation returns rows.
func (o Operation) ResultSet() bool { return len(o.Columns) > 0 }

// Outcomes returns the answers without the remarks, in order.
func (o Operation) Outcomes() []Answer {
	return slices.DeleteFunc(slices.Clone(o.Answers), func(a Answer) bool { return a.Outcome == "" })
}

// Words returns an answer's flag, where the operation has one, and its outcome.
func (o Operation) Words(a Answer) string {
	switch flagged := slices.ContainsFunc(o.Parameters, func(p Parameter) bool { return p.Name == "p_ok_fl" }); {
	case !flagged:
		return a.Outcome
	case a.Granted:
		return "Y " + a.Outcome
	}
	return "N " + a.Outcome
}

// InParameters returns the IN parameters, in order.
func (o Operation) InParameters() []Parameter { return o.directed(In) }

// Required returns how many of InParameters a caller must give. The rest may be NULL.
func (o Operation) Required() int {
	in := o.InParameters()
	required := len(in)
	for required > 0 && in[required-1].Optional() {
		required--
	}
	return required
}

// OutParameters returns the OUT parameters, in order.
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

// RowParameters returns the columns of the row form: the OUT parameters, or a flag that is always Y.
func (o Operation) RowParameters() []Parameter {
	if columns := o.OutParameters(); len(columns) > 0 {
		return columns
	}
	return []Parameter{{Name: "p_ok_fl", Direction: Out, Type: FlagType, Meaning: "always `Y`"}}
}

// RowForm returns the name of the routine that answers with rows. An operation with columns is its own row form.
func (o Operation) RowForm() string {
	if o.ResultSet() || o.Version {
		return o.Name
	}
	return o.Name + "_row"
}

// RowsForm returns the name of the routine that runs the operation for each element of a list and answers with one result set for each,
// empty if there is none. It is for MySQL and MariaDB. On PostgreSQL a query joins the row form to a list.
func (o Operation) RowsForm() string {
	if o.Name == "get_appl_lock" {
		return o.Name + "_rows"
	}
	return ""
}

// PassForm returns the name of the routine that runs the operation and then a get for the next operator, empty if there is none. It is for
// MySQL and MariaDB. On PostgreSQL a query joins both row forms.
func (o Operation) PassForm() string {
	if o.Name == "release_appl_lock" {
		return o.Name + "_pass"
	}
	return ""
}

// Has reports whether name is the operation or one of its forms.
func (o Operation) Has(name string) bool {
	return name != "" && slices.Contains([]string{o.Name, o.RowForm(), o.RowsForm(), o.PassForm()}, name)
}

// Contract returns all operations in the order of the documentation.
func Contract() []Operation {
	return []Operation{
		getApplLock(),
		getApplLockPermit(),
		releaseApplLock(),
		releaseApplLocks(),
		inquireApplLock(),
		transferApplLock(),
		takeApplLock(),
		transferApplLocks(),
		noteApplLock(),
		purgeApplLocks(),
		purgeApplLockHistory(),
		assertApplLock(),
		serializeApplLock(),
		renewApplLocks(),
		announceApplLockWaiter(),
		retractApplLockWaiter(),
		pollApplLocks(),
		inboxApplLocks(),
		seeApplLock(),
		setApplLockPolicy(),
		dropApplLockPolicy(),
		askApplLock(),
		answerApplLock(),
		applLockVersion(),
	}
}

// Parameters and columns that several operations have:

func objectType() Parameter {
	return Parameter{"p_object_type", In, Text, "kind of object, 1 to 64 characters, without `:`"}
}

func objectID() Parameter {
	return Parameter{"p_object_id", In, Text, "which object, 1 to 255 characters"}
}

func operatorID() Parameter {
	return Parameter{"p_operator_id", In, Text, "the operator, 1 to 255 characters"}
}

func acquiredTS() Parameter {
	return Parameter{"p_acquired_ts", Out, Timestamp, "start of the grant that ends at p_expires_ts; NULL where that is NULL"}
}

func secondsLeft() Parameter {
	return Parameter{"p_seconds_left", Out, Number, "whole seconds from now to p_expires_ts, rounded up; 0 for none"}
}

func rowSecondsLeft() Parameter {
	return Parameter{"seconds_left", Out, Number, "whole seconds from now to expires_ts, rounded up; 0 for none"}
}

func okFL() Parameter {
	return Parameter{"p_ok_fl", Out, FlagType, "`Y` or `N`"}
}

func outcome() Parameter {
	return Parameter{"p_outcome", Out, Text, "the answer in one word"}
}

func oldOperatorID() Parameter {
	return Parameter{"p_old_operator_id", Out, Text, "who holds it, when `HELD`; else empty"}
}

func oldDepartmentID() Parameter {
	return Parameter{"p_old_department_id", Out, Text, "the holder's department, when `HELD`; else empty"}
}

func reason() Parameter {
	return Parameter{"p_reason", In, Text, "why, for the history, up to 255 characters; NULL = empty"}
}

func onlyType() Parameter {
	return Parameter{"p_object_type", In, Text, "only this type; NULL = any"}
}

func afterType() Parameter {
	return Parameter{"p_after_type", In, Text, "type of the last row of the page before; NULL = from the start"}
}

func afterID() Parameter {
	return Parameter{"p_after_id", In, Text, "id of the last row of the page before; NULL = from the start"}
}

func maxRows() Parameter {
	return Parameter{"p_max_rows", In, Number, "size of the page, 1 to 10000; NULL = 1000"}
}

func dryRun() Parameter {
	return Parameter{"p_dry_run_fl", In, Text, "`Y` = only say what would be done; `N`, empty or NULL = do it"}
}

func policyActorID() Parameter {
	return Parameter{"p_actor_id", In, Text, "who does it, for the history, 1 to 255 characters"}
}

func policyReason() Parameter {
	return Parameter{"p_reason", In, Text, "why, for the history, up to 150 characters; NULL = empty"}
}

func clientID() Parameter {
	return Parameter{"p_client_id", In, Text, "the waiting program, 1 to 64 characters, unique to it"}
}

func rowType() Parameter {
	return Parameter{"object_type", Out, Text, "kind of object"}
}

func rowID() Parameter {
	return Parameter{"object_id", Out, Text, "which object"}
}

func rowDepartmentID() Parameter {
	return Parameter{"department_id", Out, Text, "the operator's department; may be empty"}
}

func rowOutcome() Parameter {
	return Parameter{"outcome", Out, Text, "the answer in one word"}
}

func rowOldOperatorID() Parameter {
	return Parameter{"old_operator_id", Out, Text, "who holds it, when `HELD`; else empty"}
}

func rowOldDepartmentID() Parameter {
	return Parameter{"old_department_id", Out, Text, "the holder's department, when `HELD`; else empty"}
}
