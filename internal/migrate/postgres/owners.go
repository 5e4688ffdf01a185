package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// superusers returns the routines of the schema that run with a superuser's rights.
const superusers = `SELECT r.rolname,
		format('%s.%I(%s)', p.pronamespace::regnamespace, p.proname, pg_get_function_identity_arguments(p.oid))
	FROM pg_proc AS p
	JOIN pg_roles AS r ON r.oid = p.proowner
	WHERE p.pronamespace = to_regnamespace($1) AND p.prosecdef AND r.rolsuper`

// beside returns the owners of the schema and its types. They may differ from the owner of the tables, who only needs the right to use
// them. Where no owner is named ($2 is false), that is no harm for types, nor where the schema is a superuser's.
const beside = `SELECT r.rolname, 'schema ' || quote_ident(n.nspname)
	FROM pg_namespace AS n
	JOIN pg_roles AS r ON r.oid = n.nspowner
	WHERE n.nspname = $1 AND ($2::boolean OR NOT r.rolsuper)
	UNION ALL
	SELECT pg_get_userbyid(c.relowner), format('type %s.%I', c.relnamespace::regnamespace, c.relname)
	FROM pg_class AS c
	WHERE c.relnamespace = to_regnamespace($1) AND c.relkind = 'c' AND $2::boolean`

// creators returns the roles, except superusers, the schema's owner and the owner of the installation, that can add objects to the schema, and
// the statement that ends it.
const creators = `SELECT coalesce(r.rolname, 'everybody (PUBLIC)'),
		CASE
			WHEN r.oid IS NULL THEN format('REVOKE CREATE ON SCHEMA %I FROM PUBLIC', n.nspname)
			ELSE format('REVOKE CREATE ON SCHEMA %I FROM %I', n.nspname, r.rolname)
		END
	FROM pg_namespace AS n
	CROSS JOIN LATERAL aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) AS a
	LEFT JOIN pg_roles AS r ON r.oid = a.grantee
	WHERE n.nspname = $1 AND a.privilege_type = 'CREATE' AND a.grantee <> n.nspowner AND r.rolsuper IS NOT TRUE
		AND r.rolname IS DISTINCT FROM $2::text`

// strangers returns what others than the owner of the installation, superusers and extensions have in the schema, except our own objects by
// their names in $3 and what is a part of another object, and the statement that removes it.
const strangers = `SELECT pg_get_userbyid(o.owner), i.type || ' ' || i.identity
	FROM (
		SELECT 'pg_proc'::regclass AS catalogue, p.oid, p.proowner AS owner, p.proname AS name FROM pg_proc AS p WHERE p.pronamespace = to_regnamespace($1)
		UNION ALL
		SELECT 'pg_operator'::regclass, p.oid, p.oprowner, p.oprname FROM pg_operator AS p WHERE p.oprnamespace = to_regnamespace($1)
		UNION ALL
		SELECT 'pg_class'::regclass, c.oid, c.relowner, c.relname FROM pg_class AS c
		WHERE c.relnamespace = to_regnamespace($1) AND c.relkind NOT IN ('i', 'I', 't')
		UNION ALL
		SELECT 'pg_type'::regclass, t.oid, t.typowner, t.typname FROM pg_type AS t
		WHERE t.typnamespace = to_regnamespace($1) AND t.typrelid = 0 AND t.typcategory <> 'A'
	) AS o
	JOIN pg_roles AS r ON r.oid = o.owner AND NOT r.rolsuper
	CROSS JOIN LATERAL pg_identify_object(o.catalogue, o.oid, 0) AS i
	WHERE pg_get_userbyid(o.owner) <> $2 AND o.name::text <> ALL (string_to_array($3, ' '))
		AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = o.catalogue AND d.objid = o.oid AND d.deptype IN ('e', 'i'))`

// ofOthers returns the parts of an installation whose owner's rights the session does not have.
const ofOthers = `SELECT pg_get_userbyid(n.nspowner), 'schema' FROM pg_namespace AS n
	WHERE n.nspname = $1 AND NOT pg_has_role(n.nspowner, 'USAGE')
	UNION ALL
	SELECT pg_get_userbyid(c.relowner), 'table' FROM pg_class AS c
	WHERE c.relnamespace = to_regnamespace($1) AND c.relname = 'appl_lock' AND NOT pg_has_role(c.relowner, 'USAGE')`

// denied names the owner of the installation, and the way to go on, to an account that lacks a right; empty if the account is the owner.
func (s site) denied(ctx context.Context) (string, error) {
	others, err := s.owned(ctx, s.DB, ofOthers)
	if err != nil {
		return "", err
	}
	for _, other := range others {
		if other.thing == "table" {
			return fmt.Sprintf("the installation in schema %s belongs to %s: do this as that account, or let a superuser give it to an account NAME"+
				" that can migrate and no more: %s --owner NAME", s.Schema, other.account, s.repair()), nil
		}
	}
	if len(others) == 0 {
		return "", nil
	}
	account, err := migrate.Value[string](ctx, s.DB, "SELECT current_user::text")
	return fmt.Sprintf("schema %[1]s belongs to %[2]s: do this as that account, or mend it with the SQL: ALTER SCHEMA %[1]s OWNER TO %[3]s",
		s.Schema, others[0].account, roleName(account)), err
}

// repair is the command that repairs.
func (s site) repair() string {
	if s.Schema == db.DefaultSchema {
		return "applockctl migrate repair"
	}
	return "applockctl --schema " + s.Schema + " migrate repair"
}

// inspectOwners finds superusers that own routines of the schema, another owner of the schema, who may drop it and replace what is in it, and,
// if an owner was named, of its types. A plain owner may replace them: a repair gives it our objects, and leaves other routines to people.
func (s site) inspectOwners(ctx context.Context, client migrate.Client, owner string, named bool) ([]migrate.Finding, error) {
	plain, err := migrate.Value[bool](ctx, client, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1 AND NOT rolsuper)", owner)
	if err != nil {
		return nil, err
	}
	var findings []migrate.Finding
	to := " OWNER TO " + pgx.Identifier{owner}.Sanitize()
	others, err := s.owned(ctx, client, beside, named)
	if err != nil {
		return nil, err
	}
	for _, other := range others {
		if other.account == owner || !plain && !named { // a superuser is to give the installation away, and not to get the schema
			continue
		}
		finding := migrate.Finding{
			Part: migrate.PartOwners, Name: other.thing, Problem: fmt.Sprintf("belongs to %s, and the installation to %s", other.account, owner),
		}
		if named {
			finding.Mend = []string{"ALTER " + other.thing + to}
		} else {
			finding.Statement = "ALTER " + strings.Replace(other.thing, "schema", "SCHEMA", 1) + to
		}
		findings = append(findings, finding)
	}
	routines, err := s.owned(ctx, client, superusers)
	owned := map[string][]string{}
	for _, routine := range routines {
		owned[routine.account] = append(owned[routine.account], routine.thing)
	}
	for _, account := range slices.Sorted(maps.Keys(owned)) {
		finding := migrate.Finding{
			Part: migrate.PartOwners, Name: "role " + account,
			Problem: fmt.Sprintf("is a superuser, and owns %d of the SECURITY DEFINER routines, which are a way to all its rights",
				len(owned[account])),
			NeedsOwner: !plain,
		}
		if plain {
			finding.Statement = "ALTER ROUTINE " + strings.Join(owned[account], to+"; ALTER ROUTINE ") + to
		}
		findings = append(findings, finding)
	}
	return findings, err
}

// owned is a thing and the account that owns it, or that may make it.
type owned struct{ account, thing string }

// owned returns the things that a query returns, by account.
func (s site) owned(ctx context.Context, client migrate.Client, query string, args ...any) ([]owned, error) {
	fields := func(o *owned) []any { return []any{&o.account, &o.thing} }
	things, err := migrate.Read(ctx, client, fields, query, append([]any{s.Schema}, args...)...)
	slices.SortStableFunc(things, byAccount)
	return things, err
}

func byAccount(a, b owned) int { return strings.Compare(a.account, b.account) }

// foreign finds what is not ours in the schema: a routine of a name of ours, whoever owns it, and every object of others.
func (s site) foreign(
	ctx context.Context, client migrate.Client, want migrate.Installation, owner string, routines map[string]installed,
) ([]migrate.Finding, error) {
	ours := migrate.TableNames(want.Tables)
	for _, text := range slices.Concat(want.Routines, want.Views) {
		ours = append(ours, text.Name)
	}
	routines = maps.Clone(routines)
	for _, routine := range want.Routines {
		delete(routines, signatureOf(routine))
	}
	others, err := s.owned(ctx, client, strangers, owner, strings.Join(ours, " "))
	if err != nil {
		return nil, err
	}
	for _, signature := range slices.Sorted(maps.Keys(routines)) {
		if name, _, _ := strings.Cut(signature, "("); slices.Contains(ours, name) {
			others = append(others, owned{routines[signature].owner, "routine " + s.Schema + "." + signature})
		}
	}
	slices.SortStableFunc(others, byAccount)
	var findings []migrate.Finding
	for _, other := range others {
		kind, identity, _ := strings.Cut(other.thing, " ")
		findings = append(findings, migrate.Finding{
			Part: migrate.PartRoutines, Name: other.thing, Problem: "is not of applock, and belongs to " + other.account,
			Statement: "DROP " + strings.ToUpper(kind) + " " + identity,
		})
	}
	return findings, nil
}
