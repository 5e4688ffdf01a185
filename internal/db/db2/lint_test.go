package db2_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/build/render"
	migration "github.com/applock/applock/internal/migrate/db2"
	"github.com/applock/applock/migrations"
)

// No Db2 server can be had, so what the catalogue shows in the other dialects is read out of the text here.

// lintRule finds what is wrong in files.
type lintRule struct {
	name  string
	check func(files []sqlFile) []string
}

func lintRules() []lintRule {
	return []lintRule{
		{"replace", eachRoutine(isReplaced)},
		{"options", eachRoutine(optionsAreTheWantedOnes)},
		{"parameters", eachRoutine(parametersAreTheContracts)},
		{"row form", eachRoutine(rowFormOnlyCalls)},
		{"views", eachSource(viewsAreTheContracts)},
		{"comments", eachSource(everyRoutineHasItsComment)},
		{"header", eachSource(headerHasItsSections)},

		{"permitted statements", eachStep(statementIsPermitted)},
		{"balance", eachStep(stepIsBalanced)},
		{"forbidden phrases", eachStep(nothingForbidden)},
		{"handlers", eachStep(insertIsCaught)},
		{"variable types", eachStep(variableHasParametersType)},
		{"lengths", eachStep(lengthIsOfCharacters)},
		{"out set", eachRoutine(outParametersAreSetFirst)},
		{"out only set", eachStep(outParameterIsOnlySet)},
		{"registers", eachStep(currentIsClockOrTimeout)},
		{"durations", eachStep(durationIsParenthesised)},
		{"bigint", eachStep(timeIsCountedInBigint)},
		{"clock", eachStep(clockIsReadBehindRow)},
		{"lock timeout", eachRoutine(lockTimeoutIsSet)},
		{"isolation", eachStep(readHasIsolation)},
		{"one row", eachStep(selectGivesOneRow)},
		{"row read", eachStep(changeIsOfTheRowRead)},
		{"row count", eachStep(changeIsCounted)},
		{"second pass", eachStep(renewalIsOfTheSecondPass)},
		{"signals", eachStep(signalIsOurs)},
		{"refusals", eachStep(refusalNamesItsArgument)},
		{"message length", refusalsFitIntoMessages},

		{"terminators", eachSource(statementsAreTerminated)},
		{"readable", eachSource(statementsAreReadable)},
		{"characters", eachSource(charactersAreASCII)},
		{"names", eachSource(namesAreShort)},
		{"goose statements", eachMigration(gooseStatementsAreWrapped)},
		{"goose terminators", eachMigration(gooseFileHasNoTerminators)},
	}
}

func eachFile(migration bool, check func(f sqlFile) []string) func(files []sqlFile) []string {
	return func(files []sqlFile) []string {
		var complaints []string
		for _, file := range files {
			if file.migration() == migration {
				complaints = append(complaints, check(file)...)
			}
		}
		return complaints
	}
}

func eachMigration(check func(f sqlFile) []string) func(files []sqlFile) []string {
	return eachFile(true, check)
}

func eachSource(check func(f sqlFile) []string) func(files []sqlFile) []string {
	return eachFile(false, check)
}

func eachRoutine(check func(r sqlRoutine) []string) func(files []sqlFile) []string {
	return eachSource(func(f sqlFile) []string {
		var complaints []string
		for _, routine := range f.routines {
			complaints = append(complaints, check(routine)...)
		}
		return complaints
	})
}

// eachStep asks for a complaint about one step of a routine, "" if there is none.
func eachStep(check func(r sqlRoutine, i int) string) func(files []sqlFile) []string {
	return eachRoutine(func(r sqlRoutine) []string {
		var complaints []string
		for i, step := range r.steps {
			if complaint := check(r, i); complaint != "" {
				complaints = append(complaints, r.complaint(step.sqlTokens[0].line, "%s", complaint))
			}
		}
		return complaints
	})
}

// lintedFolders returns the files of each folder with Db2's text.
func lintedFolders(t *testing.T) map[string][]sqlFile {
	t.Helper()
	zos, err := migration.ZOSMigrations()
	if err != nil {
		t.Fatal(err)
	}
	sources := renderedSources(t)
	return map[string][]sqlFile{
		"procedures/db2":     sources,
		"procedures for zos": zosSources(sources),
		"migrations/db2":     readSQL(t, migrations.FS, "db2/*.sql", "migrations/"),
		"migrations/db2/zos": readSQL(t, zos, "*.sql", "migrations/db2/zos/"),
	}
}

// renderedSources returns the sources with what is made from them.
func renderedSources(t *testing.T) []sqlFile {
	t.Helper()
	names, err := render.Names("db2")
	if err != nil {
		t.Fatal(err)
	}
	var files []sqlFile
	for _, name := range names {
		text, err := render.File(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, parseSQL("procedures/"+name, text))
	}
	return files
}

// zosSources returns what z/OS has of sources.
func zosSources(sources []sqlFile) []sqlFile {
	var files []sqlFile
	for _, source := range sources {
		header, text, _ := strings.Cut(strings.Join(source.lines, "\n"), terminatorLine)
		header += terminatorLine
		for statement := range strings.SplitSeq(strings.TrimSuffix(text, "\n@\n"), "\n@\n") {
			if statement = migration.ZOSStatement(strings.TrimLeft(statement, "\n") + "\n"); statement != "" {
				header += "\n" + statement + "@\n"
			}
		}
		files = append(files, parseSQL("zos/"+path.Base(source.path), header))
	}
	return files
}

// Goal: Db2's text keeps the contract and the rules that make it right. Method: every rule reads every file.
func TestLint(t *testing.T) {
	t.Parallel()
	for _, files := range lintedFolders(t) {
		for _, complaint := range complaintsOf(files...) {
			t.Error(complaint)
		}
	}
}

// Goal: the sources are exactly the contract, in both forms, and what refuses arguments. Method: compare the
// two; without one of its files, or with one too many, each folder differs.
func TestSourcesEqualContract(t *testing.T) {
	t.Parallel()
	folders := lintedFolders(t)
	for _, folder := range []string{"procedures/db2", "procedures for zos"} {
		files := folders[folder]
		for _, complaint := range filesAreTheContracts(files) {
			t.Error(complaint)
		}
		for i := range files {
			if len(filesAreTheContracts(slices.Delete(slices.Clone(files), i, i+1))) == 0 {
				t.Errorf("nothing is missed without %s", files[i].path)
			}
		}
		if len(filesAreTheContracts(append(files, parseSQL(folder+"/one_more.sql", "")))) == 0 {
			t.Errorf("%s may have one file more", folder)
		}
	}
}
