package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"github.com/applock/applock/internal/db"
)

// interpretError wraps an error of a statement with its kind; nil stays nil.
func interpretError(err error) error {
	if err == nil {
		return nil
	}
	if wrong := db.WrongProduct(err, db.MySQL); wrong != nil {
		return wrong
	}
	return &db.Error{Kind: kindOf(err), Err: db.Untrusted(err, caOption, "tls=true")}
}

// interpret wraps an error of an operation. Here two more errors mean a missing or damaged schema: the schema's database does not exist, or
// a view is invalid. Two mean that a definer's account is gone. A migrator gets these errors unchanged.
func (d *Driver) interpret(err error) error {
	var answer *mysql.MySQLError
	if errors.As(err, &answer) && (answer.Number == 1049 && d.schema != "" || answer.Number == 1356) {
		return &db.Error{Kind: db.KindSchema, Err: err}
	}
	// Connecting succeeded, so user and password are right: to callers without special rights, servers answer 1045 in place of 1449.
	if answer != nil && (answer.Number == 1449 || answer.Number == 1045) {
		return &db.Error{Kind: db.KindOther, Err: fmt.Errorf(noDefiner+": %w", schemaFlag(d.schema), err)}
	}
	return interpretError(err)
}

// schemaFlag is the flag that names a schema to the command.
func schemaFlag(schema string) string {
	if schema == "" {
		return ""
	}
	return "--schema " + schema + " "
}

// noDefiner explains that the account named as the definer of a procedure or view does not exist.
const noDefiner = "the account whose rights the procedures and views run with does not exist any more; " +
	"the database administrator mends that with: applockctl %smigrate repair --owner NAME"

// connectError wraps an error from before there was a connection.
func connectError(ctx context.Context, err error) error { return db.NotSent(ctx, interpretError(err)) }

// notFree wraps the error of a call that got no connection of the pool.
func (d *Driver) notFree(ctx context.Context, err error) error {
	return db.NotFree(ctx, interpretError(err), db.AllInUse(d.handle))
}

func kindOf(err error) db.Kind {
	var answer *mysql.MySQLError
	if errors.As(err, &answer) {
		return kindOfAnswer(answer)
	}
	if errors.Is(err, driver.ErrBadConn) { // the client returns this only when nothing was sent
		return db.KindUnreachable
	}
	if db.IsClosed(err) {
		return db.KindClosed
	}
	// Cancelled, timed out, cut off or unreadable: the call was sent, and no valid answer came.
	return db.KindInFlight
}

func kindOfAnswer(answer *mysql.MySQLError) db.Kind {
	state := string(answer.SQLState[:])
	if kind := db.KindOfState(state); kind != db.KindOther {
		return kind
	}
	if state == "40001" { // deadlock
		return db.KindRetry
	}
	return kindOfNumber(answer.Number)
}

// leavesTransaction reports whether a procedure may have left its transaction open after an error. The procedure's handlers end the
// transaction, but do not run after a fatal error or a KILL (mysql-server, sql/sp_head.cc, sp_head::execute). They run after our own errors
// and after a lock wait timeout. After a deadlock the server itself has rolled back.
func leavesTransaction(err error) bool {
	var answer *mysql.MySQLError
	if !errors.As(err, &answer) {
		return false // the client closes a connection with an unread answer
	}
	state := string(answer.SQLState[:])
	isExpected := db.KindOfState(state) != db.KindOther || state == "40001" || kindOfAnswer(answer) == db.KindBusy
	return !isExpected
}

// https://dev.mysql.com/doc/mysql-errors/en/server-error-reference.html
// https://mariadb.com/docs/server/reference/error-codes/mariadb-error-code-reference
func kindOfNumber(number uint16) db.Kind {
	switch number {
	case 1305, 1146: // routine, table does not exist
		return db.KindSchema
	case 1045, 1698, 1130: // access denied, also from this host
		return db.KindAuthentication
	case 1049, 1046: // unknown database, no database selected
		return db.KindNoDatabase
	case 1044, 1142, 1143, 1227, 1370: // access denied to database, table, column, special privilege, routine
		return db.KindPrivilege
	// A definer that does not exist; a grant to such an account, on MariaDB and on MySQL, which reads it as a creation.
	case 1449, 1133, 1141, 1410:
		return db.KindNoAccount
	case 1290, 1792, 1836: // the server runs with --read-only, as replicas do; read only transaction; read only mode
		return db.KindReadOnly
	case 1047: // a Galera node is cut off from the others: the call may have taken effect
		return db.KindInFlight
	case 1205: // lock wait timeout
		return db.KindBusy
	// MariaDB: record changed since the snapshot; table changed; rolled back by the cluster; disconnected because idle.
	case 1020, 1412, 3101, 4031:
		return db.KindRetry
	case 1040, 1203, 1226: // too many connections: of the server, of each user, of this user
		return db.KindFull
	case 1053, 1317, 1927, 1969, 3024: // shutdown, interrupted, killed, out of time
		return db.KindInFlight
	// Group Replication could not finish the commit, but the group that has expelled this member may have. Or the member has left the group
	// when a transaction begins; an earlier transaction of the same call may have committed.
	case 3100, 3796:
		return db.KindInFlight
	}
	return db.KindOther
}
