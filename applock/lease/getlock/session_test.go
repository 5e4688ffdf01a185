package getlock

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	mysqldriver "github.com/applock/applock/internal/db/mysql"
	"github.com/applock/applock/internal/testing/testdb"
)

// Goal: a proxy that changes sessions between statements is named, and its session given up. Method: a session that
// remembers another one's number, as it would behind such a proxy.
func TestASharedSession(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.MySQLProducts(), func(t *testing.T, product string) {
		config, err := mysqldriver.ParseDSN(testdb.Require(t, product))
		if err != nil {
			t.Fatal(err)
		}
		connector, err := mysql.NewConnector(config)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := (&server{connector: connector}).Open(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { opened.Close(context.WithoutCancel(t.Context())) })
		name := fmt.Sprintf("applock_test_%s_%d", product, time.Now().UnixNano())
		if holder, err := opened.TryLock(t.Context(), name); err != nil || holder != "" {
			t.Fatalf("try to lock: held by %q, %v", holder, err)
		}
		opened.(*session).id++
		_, err = opened.TryLock(t.Context(), name)
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "proxy") || !opened.Broken(err) {
			t.Errorf("try to lock: %v, want a proxy to be named", err)
		}
	})
}

// Goal: an error of the server ends the session only if the server ends it. Method: errors of both kinds.
func TestBroken(t *testing.T) {
	t.Parallel()
	s := &session{}
	for _, err := range []error{
		driver.ErrBadConn, mysql.ErrInvalidConn, errShared, errors.New("i/o timeout"),
		&mysql.MySQLError{Number: 1053}, &mysql.MySQLError{Number: 1927}, &mysql.MySQLError{Number: 4031},
	} {
		if !s.Broken(fmt.Errorf("try: %w", err)) {
			t.Errorf("%v leaves the session in order", err)
		}
	}
	for _, err := range []error{errNoLock, &mysql.MySQLError{Number: 1205}, &mysql.MySQLError{Number: 1317}} {
		if s.Broken(fmt.Errorf("try: %w", err)) {
			t.Errorf("%v breaks the session", err)
		}
	}
}
