package migrate_test

import (
	"errors"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease/pgadvisory"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/postgres"
)

// Goal: an engine that speaks PostgreSQL's protocol, and on which a lock would be none, is refused before anything is installed or locked.
// Method: a server that gives the version of CockroachDB for an answer to all; Ping, by which verify begins, Up, and an advisory lock.
func TestCockroachDBIsRefused(t *testing.T) {
	t.Parallel()
	dsn := "postgres://jdoe@" + lookalike(t, "CockroachDB CCL v24.3.1 (x86_64-pc-linux-gnu)") +
		"/crm?sslmode=disable&default_query_exec_mode=simple_protocol"
	pool, err := pgxpool.New(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	client, err := postgres.New(pool, postgres.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Ping(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("ping: %v", err)
	}
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("up: %v", err)
	}
	locker, err := pgadvisory.New(pgadvisory.Config{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locker.Close() })
	_, err = locker.TryAcquire(t.Context(), applock.AcquireRequest{Object: applock.Object{Type: "customer", ID: "42"}, MaxHold: applock.MaxTTL})
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("an advisory lock: %v", err)
	}
}

// lookalike listens as a server whose every answer is a row of two texts or one.
func lookalike(t *testing.T, version string) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			go func() { _ = answer(conn, version) }() // it ends with the connection
		}
	}()
	return listener.Addr().String()
}

func answer(conn net.Conn, version string) error {
	backend := pgproto3.NewBackend(conn, conn)
	if _, err := backend.ReceiveStartupMessage(); err != nil {
		return err
	}
	backend.Send(&pgproto3.AuthenticationOk{})
	backend.Send(&pgproto3.ParameterStatus{Name: "standard_conforming_strings", Value: "on"})
	backend.Send(&pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"})
	backend.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	for {
		if err := backend.Flush(); err != nil {
			return err
		}
		message, err := backend.Receive()
		if err != nil {
			return err
		}
		query, ok := message.(*pgproto3.Query)
		if !ok {
			return nil
		}
		respond(backend, query.String, version)
		backend.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	}
}

// respond answers the queries that ask what the server is, and nothing else.
func respond(backend *pgproto3.Backend, query, version string) {
	second, known := map[string]pgproto3.FieldDescription{
		"SELECT version()": {},
		"SELECT version(), current_setting('server_version')": {Name: []byte("server_version"), DataTypeOID: pgtype.TextOID},
		"SELECT version(), pg_backend_pid()":                  {Name: []byte("pg_backend_pid"), DataTypeOID: pgtype.Int4OID},
	}[query]
	if !known {
		backend.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 0")})
		return
	}
	fields := []pgproto3.FieldDescription{{Name: []byte("version"), DataTypeOID: pgtype.TextOID}}
	values := [][]byte{[]byte(version)}
	if second.DataTypeOID != 0 {
		fields, values = append(fields, second), append(values, []byte("13"))
	}
	backend.Send(&pgproto3.RowDescription{Fields: fields})
	backend.Send(&pgproto3.DataRow{Values: values})
	backend.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
}
