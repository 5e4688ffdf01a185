//go:build linux

package faults_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	"golang.org/x/sys/unix"

	"github.com/applock/applock/applock"
	applockmysql "github.com/applock/applock/applock/mysql"
	"github.com/applock/applock/applock/open"
	applockpostgres "github.com/applock/applock/applock/postgres"
	mysqldriver "github.com/applock/applock/internal/db/mysql"
)

const (
	postgres = "postgres"
	mariadb  = "mariadb"
	sqlite   = "sqlite"
)

// objectType is that of all objects here.
const objectType = "hot"

// monotonic is the machine's monotonic clock in microseconds. All processes share it.
func monotonic() int64 { return clock(unix.CLOCK_MONOTONIC) }

func clock(id int32) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		panic(err) // Linux has both clocks
	}
	return t.Nano() / 1000
}

// clocks returns what the monotonic clock is behind the clock of the day. The closest of many looks counts.
func clocks() int64 {
	var offset int64
	closest := int64(forever)
	for range 1000 {
		before := monotonic()
		day := clock(unix.CLOCK_REALTIME)
		after := monotonic()
		if after-before < closest {
			closest, offset = after-before, day-before
		}
	}
	return offset
}

// place is where the locks are, and how a session sees it.
type place struct {
	Product string
	DSN     string
	Level   string // of isolation; empty: the product's own
	Hasty   bool   // statements have a millisecond
	Killed  bool   // are statements, now and then
}

// calls is who can make a call, in a transaction or not. It fills in the answer.
type calls interface {
	call(ctx context.Context, o *operation) error
}

// session is a connection.
type session interface {
	calls
	begin(ctx context.Context) (calls, func(commit bool) error, error)
	close()
}

// errNotSent means that there was no connection.
var errNotSent = errors.New("not sent")

// errBusy means that the answer has no row, because another transaction was changing the lock.
var errBusy = errors.New("busy")

// dsnOfPostgres has the settings of the session, which both clients of PostgreSQL take from there.
func (p place) dsnOfPostgres() string {
	dsn := p.DSN + "&connect_timeout=5"
	if p.Level != "" {
		dsn += "&default_transaction_isolation=" + strings.ReplaceAll(p.Level, " ", "%20")
	}
	if p.Hasty {
		dsn += "&statement_timeout=1&lock_timeout=1"
	}
	return dsn
}

// poolOfMySQL returns a pool of one connection with the settings of the session.
func (p place) poolOfMySQL() (*sql.DB, error) {
	config, err := mysqldriver.ParseDSN(p.DSN)
	if err != nil {
		return nil, err
	}
	config.ParseTime, config.Loc, config.Timeout = true, time.UTC, 5*time.Second
	config.Params = map[string]string{"time_zone": "'+00:00'"}
	variable := "transaction_isolation"
	if p.Product == mariadb {
		variable = "tx_isolation"
	}
	if p.Level != "" {
		config.Params[variable] = "'" + strings.ToUpper(strings.ReplaceAll(p.Level, " ", "-")) + "'"
	}
	if p.Hasty && p.Product == mariadb {
		config.Params["max_statement_time"] = "0.001"
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(1)
	return pool, nil
}

// openSession opens a session with bare SQL, or with the façade.
func openSession(ctx context.Context, p place, raw bool) (session, error) {
	switch {
	case p.Product == sqlite:
		client, err := open.ByDSN(ctx, p.DSN, open.Config{})
		if err != nil {
			return nil, err
		}
		// Transactions of a caller's own are on a handle of its own.
		pool, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(p.DSN, "sqlite:")+"?_pragma=busy_timeout(2000)")
		return &facade{client: client, pool: pool}, err
	case p.Product == postgres && raw:
		pool, err := sql.Open("pgx", p.dsnOfPostgres())
		if err == nil {
			pool.SetMaxOpenConns(1)
		}
		return &bare{pool: pool, product: p.Product}, err
	case p.Product == postgres:
		pool, err := pgxpool.New(ctx, p.dsnOfPostgres()+"&pool_max_conns=1")
		if err != nil {
			return nil, err
		}
		client, err := applockpostgres.New(pool, applockpostgres.Config{})
		return &facade{client: client, pgx: pool}, err
	}
	pool, err := p.poolOfMySQL()
	if err != nil || raw {
		return &bare{pool: pool, product: p.Product}, err
	}
	client, err := applockmysql.New(pool, applockmysql.Config{})
	return &facade{client: client, pool: pool}, err
}

// bare calls the routines by SQL.
type bare struct {
	pool    *sql.DB
	product string
}

func (b *bare) close() { _ = b.pool.Close() }

func (b *bare) call(ctx context.Context, o *operation) error {
	conn, err := b.pool.Conn(ctx)
	if err != nil {
		return errNotSent
	}
	defer func() { _ = conn.Close() }()
	err = statement{conn, b.product}.call(ctx, o)
	if err != nil && b.product != postgres { // what a procedure may have left open: docs/mysql.md, Errors
		_, ended := conn.ExecContext(ctx, "ROLLBACK")
		giveUp(conn, ended)
	}
	return err
}

// giveUp closes a connection whose transaction was not ended: a rollback can be killed, too.
func giveUp(conn *sql.Conn, ended error) {
	if ended != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// beginOn begins a transaction on a connection of the pool, and returns it and how it ends.
func beginOn(ctx context.Context, pool *sql.DB) (*sql.Tx, func(commit bool) error, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		giveUp(conn, err)
		_ = conn.Close()
		return nil, nil, err
	}
	return tx, func(commit bool) error {
		end := tx.Rollback
		if commit {
			end = tx.Commit
		}
		err := end()
		giveUp(conn, err)
		_ = conn.Close()
		return err
	}, nil
}

func (b *bare) begin(ctx context.Context) (calls, func(bool) error, error) {
	tx, end, err := beginOn(ctx, b.pool)
	return statement{tx, b.product}, end, err
}

// statement is a call by SQL.
type statement struct {
	on interface {
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
	product string
}

func (s statement) call(ctx context.Context, o *operation) error {
	var ttl, fence any = o.TTL / 1e6, o.Fence
	if o.Fence == 0 {
		fence = nil
	}
	var row map[string]any
	var err error
	switch o.Kind {
	case kindGet:
		row, err = s.row(ctx, "get_appl_lock_row", objectType, o.Object, o.Operator, nil, ttl, nil)
	case kindRelease:
		row, err = s.row(ctx, "release_appl_lock_row", objectType, o.Object, o.Operator, fence, nil, nil)
	case kindTransfer:
		row, err = s.row(ctx, "transfer_appl_lock_row", objectType, o.Object, o.Operator, o.To, nil, ttl, nil, nil)
	case kindGive:
		if _, err = s.row(ctx, "ask_appl_lock_row", objectType, o.Object, o.To, nil, givenClient, nil, nil); err == nil {
			row, err = s.row(ctx, "answer_appl_lock_row", objectType, o.Object, o.Operator, fence, o.To, givenClient, "GIVE", nil)
		}
	case kindAssert:
		_, err = s.row(ctx, "assert_appl_lock_row", objectType, o.Object, o.Operator, fence)
		switch {
		case err == nil:
			o.Answer = answerAsserted
		case stateOf(err) == "LK002":
			o.Answer, err = answerRefused, nil
		}
		return err
	case kindRenew:
		grants, _ := json.Marshal([]map[string]any{{
			"object_type": objectType, "object_id": o.Object, "operator_id": o.Operator, "fence": o.Fence, "ttl_seconds": ttl,
		}})
		row, err = s.row(ctx, "renew_appl_locks", string(grants))
	case kindInquire:
		row, err = s.row(ctx, "inquire_appl_lock_row", objectType, o.Object)
	case kindList:
		row, err = s.listed(ctx, o.Object)
		if err == nil && row == nil {
			row = map[string]any{"outcome": answerFree}
		}
	}
	if err != nil {
		return err
	}
	return o.read(row)
}

// listed returns what the view of live locks has of an object; nil for nothing.
func (s statement) listed(ctx context.Context, object string) (map[string]any, error) {
	view, marks := "appl_lock_live", "object_type = ? AND object_id = ?"
	if s.product == postgres {
		view, marks = "applock.appl_lock_live", "object_type = $1 AND object_id = $2"
	}
	return s.query(ctx, "SELECT operator_id, fence, expires_ts FROM "+view+" WHERE "+marks, objectType, object)
}

// read takes the answer from a row.
func (o *operation) read(row map[string]any) error {
	if row == nil {
		return errBusy
	}
	first := func(names ...string) any {
		for _, name := range names {
			if value, ok := row[name]; ok {
				return value
			}
		}
		return nil
	}
	o.Answer = text(first("p_outcome", "outcome"))
	o.Holder = text(first("p_old_operator_id", "old_operator_id", "p_operator_id"))
	o.Granted = number(first("p_fence"))
	if ends, ok := first("p_expires_ts", "expires_ts").(time.Time); ok {
		o.Expires = ends.UnixMicro()
	}
	if o.Kind == kindList && o.Answer == "" {
		o.Answer, o.Holder, o.Granted = answerHeld, text(row["operator_id"]), number(row["fence"])
	}
	if o.Kind == kindInquire {
		o.Answer = map[string]string{"Y": answerHeld, "N": answerFree}[text(first("p_ok_fl"))]
	}
	if o.Kind == kindRenew && o.Answer == answerRenewed {
		o.Granted = o.Fence
	}
	return nil
}

func text(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

func number(value any) int64 {
	switch v := value.(type) {
	case int64:
		return v
	case nil:
		return 0
	}
	n, _ := strconv.ParseInt(text(value), 10, 64)
	return n
}

// row calls a routine and returns its row by the names of its columns; nil if it has none.
func (s statement) row(ctx context.Context, routine string, args ...any) (map[string]any, error) {
	marks := make([]string, len(args))
	for i := range args {
		marks[i] = "?"
		if s.product == postgres {
			marks[i] = "$" + strconv.Itoa(i+1)
		}
	}
	query := "CALL " + routine + "(" + strings.Join(marks, ", ") + ")"
	if s.product == postgres {
		query = "SELECT * FROM applock." + routine + "(" + strings.Join(marks, ", ") + ")"
	}
	return s.query(ctx, query, args...)
}

// query returns the last row of the last result set by the names of its columns; nil if there is none.
func (s statement) query(ctx context.Context, query string, args ...any) (map[string]any, error) {
	rows, err := s.on.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var row map[string]any
	for more := true; more; more = rows.NextResultSet() {
		for rows.Next() {
			if row, err = scan(rows); err != nil {
				return nil, err
			}
		}
	}
	return row, rows.Err()
}

func scan(rows *sql.Rows) (map[string]any, error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	err = rows.Scan(into...)
	row := map[string]any{}
	for i, column := range columns {
		row[strings.ToLower(column)] = values[i]
	}
	return row, err
}

// facade calls through package applock, on a pool of one of the two kinds.
type facade struct {
	client *applock.Client
	pool   *sql.DB
	pgx    *pgxpool.Pool
}

func (f *facade) close() {
	_ = f.client.Close()
	if f.pool != nil {
		_ = f.pool.Close()
	}
	if f.pgx != nil {
		f.pgx.Close()
	}
}

func (f *facade) begin(ctx context.Context) (calls, func(bool) error, error) {
	if f.pgx != nil {
		tx, err := f.pgx.BeginTx(ctx, pgx.TxOptions{})
		if err != nil {
			return nil, nil, err
		}
		return verbs{applockpostgres.WithTx(f.client, tx)}, func(commit bool) error {
			if commit {
				return tx.Commit(ctx)
			}
			return tx.Rollback(ctx)
		}, nil
	}
	tx, end, err := beginOn(ctx, f.pool)
	if err != nil {
		return nil, nil, err
	}
	return verbs{f.client.WithSQLTx(tx)}, end, nil
}

func (f *facade) call(ctx context.Context, o *operation) error { return verbs{f.client}.call(ctx, o) }

const (
	// givenClient is the program of all who ask.
	givenClient = "tab"
	// givenSeconds is how long what was given lasts at first, by the policy.
	givenSeconds = 1
)

// verbs calls the façade.
type verbs struct{ client *applock.Client }

func (v verbs) call(ctx context.Context, o *operation) error {
	object := applock.Object{Type: objectType, ID: o.Object}
	ttl := time.Duration(o.TTL) * time.Microsecond
	var grant applock.Grant
	var err error
	switch o.Kind {
	case kindGet:
		grant, err = v.client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: o.Operator}, TTL: ttl})
	case kindTransfer:
		grant, err = v.client.Transfer(ctx, applock.TransferRequest{
			Object: object, From: o.Operator, To: applock.Owner{Operator: o.To}, TTL: ttl,
		})
	case kindGive:
		grant, err = v.give(ctx, *o)
	case kindRenew:
		grant, err = v.client.Renew(ctx, applock.Key{Object: object, Operator: o.Operator, Fence: applock.Fence(o.Fence)}, ttl)
	case kindRelease:
		grant.Outcome, err = v.client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: o.Operator, Fence: applock.Fence(o.Fence)}})
	case kindAssert:
		err = v.client.Assert(ctx, applock.Key{Object: object, Operator: o.Operator, Fence: applock.Fence(o.Fence)})
		grant.Outcome = answerAsserted
	case kindInquire:
		var held applock.Lock
		held, err = v.client.Inquire(ctx, object)
		grant = applock.Grant{Fence: held.Fence, ExpiresAt: held.ExpiresAt, Outcome: answerHeld}
		o.Holder = held.Owner.Operator
	case kindList:
		grant.Outcome = answerFree
		var held applock.Lock
		for held, err = range v.client.List(ctx, applock.ListRequest{ObjectType: objectType, ObjectID: o.Object}) {
			grant = applock.Grant{Fence: held.Fence, ExpiresAt: held.ExpiresAt, Outcome: answerHeld}
			o.Holder = held.Owner.Operator
		}
	}
	if err != nil {
		return o.refusal(err)
	}
	o.Answer, o.Granted = string(grant.Outcome), int64(grant.Fence)
	if !grant.ExpiresAt.IsZero() {
		o.Expires = grant.ExpiresAt.UnixMicro()
	}
	return nil
}

// give asks for the object, whatever that is answered, and gives it.
func (v verbs) give(ctx context.Context, o operation) (applock.Grant, error) {
	object := applock.Object{Type: objectType, ID: o.Object}
	_, err := v.client.Ask(ctx, applock.AskRequest{Object: object, Owner: applock.Owner{Operator: o.To}, Client: givenClient})
	if err != nil && !errors.Is(err, applock.ErrNotHeld) && !errors.Is(err, applock.ErrHeld) {
		return applock.Grant{}, err
	}
	answered, err := v.client.Answer(ctx, applock.AnswerRequest{
		Key:   applock.Key{Object: object, Operator: o.Operator, Fence: applock.Fence(o.Fence)},
		Asker: o.To, Client: givenClient, Answer: applock.AnswerGive,
	})
	return applock.Grant{Outcome: answered.Outcome, ExpiresAt: answered.ExpiresAt}, err
}

// refusal takes the answer from an error that is one.
func (o *operation) refusal(err error) error {
	var held *applock.HeldError
	switch {
	case errors.Is(err, applock.ErrOutcomeUnknown), errors.Is(err, applock.ErrUnreachable):
		return err
	case o.Kind == kindRenew && errors.Is(err, applock.ErrLost), o.Kind == kindAssert && errors.Is(err, applock.ErrLost):
		o.Answer = answerRefused
		return nil
	case errors.As(err, &held) && errors.Is(err, applock.ErrHeld):
		o.Answer, o.Holder = answerHeld, held.Holder.Owner.Operator
		if !held.Holder.ExpiresAt.IsZero() && o.Kind != kindRelease {
			o.Expires = held.Holder.ExpiresAt.UnixMicro()
		}
		return nil
	case errors.Is(err, applock.ErrNotHeld):
		o.Answer = answerFree
		return nil
	case errors.Is(err, applock.ErrNotAsking):
		o.Answer = answerGone
		return nil
	}
	return err
}

// stateOf returns the SQLSTATE of a server's error.
func stateOf(err error) string {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return answer.Code
	}
	var other *mysql.MySQLError
	if errors.As(err, &other) {
		return string(other.SQLState[:])
	}
	return ""
}

// effect is what an error says of what a call outside a transaction has done.
type effect int

const (
	nothing  effect = iota
	possible        // until the call returned
	anytime         // possible also after that
)

// effectOf reads an error. Under autocommit a routine of MySQL's is no transaction: what it answers with an error it can have done.
func effectOf(product string, err error) effect {
	var answer *pgconn.PgError
	isMySQL := product != postgres && product != sqlite
	switch {
	case errors.Is(err, errNotSent), errors.Is(err, errBusy) && !isMySQL:
		return nothing
	case errors.Is(err, errBusy):
		return possible // what another call has made shorter since has no row
	case errors.Is(err, applock.ErrOutcomeUnknown):
		return anytime
	case errors.As(err, new(*mysql.MySQLError)):
		return possible
	case errors.As(err, &answer) && !strings.HasPrefix(answer.Code, "57P") && !strings.HasPrefix(answer.Code, "08"):
		return nothing
	case errors.Is(err, applock.ErrUnreachable), errors.Is(err, applock.ErrBusy), errors.Is(err, applock.ErrRetry),
		errors.Is(err, applock.ErrContention):
		if isMySQL {
			return possible
		}
		return nothing
	}
	return anytime
}

// misuse reports an error that is the test's own.
func misuse(err error) bool {
	state := stateOf(err)
	return errors.Is(err, applock.ErrInvalid) || errors.Is(err, applock.ErrSchema) || errors.Is(err, applock.ErrPrivilege) ||
		state == "LK001" || strings.HasPrefix(state, "42")
}

// observe makes a call outside a transaction, and fills in when it was and what came of it. It reports whether the call belongs into
// the history.
func observe(ctx context.Context, product string, offset int64, s calls, o *operation) (bool, error) {
	o.From = monotonic() + offset
	o.Call = o.From
	err := s.call(ctx, o)
	o.Until = monotonic() + offset + 1
	o.Return, o.Fate = o.Until, fateDone
	if err == nil {
		return true, nil
	}
	if misuse(err) {
		return false, fmt.Errorf("%s: %w", o, err)
	}
	o.Fate = fateUnknown
	switch effectOf(product, err) {
	case nothing:
		return false, nil
	case anytime:
		o.Until, o.Return = forever, forever
	}
	return true, nil
}
