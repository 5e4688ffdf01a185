// Package clients_test runs the programs in other languages and their pages.
package clients_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testdb"
)

// language is a folder with a library to copy, a player and a page.
type language struct {
	folder string
	// extension is that of its programs.
	extension string
	// command starts a program with what it is given; tools is where clients/install has put what the system has not.
	command func(tools, program string) []string
	// place, where there is one, returns the folder in which programs of a folder start: one that has the installed package.
	place func(t *testing.T, tools, folder string) string
	// opening and closing are what stands around the blocks of its page to make a program of them.
	opening, closing string
	// compared is how many blocks of its page are no programs, but parts of tested files, which another test finds there.
	compared int
	// environment is what its programs need besides.
	environment func(tools string) []string
	drivers     []driver
}

// driver is one way from a language to some products.
type driver struct {
	language *language
	name     string
	products []string
	// pageOnly is true for a driver that the library is not for.
	pageOnly bool
}

// languagesVariable names the folders of the languages that are tested, with commas between them; empty is all.
const languagesVariable = "APPLOCK_TEST_LANGUAGES"

// productsVariable names the products that they are tested on, with commas between them; empty is all.
const productsVariable = "APPLOCK_TEST_CLIENTS_PRODUCTS"

// products are those that the languages are tested on.
func products() []string {
	if only := os.Getenv(productsVariable); only != "" {
		return strings.Split(only, ",")
	}
	return []string{onPostgres, onMariaDB, onMySQL}
}

// languages is the register.
func languages() []*language {
	mysqlAndMariaDB := []string{onMariaDB, onMySQL}
	all := []*language{
		{
			folder: "python", extension: "py",
			command: func(tools, program string) []string {
				return []string{filepath.Join(tools, "python-installed/bin/python3"), program}
			},
			environment: func(string) []string { return []string{"PYTHONDONTWRITEBYTECODE=1"} },
			drivers: []driver{
				{name: "psycopg", products: []string{onPostgres}},
				{name: "psycopg-async", products: []string{onPostgres}},
				{name: "psycopg2", products: []string{onPostgres}},
				{name: "asyncpg", products: []string{onPostgres}, pageOnly: true},
				{name: "PyMySQL", products: mysqlAndMariaDB},
				{name: "mysqlclient", products: mysqlAndMariaDB},
				{name: "mysql-connector-python", products: mysqlAndMariaDB},
			},
		},
		javaLanguage(),
		nodeLanguage(),
		{
			folder: "php", extension: "php",
			command: func(tools, program string) []string {
				return []string{"php", "-d", "include_path=" + filepath.Join(tools, "php/project") + ":/usr/share/php", program}
			},
			opening: "<?php\n",
			drivers: []driver{
				{name: "pdo_pgsql", products: []string{onPostgres}},
				{name: "pdo_mysql", products: mysqlAndMariaDB},
			},
		},
		{
			folder: "ruby", extension: "rb",
			command:     func(_, program string) []string { return []string{"ruby", program} },
			environment: func(tools string) []string { return []string{"GEM_HOME=" + filepath.Join(tools, "ruby/gems")} },
			drivers: []driver{
				{name: "pg", products: []string{onPostgres}},
				{name: "mysql2", products: mysqlAndMariaDB},
			},
		},
	}
	for _, l := range all {
		for i := range l.drivers {
			l.drivers[i].language = l
		}
	}
	return slices.DeleteFunc(all, func(l *language) bool { return !isWanted(l.folder) })
}

// isWanted reports whether a language is tested. The programs of README.md are "other".
func isWanted(folder string) bool {
	only := os.Getenv(languagesVariable)
	return only == "" || slices.Contains(strings.Split(only, ","), folder)
}

// program is a program of the driver's language in a folder, by the name of its file without extension, that works in a place.
func (d driver) program(t *testing.T, at place, folder, name string, args ...string) *exec.Cmd {
	t.Helper()
	tools := testdb.Clients(t)
	words := append(d.language.command(tools, name+"."+d.language.extension), args...)
	command := exec.CommandContext(t.Context(), words[0], words[1:]...)
	command.Dir = folder
	if d.language.place != nil {
		command.Dir = d.language.place(t, tools, folder)
	}
	command.Env = environment(at.environment...)
	if d.language.environment != nil {
		command.Env = append(command.Env, d.language.environment(tools)...)
	}
	return command
}

func (d driver) speaksTo(product string) bool { return slices.Contains(d.products, product) }

// eachDriver runs a test on a place of each product for each driver of each language that is wanted.
func eachDriver(t *testing.T, wanted func(d driver) bool, test func(t *testing.T, d driver, at place)) {
	t.Helper()
	testdb.Clients(t)
	for _, l := range languages() {
		for _, d := range slices.DeleteFunc(slices.Clone(l.drivers), func(d driver) bool { return !wanted(d) }) {
			for _, product := range products() {
				if !d.speaksTo(product) {
					continue
				}
				t.Run(l.folder+"/"+d.name+"/"+product, func(t *testing.T) {
					t.Parallel()
					test(t, d, newPlace(t, product))
				})
			}
		}
	}
}

// inLanguage wants the drivers that the library of one language is for.
func inLanguage(folder string) func(d driver) bool {
	return func(d driver) bool { return d.language.folder == folder && !d.pageOnly }
}

// runOwnTests runs a program of a language that tests the library there, with each driver on each product. It ends well and prints what
// passed matches.
func runOwnTests(t *testing.T, folder, program, passed string) {
	t.Helper()
	eachDriver(t, inLanguage(folder), func(t *testing.T, d driver, at place) {
		t.Helper()
		output, err := d.program(t, at, folder, program, d.name).CombinedOutput()
		if err != nil || !regexp.MustCompile(passed).Match(output) {
			t.Errorf("%v\n%s", err, output)
		}
	})
}

// withLanguage runs a test that needs no database, if its language is among those that are tested.
func withLanguage(t *testing.T, folder string, test func(t *testing.T, tools string)) {
	t.Helper()
	tools := testdb.Clients(t)
	if isWanted(folder) {
		t.Run(folder, func(t *testing.T) { test(t, tools) })
	}
}

// tableVariable names the file that gets the table of what has played.
const tableVariable = "APPLOCK_TEST_CLIENTS_TABLE"

// Goal: the library of another language calls the operations as the contract has them, with each driver on each product. Method: its player plays
// all scenarios through that library, in a zone that is not UTC.
func TestScenarios(t *testing.T) {
	t.Parallel()
	testdb.Clients(t)
	var mutex sync.Mutex
	var played []string
	t.Cleanup(func() {
		slices.Sort(played)
		table := "| language | driver | product |\n|---|---|---|\n" + strings.Join(played, "")
		t.Log("\n" + table)
		if file := os.Getenv(tableVariable); file != "" {
			if err := os.WriteFile(file, []byte(table), 0o600); err != nil {
				t.Error(err)
			}
		}
	})
	plays := func(d driver) bool { return !d.pageOnly }
	eachDriver(t, plays, func(t *testing.T, d driver, at place) {
		t.Helper()
		player := startPlayer(t, d, at)
		versions, err := player.call("versions", nil, nil)
		if err != nil || len(versions) != 1 || len(versions[0]) != 2 {
			t.Fatalf("versions: %q, %v", versions, err)
		}
		contract.Player{Execute: player.executor(), Lacks: lacking(d.language.folder), Empty: at.empty, Advance: at.advance}.Play(t)
		if !t.Failed() {
			mutex.Lock()
			defer mutex.Unlock()
			played = append(played, fmt.Sprintf("| %s | %s | %s %s |\n", versions[0][0], versions[0][1], at.product, at.version(t)))
		}
	})
}
