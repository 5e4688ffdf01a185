//go:build unix

package conditions_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/applock/applock/internal/testing/testdb"
)

// Goal: as TestConditions has, for the settings of a whole server. Method: a server of the test's own, with a binary log, on which who installs has no right
// but on one database.
func TestHeavyServerConditions(t *testing.T) {
	t.Parallel()
	rows := slices.DeleteFunc(read(t), func(row condition) bool { return len(row.of("global")) == 0 })
	program := sync.OnceValue(func() string { return testdb.Applockctl(t) })
	testdb.EachProduct(t, testdb.MySQLProducts(), func(t *testing.T, product string) {
		options := []string{"--log-bin=binary", "--server-id=1"}
		if product == "mariadb" {
			options = append(options, "--secure-timestamp=YES")
		}
		dsn := testdb.OwnMySQL(t, product, options...)
		admin := newSite(t, product, dsn)
		admin.execute(t, "CREATE USER dba IDENTIFIED BY 'secret'")
		for i, row := range rows {
			if !slices.Contains(strings.Split(row.products, ", "), product) {
				continue
			}
			t.Run(row.name+"/"+row.shown(), func(t *testing.T) {
				database := fmt.Sprint("shop", i)
				admin.execute(t, "CREATE DATABASE "+database)
				admin.execute(t, "GRANT ALL ON "+database+".* TO dba")
				name, value, _ := strings.Cut(row.of("global")[0], " = ")
				before := admin.value(t, "SELECT @@GLOBAL."+name)
				t.Cleanup(func() {
					if _, err := admin.admin.ExecContext(context.Background(), "SET GLOBAL "+name+" = "+quoted(before)); err != nil {
						t.Error(err)
					}
				})
				admin.execute(t, "SET GLOBAL "+name+" = "+value)
				address := dsn[strings.LastIndex(dsn, "@"):strings.LastIndex(dsn, "/")]
				s := newSite(t, product, "mysql://dba:secret"+address+"/"+database)
				s.install(t)
				if others := s.value(t, `SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'
					AND NOT (engine = 'InnoDB' AND row_format = 'Dynamic')`); others != "0" {
					t.Errorf("%s tables have another engine or format", others)
				}
				in := s.in(row)
				in.program = program
				in.keeps(t)
			})
		}
	})
}

// quoted is a value of a variable, which may be a number.
func quoted(value string) string {
	if _, err := strconv.Atoi(value); err == nil {
		return value
	}
	return "'" + value + "'"
}
