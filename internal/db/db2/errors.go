package db2

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"

	"github.com/applock/applock/internal/db"
)

// answerError is an error of Db2 whose text has SQLSTATE and SQLCODE, as Db2's users expect.
type answerError struct {
	Diagnosis
	err error
}

func (e *answerError) Error() string { return e.Text }

func (e *answerError) Unwrap() error { return e.err }

// AnswerOf finds Db2's answer in an error of go_ibm_db, or of another client whose errors have both codes.
func AnswerOf(err error) (Diagnosis, bool) {
	if diagnosis, found := diagnose(err); found {
		return diagnosis, true
	}
	var answer interface {
		error
		SQLState() string
		SQLCode() int
	}
	if !errors.As(err, &answer) {
		return Diagnosis{}, false
	}
	return Diagnosis{State: answer.SQLState(), Code: answer.SQLCode(), Text: answer.Error()}, true
}

// interpretError wraps an error of a statement with its kind; nil stays nil.
func interpretError(err error) error {
	if err == nil {
		return nil
	}
	if wrong := db.WrongProduct(err, db.Db2); wrong != nil {
		return wrong
	}
	diagnosis, answered := AnswerOf(err)
	if !answered && db.IsClosed(err) {
		return &db.Error{Kind: db.KindClosed, Err: err}
	}
	if !answered {
		// Cut off or unreadable: the call was sent, and no valid answer came. driver.ErrBadConn does not mean here that nothing was sent:
		// go_ibm_db returns it for CLI0108E, whose SQLSTATE 40003 is "statement completion unknown".
		return &db.Error{Kind: db.KindInFlight, Err: err}
	}
	return &db.Error{Kind: kindOf(diagnosis), Err: &answerError{Diagnosis: diagnosis, err: err}}
}

// connectError wraps an error from before there was a connection.
func connectError(ctx context.Context, err error) error { return db.NotSent(ctx, interpretError(err)) }

// notFree wraps the error of a call that got no connection of the pool.
func (d *Driver) notFree(ctx context.Context, err error) error {
	return db.NotFree(ctx, interpretError(err), db.AllInUse(d.handle))
}

func kindOf(diagnosis Diagnosis) db.Kind {
	if kind := db.KindOfState(diagnosis.State); kind != db.KindOther {
		return kind
	}
	if diagnosis.Code == -911 || diagnosis.Code == -913 {
		return kindOfRollback(diagnosis.Text)
	}
	if lostConnection(diagnosis) {
		return db.KindInFlight
	}
	return kindOfCode(diagnosis.Code)
}

// kindOfRollback distinguishes a timeout from a deadlock. Db2 has rolled the transaction back (-911), or the caller must (-913). Reasons
// are numbers on LUW and hexadecimal on z/OS: https://www.ibm.com/docs/en/db2/11.5?topic=messages-sql0750-sql0999, "SQL0911N".
func kindOfRollback(text string) db.Kind {
	for _, timeout := range []string{`"68"`, "00C9008E"} {
		if strings.Contains(text, timeout) {
			return db.KindBusy
		}
	}
	return db.KindRetry
}

// https://www.ibm.com/docs/en/db2/11.5?topic=messages-sql
func kindOfCode(code int) db.Kind {
	switch code {
	case -204, -440: // undefined name, no such routine
		return db.KindSchema
	case -1013, -1031, -30061: // database or its directory not found, here or on the server
		return db.KindNoDatabase
	case -30082, -1403: // refused user or password
		return db.KindAuthentication
	case -551, -552, -567, -1060, -1092: // no privilege on the object, for the operation, to connect, authority
		return db.KindPrivilege
	case -1032, -1040, -1226: // not started, too many connections
		return db.KindUnreachable
	case -952: // interrupted
		return db.KindInFlight
	}
	return db.KindOther
}

// isUndone reports whether Db2 has rolled the transaction back, or the caller must.
func isUndone(err error) bool {
	return db.KindOf(err) == db.KindBusy || db.KindOf(err) == db.KindRetry
}

// isDead reports whether the error means a broken connection. The client leaves broken connections in the pool.
func isDead(err error) bool {
	diagnosis, answered := AnswerOf(err)
	return answered && lostConnection(diagnosis) || errors.Is(err, driver.ErrBadConn)
}

// lostConnection recognizes communication errors, rerouted connections, forced-off agents, and class 08 without another meaning: a refused
// user and an unknown database have states of class 08, too.
func lostConnection(diagnosis Diagnosis) bool {
	if kindOfCode(diagnosis.Code) != db.KindOther {
		return false
	}
	return strings.HasPrefix(diagnosis.State, "08") ||
		slices.Contains([]int{-30080, -30081, -30108, -20542, -1224, -1229, -900}, diagnosis.Code)
}
