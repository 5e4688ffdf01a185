//go:build db2

package main

import (
	"net"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/drda"
	"github.com/applock/applock/internal/testing/testdb"
)

// Goal: where there is no Db2, the command says so soon, with the exit code of database errors, and does not show the
// password. Method: IBM's client connects to a port that is closed, and to one that answers nonsense.
func TestNoDb2There(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]string{"Closed": "127.0.0.1:1", "Nonsense": fakeServer(t, talkNonsense)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, arguments := range [][]string{
				{"get", "customer:42", "--operator", "jdoe"}, {"list"}, {"migrate", "status"},
			} {
				got := userOf("db2://user:hemlich@"+address+"/db").run(t, arguments...)
				got.check(t, exitError, "cannot reach the database")
				if strings.Contains(got.stderr, "hemlich") || !strings.Contains(got.stderr, "SQL30081N") {
					t.Errorf("%v: %s", arguments, got.stderr)
				}
			}
		})
	}
}

// Goal: the command speaks to a server as with every other engine: answers, refusals and mistakes, each with its exit code. Method: Derby's
// network server. A transfer of another's lock tells who asks for it by --by.
func TestDb2Commands(t *testing.T) {
	t.Parallel()
	server := drda.Start(t, testdb.DerbyJars(t), "../../clients/java/core/src/main/java")
	dsn := server.DSN("shop")
	user := userOf(dsn)
	for _, step := range []struct {
		arguments string
		code      int
		text      string
	}{
		{"get customer:42 --operator jdoe --ttl 1h", exitYes, "ACQUIRED"},
		{"get customer:42 --operator asmith", exitNo, "jdoe"},
		{"get customer:42 --operator jdoe --ttl 2h", exitYes, "RENEWED"},
		{"note customer:42 größer --operator jdoe", exitYes, "NOTED"},
		{"inquire customer:42", exitYes, "größer"},
		{"inquire customer:43", exitNo, "FREE"},
		{"list --output json", exitYes, `"object_id":"42"`},
		{"transfer customer:42 --from jdoe --to asmith --by boss", exitYes, "TRANSFERRED"},
		{"transfer customer:42 --from jdoe --to asmith --by boss", exitNo, "asmith"},
		{"release customer:42 --operator jdoe", exitNo, "asmith"},
		{"release customer:42 --operator asmith", exitYes, "RELEASED"},
		{"get customer --operator jdoe", exitUsage, "customer"},
		{"purge --older-than 1s", exitYes, "0"},
		{"stats", exitError, "migrate status"},
	} {
		got := user.run(t, strings.Fields(step.arguments)...)
		if got.code != step.code || !strings.Contains(got.stdout+got.stderr, step.text) {
			t.Errorf("%s: exit code %d, want %d; %q is not in %s%s", step.arguments, got.code, step.code, step.text, got.stdout, got.stderr)
		}
	}
	userOf(server.DSNWith("shop", "hemlich")).run(t, "list").check(t, exitError, "password")
}

// talkNonsense answers as a server of another protocol.
func talkNonsense(conn net.Conn) {
	_, _ = conn.Read(make([]byte, 1000))
	_, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\nNonsense"))
	_ = conn.Close()
}
