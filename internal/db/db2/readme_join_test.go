package db2_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/hsqldb"
	"github.com/applock/applock/internal/testing/readme"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/testfile"
)

// Goal: a table of an application is joined with the locks by plain SQL. Method: the statement of procedures/README.md for Db2, with
// one of three customers locked.
func TestHeavyReadmeJoin(t *testing.T) {
	t.Parallel()
	place := hsqldbDatabases{bridge: hsqldb.Start(t, testdb.HSQLDB(t), "UTC"), control: hsqldb.MVCC}.place(t)
	page := testfile.Read(t, "../../../procedures/README.md")
	block := regexp.MustCompile("(?s)```sql\n(.*?)```").FindStringSubmatch(readme.Under(page, "On Db2"))
	if block == nil {
		t.Fatal("procedures/README.md has no statement for Db2")
	}
	for _, statement := range []string{
		"CREATE TABLE customer (id VARCHAR(20) NOT NULL PRIMARY KEY, name VARCHAR(20), agent VARCHAR(20))",
		"INSERT INTO customer VALUES ('42', 'Miller', 'ASMITH')",
		"INSERT INTO customer VALUES ('43', 'Jones', 'ASMITH')",
		"INSERT INTO customer VALUES ('44', 'Hill', 'BROWN')",
	} {
		if _, err := place.SQL.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	_, err := place.Client.Get(t.Context(), applock.GetRequest{
		Object: applock.Object{Type: "customer", ID: "42"}, Owner: applock.Owner{Operator: "ASMITH"},
	})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := query(t.Context(), place.SQL, block[1])
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, row := range rows {
		got += fmt.Sprintln(row["id"], row["name"], row["operator_id"])
	}
	if want := "42 Miller ASMITH\n43 Jones <nil>\n"; got != want {
		t.Errorf("it answers\n%s\nwant\n%s", got, want)
	}
}
