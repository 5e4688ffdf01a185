// Package drda runs Apache Derby's network server, which speaks Db2's wire protocol to IBM's client, with the contract's procedures as
// Java procedures. It proves the way of a call, not the Db2 texts. For tests only.
package drda

import (
	"bufio"
	"context"
	_ "embed" // the sources
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/db"
)

//go:embed Server.java
var serverJava string

//go:embed Verbs.java
var verbsJava string

//go:embed Lists.java
var listsJava string

//go:embed schema.sql
var schemaSQL string

// asm is what Java 17 itself changes classes with.
const asm = "java.base/jdk.internal.org.objectweb.asm=ALL-UNNAMED"

// Server is a network server of a test's own.
type Server struct {
	classes, data, jars string
	port                string
	process             *exec.Cmd
	stdin               io.Closer
}

// Start compiles and starts a server with the jars in a folder and with the sources of applock's Java library, and stops it when the test
// ends.
func Start(t testing.TB, jars, library string) *Server {
	t.Helper()
	s := &Server{classes: t.TempDir(), data: t.TempDir(), jars: filepath.Join(jars, "*"), port: "0"}
	arguments := []string{"-nowarn", "--add-exports", asm, "-cp", s.jarFiles(t), "-sourcepath", library, "-d", s.classes}
	sources := map[string]string{"Server.java": serverJava, "Verbs.java": verbsJava, "Lists.java": listsJava, "Routines.java": routinesJava()}
	for name, text := range sources {
		path := filepath.Join(s.classes, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, path)
	}
	if output, err := exec.CommandContext(t.Context(), "javac", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, output)
	}
	if err := os.WriteFile(s.statements(), []byte(strings.Join(statements(), ";\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Resume(t)
	t.Cleanup(func() { s.stop() })
	return s
}

func (s *Server) jarFiles(t testing.TB) string {
	t.Helper()
	files, err := filepath.Glob(s.jars + ".jar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no jars, %v", s.jars, err)
	}
	return strings.Join(files, string(os.PathListSeparator))
}

func (s *Server) statements() string { return filepath.Join(s.classes, "statements.sql") }

// Resume starts the server, on its former port if it had one.
func (s *Server) Resume(t testing.TB) {
	t.Helper()
	s.process = exec.CommandContext(context.Background(), "java", "--add-exports", asm, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
		"-Djava.security.manager=allow", "-Duser.timezone=UTC", "-Dderby.system.home="+s.data, "-Dderby.system.durability=test",
		"-Dderby.locks.waitTimeout=2", "-Dderby.locks.deadlockTimeout=1",
		"-Dderby.connection.requireAuthentication=true", "-Dderby.authentication.provider=BUILTIN",
		"-Dderby.user."+db.DefaultSchema+"="+password, "-cp", s.classes+string(os.PathListSeparator)+s.jars, "Server", s.statements(), s.port)
	s.process.Dir = s.data
	s.process.Stderr = os.Stderr
	stdin, err := s.process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.stdin = stdin
	stdout, err := s.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	port, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		s.stop()
		t.Fatalf("the server printed no port: %v", err)
	}
	s.port = strings.TrimSpace(port)
}

// Kill kills the server.
func (s *Server) Kill() {
	_ = s.process.Process.Kill() // it may have ended
	s.stop()
}

func (s *Server) stop() {
	_ = s.stdin.Close()
	_ = s.process.Wait() // its state says nothing about a test
}

// password has the characters that mean something in texts of the client.
const password = `{a'b"c=d}`

// DSN is the address of a database, which the first connection makes. Its name is in upper case, as the client sends it.
func (s *Server) DSN(database string) string { return s.DSNWith(database, password) }

// DSNWith is DSN with a password.
func (s *Server) DSNWith(database, password string) string {
	address := url.URL{
		Scheme: "db2", User: url.UserPassword(db.DefaultSchema, password), Host: "127.0.0.1:" + s.port, Path: "/" + strings.ToUpper(database),
		RawQuery: "Authentication=SERVER",
	}
	return address.String()
}

// Offered are the procedures that there are.
func Offered() []db.Operation {
	return slices.DeleteFunc(db.Contract(), func(operation db.Operation) bool { return classOf(operation) == "" })
}

// Views are the views that there are.
func Views() []db.View {
	return slices.DeleteFunc(db.Views(), func(view db.View) bool { return !strings.Contains(schemaSQL, " "+view.Name+" AS") })
}

// classOf returns the class that has the operation, or "".
func classOf(operation db.Operation) string {
	for class, text := range map[string]string{"Verbs": verbsJava, "Lists": listsJava} {
		if strings.Contains(text, " "+operation.Name+"(") {
			return class
		}
	}
	return ""
}

// routinesJava returns the class with the two forms of each operation.
func routinesJava() string {
	var text strings.Builder
	text.WriteString("import io.github.applock.ApplLockException;\nimport java.sql.*;\npublic final class Routines {\n")
	for _, operation := range Offered() {
		var in, names, outs, values []string
		for i, parameter := range operation.InParameters() {
			in = append(in, fmt.Sprintf("%s in%d", typeOf(parameter).java, i))
			names = append(names, fmt.Sprintf("in%d", i))
		}
		var sets strings.Builder
		for i, parameter := range operation.OutParameters() {
			outs = append(outs, fmt.Sprintf("%s[] out%d", typeOf(parameter).out(), i))
			fmt.Fprintf(&sets, "        out%[1]d[0] = (%[2]s) answer[%[1]d];\n", i, typeOf(parameter).java)
		}
		for _, column := range operation.RowParameters() {
			values = append(values, fmt.Sprintf("CAST(? AS %s) AS %s", typeOf(column).sql, column.Name))
		}
		call := classOf(operation) + "." + operation.Name + "(" + strings.Join(names, ", ") + ")"
		if operation.ResultSet() {
			writeMethod(&text, operation.Name, append(in, "ResultSet[] rows"), "        rows[0] = "+call+";\n")
			continue
		}
		writeMethod(&text, operation.Name, slices.Concat(in, outs), "        Object[] answer = "+call+";\n"+sets.String())
		if len(operation.OutParameters()) == 0 {
			call += "; Object answer = \"Y\""
		} else {
			call = "Object[] answer = " + call
		}
		writeMethod(&text, operation.RowForm(), append(in, "ResultSet[] rows"),
			fmt.Sprintf("        %s;\n        rows[0] = Verbs.row(\"%s\", answer);\n", call, strings.Join(values, ", ")))
	}
	text.WriteString("}\n")
	return text.String()
}

// writeMethod writes a method whose refusals are errors of SQL.
func writeMethod(text *strings.Builder, name string, parameters []string, body string) {
	fmt.Fprintf(text, "    public static void %s(%s) throws SQLException {\n        try {\n%s        } catch (ApplLockException refused) {\n"+
		"            throw new SQLException(refused.getMessage(), refused.getSQLState());\n        }\n    }\n", name, strings.Join(parameters, ", "), body)
}

// statements returns what a new database gets.
func statements() []string {
	all := strings.Split(strings.TrimSuffix(schemaSQL, ";\n"), ";\n")
	for _, operation := range Offered() {
		all = append(all, procedure(operation.Name, operation.Parameters, operation.ResultSet()))
		if !operation.ResultSet() {
			all = append(all, procedure(operation.RowForm(), operation.InParameters(), true))
		}
	}
	return all
}

func procedure(name string, parameters []db.Parameter, isRowForm bool) string {
	var declared, signature []string
	for _, parameter := range parameters {
		kind := typeOf(parameter)
		declared = append(declared, fmt.Sprintf("%s %s %s", parameter.Direction, parameter.Name, kind.sql))
		java := kind.java
		if parameter.Direction == db.Out {
			java = kind.out() + "[]"
		}
		signature = append(signature, qualified(java))
	}
	results := ""
	if isRowForm {
		results = " DYNAMIC RESULT SETS 1"
		signature = append(signature, "java.sql.ResultSet[]")
	}
	return fmt.Sprintf("CREATE PROCEDURE %s(%s) LANGUAGE JAVA PARAMETER STYLE JAVA MODIFIES SQL DATA%s EXTERNAL NAME 'Routines.%s(%s)'",
		name, strings.Join(declared, ", "), results, name, strings.Join(signature, ","))
}

// sqlType is a type of Db2's procedures, in SQL and in Java.
type sqlType struct{ sql, java string }

// out is the type in OUT parameters: the network server knows the primitive one only.
func (t sqlType) out() string { return strings.Replace(t.java, "Long", "long", 1) }

func qualified(java string) string {
	switch {
	case strings.HasPrefix(java, "Timestamp"):
		return "java.sql." + java
	case strings.HasPrefix(java, "long"):
		return java
	}
	return "java.lang." + java
}

func typeOf(parameter db.Parameter) sqlType {
	switch {
	case parameter.Type == db.FlagType:
		return sqlType{"CHAR(1)", "String"}
	case parameter.Type == db.Number:
		return sqlType{"BIGINT", "Long"}
	case parameter.Type == db.Timestamp:
		return sqlType{"TIMESTAMP", "Timestamp"}
	case parameter.Type == db.Document:
		return sqlType{"VARCHAR(32000)", "String"}
	case parameter.Direction == db.In:
		return sqlType{"VARCHAR(4000)", "String"}
	}
	return sqlType{fmt.Sprintf("VARCHAR(%d)", 4*parameter.Length()), "String"} // Db2 counts bytes
}
