package migrate

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/applock/applock/internal/db"
)

// Part is the part of an installation that a finding concerns.
type Part string

// The parts of an installation.
const (
	PartSteps    Part = "steps"
	PartTables   Part = "tables"
	PartRoutines Part = "routines"
	PartViews    Part = "views"
	PartOwners   Part = "owners"
	PartRights   Part = "rights"
)

// Finding is a deviation from what the applied migrations have created.
type Finding struct {
	Part Part
	// Name is the thing concerned, such as "procedure get_appl_lock".
	Name string
	// Problem continues the sentence, such as "is missing".
	Problem string
	// Mend are the statements that mend it, in one transaction. It is empty if only a backup helps, or Statement.
	Mend []string
	// Statement mends a change that may be intended, so a person must decide.
	Statement string
	// NeedsOwner is true if a repair with a new owner mends it. With a Mend, a repair without an owner mends it as well, but makes the
	// repairing account the owner, which has too many rights.
	NeedsOwner bool
}

// Installation is what the applied migrations should have created.
type Installation struct {
	// Texts are the Up parts of the migrations, in order.
	Texts    []string
	Tables   []Table
	Routines []*RoutineText
	Views    []*RoutineText
	// Owner is the wanted owner; empty keeps the owners.
	Owner string
}

// Table is a table that a migration creates.
type Table struct {
	Name    string
	Columns []string
	Indexes []Index
}

// Index is an index of a table, or its primary key.
type Index struct {
	Name string
	// Columns are in parentheses.
	Columns string
	Primary bool
}

var (
	createTable = regexp.MustCompile(`(?ms)\nCREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(\w+) \(\n(.*?)^\)`)
	column      = regexp.MustCompile(`(?m)^    ([a-z]\w*) `)
	primaryKey  = regexp.MustCompile(`(?m)^    CONSTRAINT (\w+) PRIMARY KEY (\(.*?\))`)
	index       = regexp.MustCompile(`(?m)^    INDEX (\w+) (\(.*?\))`)
	createIndex = regexp.MustCompile(`(?m)\nCREATE INDEX (\w+) ON (\w+) (\(.*?\))`)
)

// installation returns what the applied migrations should have created.
func installation(target Target, steps []Migration) (Installation, error) {
	found := Installation{Owner: target.Owner}
	for _, step := range steps {
		if step.AppliedAt.IsZero() {
			continue
		}
		text, err := fs.ReadFile(target.Migrations, step.Name)
		if err != nil {
			return Installation{}, err
		}
		up, _, _ := strings.Cut(string(text), downAnnotation)
		found.Texts = append(found.Texts, up)
		found.Tables = append(found.Tables, tablesOf(up)...)
	}
	for _, text := range InstalledBy(found.Texts, target.Split) {
		if text.Kind == KindView {
			found.Views = append(found.Views, text)
		} else {
			found.Routines = append(found.Routines, text)
		}
	}
	return found, nil
}

// tablesOf returns the tables that a migration creates.
func tablesOf(up string) []Table {
	var tables []Table
	for _, created := range createTable.FindAllStringSubmatch(up, -1) {
		table := Table{Name: created[1]}
		for _, name := range column.FindAllStringSubmatch(created[2], -1) {
			table.Columns = append(table.Columns, name[1])
		}
		for _, key := range primaryKey.FindAllStringSubmatch(created[2], -1) {
			table.Indexes = append(table.Indexes, Index{Name: key[1], Columns: key[2], Primary: true})
		}
		for _, inside := range index.FindAllStringSubmatch(created[2], -1) {
			table.Indexes = append(table.Indexes, Index{Name: inside[1], Columns: inside[2]})
		}
		for _, behind := range createIndex.FindAllStringSubmatch(up, -1) {
			if behind[2] == table.Name {
				table.Indexes = append(table.Indexes, Index{Name: behind[1], Columns: behind[3]})
			}
		}
		tables = append(tables, table)
	}
	return tables
}

// TableNames returns the names of tables, and of goose's version table.
func TableNames(tables []Table) []string {
	names := []string{VersionTable}
	for _, table := range tables {
		names = append(names, table.Name)
	}
	return names
}

// inspect compares the database with the applied migrations. It changes nothing.
func inspect(ctx context.Context, target Target, client Client, steps []Migration) ([]Finding, error) {
	ours := oursOf(steps)
	want, err := installation(target, ours)
	if err != nil {
		return nil, err
	}
	var findings []Finding
	switch {
	case newestOf(ours) > 0:
		findings, err = inspectInstalled(ctx, target, client, want)
	case !target.Repeatable:
		findings, err = unnoted(ctx, target, client, ours)
	}
	return append(inspectSteps(target, steps), findings...), err
}

// lastOfOurs is the greatest possible number of our steps, which have five digits.
const lastOfOurs = 99999

// foreign reports whether another program's goose has recorded the step in our table.
func foreign(step Migration) bool { return step.Version > lastOfOurs }

// oursOf returns the steps without other programs'.
func oursOf(steps []Migration) []Migration { return slices.DeleteFunc(slices.Clone(steps), foreign) }

// inspectSteps checks the records of the version table.
func inspectSteps(target Target, steps []Migration) []Finding {
	newest := newestOf(oursOf(steps))
	var findings []Finding
	for _, step := range steps {
		finding := Finding{Part: PartSteps, Name: fmt.Sprintf("step %d", step.Version)}
		switch {
		case foreign(step):
			finding.Problem = "is not a step of applock, but recorded in " + VersionTable + ": another program's goose has used that table"
			finding.Statement = fmt.Sprintf("DELETE FROM %s WHERE version_id = %d", target.Qualify(VersionTable), step.Version)
		case step.AppliedAt.IsZero() && step.Version < newest:
			finding.Problem = "is not recorded in " + VersionTable + ", although a later one is"
		default:
			continue
		}
		findings = append(findings, finding)
	}
	return findings
}

// unnoted finds our tables when the version table has no record of them.
func unnoted(ctx context.Context, target Target, client Client, steps []Migration) ([]Finding, error) {
	text, err := fs.ReadFile(target.Migrations, steps[0].Name)
	if err != nil {
		return nil, err
	}
	var findings []Finding
	for _, table := range tablesOf(string(text)) {
		problem, err := problemOf(ctx, target, client, table)
		if err != nil {
			return nil, err
		}
		if problem != problemMissing {
			findings = append(findings, Finding{
				Part: PartSteps, Name: "table " + table.Name, Problem: "exists, but no step is recorded in " + VersionTable,
			})
		}
	}
	return findings, nil
}

// inspectInstalled compares the tables. If all are there, it compares what else the dialect supports.
func inspectInstalled(ctx context.Context, target Target, client Client, want Installation) ([]Finding, error) {
	var findings []Finding
	for _, table := range want.Tables {
		problem, err := problemOf(ctx, target, client, table)
		if err != nil {
			return nil, err
		}
		if problem != "" {
			findings = append(findings, Finding{Part: PartTables, Name: "table " + table.Name, Problem: problem})
		}
	}
	// Routines cannot be right without their tables.
	if len(findings) > 0 {
		return findings, nil
	}
	if target.Obstacles != nil {
		if findings, err := target.Obstacles(ctx, client, want); err != nil || len(findings) > 0 {
			return findings, target.Interpret(ctx, err)
		}
	}
	lost, err := lostRows(ctx, target, client, want.Texts)
	if err != nil {
		return nil, err
	}
	findings, err = inspectViews(ctx, target, client, want.Views)
	if err != nil {
		return findings, err
	}
	inspected, err := target.Inspect(ctx, client, want)
	all := slices.Concat(lost, unexplained(findings, inspected), inspected)
	askForOwner(all)
	return all, target.Interpret(ctx, err)
}

// unexplained removes the findings about views that the dialect explains by the view's owner, with the same way to mend them.
func unexplained(views, inspected []Finding) []Finding {
	return slices.DeleteFunc(views, func(view Finding) bool {
		return slices.ContainsFunc(inspected, func(other Finding) bool {
			return other.Part == PartOwners && other.Name == view.Name && slices.Equal(other.Mend, view.Mend)
		})
	})
}

// askForOwner marks all findings that a repair recreates as needing an owner if one of them does, since one command mends them all.
func askForOwner(findings []Finding) {
	isMadeAnew := func(finding Finding) bool {
		return len(finding.Mend) > 0 && finding.Part != PartTables && finding.Part != PartRights
	}
	if !slices.ContainsFunc(findings, func(finding Finding) bool { return finding.NeedsOwner && isMadeAnew(finding) }) {
		return
	}
	for at := range findings {
		findings[at].NeedsOwner = findings[at].NeedsOwner || isMadeAnew(findings[at])
	}
}

// inspectViews finds views that are missing, or whose columns differ from the contract.
func inspectViews(ctx context.Context, target Target, client Client, views []*RoutineText) ([]Finding, error) {
	var findings []Finding
	for _, view := range views {
		problem, err := problemOf(ctx, target, client, Table{Name: view.Name, Columns: columnsOf(view.Name)})
		if db.KindOf(err) == db.KindAuthentication { // reading tables worked before, so the login is right
			problem, err = target.unreadable(ctx, client, view.Name)
		}
		if err != nil {
			return nil, err
		}
		if problem != "" {
			findings = append(findings, Finding{
				Part: PartViews, Name: "view " + view.Name, Problem: problem, Mend: target.creating(view),
			})
		}
	}
	return findings, nil
}

// unreadable is the problem of a view that nobody can read, for example because its owner is gone. The account may not see which accounts
// exist.
func (t Target) unreadable(ctx context.Context, client Client, view string) (string, error) {
	account := "the account"
	if t.ViewOwner != nil {
		owner, err := t.ViewOwner(ctx, client, view)
		if err != nil {
			return "", err
		}
		account = strings.TrimSpace(account + " " + owner)
	}
	return "cannot be read: " + account + ", whose rights it has, seems not to exist any more", nil
}

// columnsOf returns the columns of a view in the contract.
func columnsOf(name string) []string {
	at := slices.IndexFunc(db.Views(), func(view db.View) bool { return view.Name == name })
	if at < 0 { // not in the contract
		return []string{"1"}
	}
	var columns []string
	for _, column := range db.Views()[at].Columns {
		columns = append(columns, column.Name)
	}
	return columns
}

// MissingIndexes returns a finding for each missing index. Qualify is the target's.
func MissingIndexes(tables []Table, there map[string]bool, qualify func(table string) string) []Finding {
	var findings []Finding
	for _, table := range tables {
		for _, index := range table.Indexes {
			if there[index.Name] {
				continue
			}
			mend := fmt.Sprintf("CREATE INDEX %s ON %s %s", index.Name, qualify(table.Name), index.Columns)
			if index.Primary {
				mend = fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s PRIMARY KEY %s", qualify(table.Name), index.Name, index.Columns)
			}
			findings = append(findings, Finding{
				Part: PartTables, Name: "index " + index.Name, Problem: problemMissing, Mend: []string{mend},
			})
		}
	}
	return findings
}

const problemMissing = "is missing"

// problemOf reads the table itself, in the same way on every product. A table without the right to read it exists: callers do not need that
// right.
func problemOf(ctx context.Context, target Target, client Client, table Table) (string, error) {
	query := fmt.Sprintf("SELECT %s FROM %s WHERE 1 = 0", strings.Join(table.Columns, ", "), target.Qualify(table.Name))
	_, err := Read(ctx, client, func(*any) []any { return nil }, query) // some clients report an error only behind the rows
	err = target.Interpret(ctx, err)
	switch {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "", err
	}
	switch db.KindOf(err) {
	case db.KindPrivilege, db.KindReadOnly: // read-only: an unlogged table on a standby
		return "", nil
	case db.KindSchema:
		return problemMissing, nil
	case db.KindOther, db.KindNoAccount: // a view whose definer is gone
		return fmt.Sprintf("is not the one that was installed: %v", err), nil
	default:
		return "", err
	}
}

// repairRounds is how often a repair checks again: recreated things may need an owner, and others may work at the same time.
const repairRounds = 3

// Repair mends the deviations that can be mended without touching a lock. With target.Owner it also changes other owners. It returns what
// it has mended, and what it could not.
func Repair(ctx context.Context, target Target) (mended, left []Finding, err error) {
	steps, err := Status(ctx, target)
	if err != nil {
		return nil, nil, err
	}
	if err := newerOfOurs(steps); err != nil {
		return nil, nil, err
	}
	if steps[0].AppliedAt.IsZero() {
		return nil, nil, ErrNotInstalled
	}
	err = onConn(ctx, target, func(conn *sql.Conn) error {
		mended, left, err = repair(ctx, target, conn, steps)
		return err
	})
	return mended, left, err
}

func repair(ctx context.Context, target Target, conn *sql.Conn, steps []Migration) (mended, left []Finding, err error) {
	var refused error
	for range repairRounds {
		left, err = inspect(ctx, target, conn, steps)
		if err != nil {
			return mended, nil, err
		}
		var done []Finding
		done, refused = mend(ctx, target, conn, left)
		mended = append(mended, done...)
		if len(done) == 0 {
			return without(mended, left), left, refused
		}
	}
	left, err = inspect(ctx, target, conn, steps)
	return without(mended, left), left, cmp.Or(err, refused)
}

// without drops findings that are still left: PostgreSQL only warns where a REVOKE has no effect.
func without(mended, left []Finding) []Finding {
	return slices.DeleteFunc(mended, func(done Finding) bool {
		return slices.ContainsFunc(left, func(still Finding) bool { return still.Name == done.Name && still.Problem == done.Problem })
	})
}

// mend mends what can be mended, and returns it. A missing right for one finding does not keep it from the others: its first error is returned.
func mend(ctx context.Context, target Target, conn *sql.Conn, findings []Finding) (done []Finding, refused error) {
	for _, finding := range findings {
		if len(finding.Mend) == 0 {
			continue
		}
		mend := func(client Client) error { return Execute(ctx, client, finding.Mend...) }
		if err := InTx(ctx, conn, mend); err != nil {
			failed := fmt.Errorf("%s %s: %w", finding.Name, finding.Problem, target.Interpret(ctx, err))
			if db.KindOf(failed) != db.KindPrivilege {
				return done, failed
			}
			refused = cmp.Or(refused, failed)
			continue
		}
		done = append(done, finding)
	}
	return done, refused
}

// ErrNotInstalled means that there is no table yet.
var ErrNotInstalled = errors.New("the first step is not applied")

// NewerError means that a newer program has migrated the database.
type NewerError struct {
	// Version is the newest step in the database.
	Version int64
	// Contract is the contract's version there; 0 if it cannot be read.
	Contract int
}

// Error names the program that is needed.
func (e *NewerError) Error() string {
	switch {
	case e.Version > lastOfOurs:
		return fmt.Sprintf("%s has step %d, which is not a step of applock: another program's goose has used that table", VersionTable, e.Version)
	case e.Contract == 0:
		return fmt.Sprintf("this program is older than the schema, which has step %d: use a program that knows it", e.Version)
	}
	return fmt.Sprintf("this program is older than the schema, which has step %d: use a program that knows it, with contract >= %d",
		e.Version, e.Contract)
}

// newer returns an error if the database has an unknown step.
func newer(steps []Migration) error {
	if last := steps[len(steps)-1]; last.Unknown {
		return &NewerError{Version: last.Version}
	}
	return nil
}

// newerOfOurs is newer for callers that tolerate other programs' steps.
func newerOfOurs(steps []Migration) error {
	return newer(oursOf(steps))
}

// newerThan is newer for a caller that is about to apply migrations: it reads only the newest version.
func newerThan(ctx context.Context, target Target) error {
	known, err := NewestKnown(target.Migrations)
	if err != nil {
		return err
	}
	version, err := target.Versions.GetLatestVersion(ctx, target.DB)
	if err != nil {
		return target.Interpret(ctx, err)
	}
	if version > known {
		return &NewerError{Version: version}
	}
	return nil
}
