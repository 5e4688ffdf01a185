package main

import (
	"strings"
	"testing"
)

// Goal: a support tool's heartbeat works from the command line. Method: two operators look at an object, one of them holds it and leaves;
// then presence is turned off. What is compared is what the command prints, without times.
func TestSee(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	for _, step := range []struct {
		command string
		want    []string // each in the line of the same number
	}{
		{"see customer:42 --operator JDOE --department CS", nil},
		{"see customer:42 --operator JDOE --state editing --client tab-7 --ttl 300s", nil},
		{"get customer:42 --operator JDOE", []string{`"outcome":"ACQUIRED"`}},
		{"see customer:42 --operator BROWN --state idle", []string{
			`{"outcome":"HOLDER","operator_id":"JDOE","department_id":"","client_id":"","state":"",`,
			`{"outcome":"VIEWER","operator_id":"JDOE","department_id":"CS","client_id":"applockctl","state":"VIEWING",`,
			`{"outcome":"VIEWER","operator_id":"JDOE","department_id":"","client_id":"tab-7","state":"EDITING",`,
		}},
		{"viewers --object customer:42 --operator BROWN", []string{
			`{"outcome":"VIEWER","object_type":"customer","object_id":"42","operator_id":"BROWN","department_id":"","client_id":"applockctl","state":"IDLE",`,
		}},
		{"see customer:42 --operator JDOE --leave", []string{`"operator_id":"JDOE"`, `"operator_id":"BROWN"`}},
		{"viewers --prefix customer:4", []string{`"operator_id":"BROWN"`, `"client_id":"tab-7"`}},
		{"policy set customer --without-presence --yield-after 30m --by MLEE", []string{`"presence_fl":"N","yield_after_seconds":1800`}},
		{"policy list", []string{`"presence_fl":"N","yield_after_seconds":1800`}},
		{"see customer:42 --operator BROWN", []string{`"outcome":"HOLDER"`}},
	} {
		got := u.run(t, append(strings.Fields(step.command), "--output", "json")...)
		lines := strings.Split(strings.TrimSuffix(got.stdout, "\n"), "\n")
		if got.stdout == "" {
			lines = nil
		}
		if got.code != exitYes || len(lines) != len(step.want) {
			t.Fatalf("%s: exit code %d\n%s%s", step.command, got.code, got.stdout, got.stderr)
		}
		for i, want := range step.want {
			if !strings.Contains(lines[i], want) {
				t.Errorf("%s: line %d is %s, want in it %s", step.command, i+1, lines[i], want)
			}
		}
	}
}

// Goal: a mistake is named by its flag. Method: one of each.
func TestSeeNamesTheMistake(t *testing.T) {
	t.Parallel()
	u := fileUser(t)
	for command, want := range map[string]string{
		"see customer:42 --operator JDOE --state reading":            "write viewing, editing or idle",
		"see customer:42 --operator JDOE --ttl 301s":                 "--ttl is 5m1s, at most 5m0s are allowed",
		"see customer:42 --operator JDOE --client=":                  "--client must not be empty",
		"see customer:42 --operator JDOE --state idle --leave":       "--state, --leave exclude each other",
		"see customer --operator JDOE":                               "customer",
		"policy set customer --yield-after 59s --by MLEE":            "--yield-after is 59s, less than 1m0s",
		"viewers --object customer:42 --type customer":               "--object, --type, --prefix exclude each other",
		"policy set customer --yield-after 1m --by MLEE --history x": "write all or changes",
	} {
		if got := u.run(t, strings.Fields(command)...); got.code != exitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: exit code %d, %s, want %s", command, got.code, got.stderr, want)
		}
	}
}
