package hsqldb

import (
	"bufio"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"time"
)

// Error is what HSQLDB answers.
type Error struct {
	// State is the SQLSTATE.
	State   string
	Message string
}

func (e *Error) Error() string { return e.Message }

// SQLState implements the interface by which the Db2 driver reads an error.
func (e *Error) SQLState() string { return e.State }

// SQLCode is Db2's code for an answer of HSQLDB, 0 for most.
func (e *Error) SQLCode() int {
	return map[string]int{
		"42501": -204, // user lacks privilege or object not found
		"40001": -911,
	}[e.State]
}

// connector connects to one database in the memory of a bridge.
type connector struct {
	address  string
	database string
	rewrite  func(statement string) string
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	var dialer net.Dialer
	socket, err := dialer.DialContext(ctx, "tcp", c.address)
	if err != nil {
		return nil, err
	}
	session := &session{rewrite: c.rewrite, socket: socket, in: bufio.NewReader(socket), out: bufio.NewWriter(socket)}
	session.writeText(c.database)
	return session, nil
}

// Driver implements driver.Connector. It is never called.
func (c connector) Driver() driver.Driver { return nil }

// session is one JDBC connection. Like go_ibm_db it ignores the context while the server works.
type session struct {
	socket  net.Conn
	in      *bufio.Reader
	out     *bufio.Writer
	rewrite func(statement string) string
}

var (
	_ driver.Conn              = (*session)(nil)
	_ driver.QueryerContext    = (*session)(nil)
	_ driver.ExecerContext     = (*session)(nil)
	_ driver.NamedValueChecker = (*session)(nil)
	_ driver.ConnBeginTx       = (*session)(nil)
)

// Prepare implements driver.Conn. The tests prepare no statements.
func (s *session) Prepare(string) (driver.Stmt, error) { return nil, errors.New("not prepared") }

// Close implements driver.Conn.
func (s *session) Close() error { return s.socket.Close() }

// Begin implements driver.Conn.
func (s *session) Begin() (driver.Tx, error) {
	return s.BeginTx(context.Background(), driver.TxOptions{})
}

// BeginTx implements driver.ConnBeginTx.
func (s *session) BeginTx(_ context.Context, options driver.TxOptions) (driver.Tx, error) {
	s.writeByte('B')
	s.writeByte(map[sql.IsolationLevel]byte{ // as java.sql.Connection numbers them
		sql.LevelDefault:        2,
		sql.LevelReadCommitted:  2,
		sql.LevelRepeatableRead: 4,
		sql.LevelSerializable:   8,
	}[sql.IsolationLevel(options.Isolation)])
	_, err := s.read(nil)
	return s, err
}

// Commit implements driver.Tx.
func (s *session) Commit() error { return s.end('C') }

// Rollback implements driver.Tx.
func (s *session) Rollback() error { return s.end('R') }

func (s *session) end(operation byte) error {
	s.writeByte(operation)
	_, err := s.read(nil)
	return err
}

// CheckNamedValue lets OUT parameters through.
func (s *session) CheckNamedValue(value *driver.NamedValue) error {
	if _, isOut := value.Value.(sql.Out); isOut {
		return nil
	}
	var err error
	value.Value, err = driver.DefaultParameterConverter.ConvertValue(value.Value)
	return err
}

// ExecContext implements driver.ExecerContext.
func (s *session) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	answer, err := s.run(query, args)
	if err != nil {
		return nil, err
	}
	return driver.RowsAffected(answer.changed), nil
}

// QueryContext implements driver.QueryerContext.
func (s *session) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return s.run(query, args)
}

func (s *session) run(query string, args []driver.NamedValue) (*answer, error) {
	query = s.rewrite(query)
	if query == "" {
		return &answer{}, nil
	}
	result, err := s.send(query, args)
	var refused *Error
	if errors.As(err, &refused) && refused.State == nameExists && createRoutine.MatchString(query) {
		return s.send(createRoutine.ReplaceAllString(query, "ALTER SPECIFIC ROUTINE $1"), args)
	}
	return result, err
}

// nameExists is the SQLSTATE of a CREATE of an existing name.
const nameExists = "42504"

// createRoutine is the part of a CREATE that ALTER SPECIFIC ROUTINE does not repeat.
var createRoutine = regexp.MustCompile(`(?s)^CREATE (?:PROCEDURE|FUNCTION) .*?\nSPECIFIC (\w+)\b`)

func (s *session) send(query string, args []driver.NamedValue) (*answer, error) {
	s.writeByte('X')
	s.writeText(query)
	s.writeInt(len(args))
	var outs []sql.Out
	for _, arg := range args {
		if out, isOut := arg.Value.(sql.Out); isOut {
			outs = append(outs, out)
		}
		if err := s.writeArgument(arg.Value); err != nil {
			return nil, err
		}
	}
	return s.read(outs)
}

func (s *session) writeArgument(value any) error {
	switch value := value.(type) {
	case nil:
		s.writeByte('N')
	case string:
		s.writeByte('S')
		s.writeText(value)
	case int64:
		s.writeByte('L')
		_ = binary.Write(s.out, binary.BigEndian, value) // a broken socket shows when the answer is read
	case bool: // goose's is_applied
		return s.writeArgument(map[bool]int64{false: 0, true: 1}[value])
	case sql.Out:
		return s.writeOut(value)
	default:
		return fmt.Errorf("argument of type %T", value)
	}
	return nil
}

func (s *session) writeOut(out sql.Out) error {
	switch out.Dest.(type) {
	case *string, *sql.NullString:
		s.writeByte('s')
	case *int64, *sql.NullInt64:
		s.writeByte('l')
	case *time.Time, *sql.NullTime:
		s.writeByte('t')
	default:
		return fmt.Errorf("OUT parameter of type %T", out.Dest)
	}
	return nil
}

// answer is the answer to a statement: rows, or the number of changed rows.
type answer struct {
	changed int64
	columns []string
	rows    [][]driver.Value
}

// Columns implements driver.Rows.
func (a *answer) Columns() []string { return a.columns }

// Close implements driver.Rows.
func (a *answer) Close() error { return nil }

// Next implements driver.Rows.
func (a *answer) Next(dest []driver.Value) error {
	if len(a.rows) == 0 {
		return io.EOF
	}
	copy(dest, a.rows[0])
	a.rows = a.rows[1:]
	return nil
}

func (s *session) read(outs []sql.Out) (*answer, error) {
	if err := s.out.Flush(); err != nil {
		return nil, err
	}
	kind, err := s.in.ReadByte()
	if err != nil {
		return nil, err
	}
	if kind == 'E' {
		return nil, s.readError()
	}
	return s.readAnswer(outs)
}

func (s *session) readError() error {
	state, err := s.readText()
	if err != nil {
		return err
	}
	message, err := s.readText()
	if err != nil {
		return err
	}
	return &Error{State: state, Message: message}
}

func (s *session) readAnswer(outs []sql.Out) (*answer, error) {
	changed, err := s.readInt()
	if err != nil {
		return nil, err
	}
	result := &answer{changed: int64(changed)}
	if _, err := s.readInt(); err != nil { // the number of OUT values
		return nil, err
	}
	for _, out := range outs {
		value, err := s.readValue()
		if err != nil {
			return nil, err
		}
		if err := assign(out.Dest, value); err != nil {
			return nil, err
		}
	}
	count, err := s.readInt()
	if err != nil || count == 0 {
		return result, err
	}
	for range count {
		column, err := s.readText()
		if err != nil {
			return nil, err
		}
		result.columns = append(result.columns, column)
	}
	return result, s.readRows(result)
}

// assign copies an OUT value to its destination. If the destination cannot hold NULL, only a time accepts it, as the zero time.
func assign(dest, value any) error {
	if scanner, ok := dest.(sql.Scanner); ok {
		return scanner.Scan(value)
	}
	if place, ok := dest.(*time.Time); ok {
		*place, _ = value.(time.Time)
		return nil
	}
	switch value := value.(type) {
	case string:
		*dest.(*string) = value
	case int64:
		*dest.(*int64) = value
	default:
		return fmt.Errorf("an OUT parameter is %v, which does not go into %T", value, dest)
	}
	return nil
}

func (s *session) readRows(result *answer) error {
	for {
		mark, err := s.in.ReadByte()
		if err != nil || mark == '.' {
			return err
		}
		row := make([]driver.Value, len(result.columns))
		for i := range row {
			if row[i], err = s.readValue(); err != nil {
				return err
			}
		}
		result.rows = append(result.rows, row)
	}
}

func (s *session) readValue() (driver.Value, error) {
	kind, err := s.in.ReadByte()
	if err != nil {
		return nil, err
	}
	switch kind {
	case 'N':
		return nil, nil
	case 'L':
		var number int64
		err := binary.Read(s.in, binary.BigEndian, &number)
		return number, err
	case 'T':
		text, err := s.readText()
		if err != nil {
			return nil, err
		}
		return parseTime(text)
	}
	return s.readText()
}

// parseTime reads Java's LocalDateTime, which leaves out seconds that are zero.
func parseTime(text string) (time.Time, error) {
	const minutes = "2006-01-02T15:04"
	if len(text) == len(minutes) {
		return time.Parse(minutes, text)
	}
	return time.Parse(minutes+":05", text)
}

func (s *session) writeByte(value byte) { _ = s.out.WriteByte(value) }

func (s *session) writeInt(value int) { _ = binary.Write(s.out, binary.BigEndian, int32(value)) }

func (s *session) writeText(text string) {
	s.writeInt(len(text))
	_, _ = s.out.WriteString(text)
}

func (s *session) readInt() (int, error) {
	var value int32
	err := binary.Read(s.in, binary.BigEndian, &value)
	return int(value), err
}

func (s *session) readText() (string, error) {
	length, err := s.readInt()
	if err != nil {
		return "", err
	}
	text := make([]byte, length)
	_, err = io.ReadFull(s.in, text)
	return string(text), err
}
