package db2

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/applock/applock/internal/db"
)

const (
	// maxGrants and maxBytes limit p_grants.
	maxGrants = 1000
	maxBytes  = 32000
)

// RenewApplLocks calls renew_appl_locks, more than once for more grants than fit into p_grants.
func (d *Driver) RenewApplLocks(ctx context.Context, params db.RenewApplLocksParams) ([]db.RenewedGrant, error) {
	grants := slices.SortedFunc(slices.Values(params.Grants), compareKeys)
	var renewed []db.RenewedGrant
	for len(grants) > 0 {
		count := fitting(grants)
		answers, err := d.renew(ctx, grants[:count])
		if err != nil {
			return nil, err
		}
		renewed = append(renewed, answers...)
		grants = grants[count:]
	}
	return renewed, nil
}

// renew renews the grants of one call. At a lock that another transaction is changing, Db2 ends the call and rolls it back. Then renew
// tries each half, down to that single lock, which gets no answer. Inside a caller's transaction the caller gets the error: Db2 has rolled
// that transaction back.
func (d *Driver) renew(ctx context.Context, grants []db.RenewableGrant) ([]db.RenewedGrant, error) {
	renewed, err := d.renewAtOnce(ctx, grants)
	switch {
	case !isUndone(err) || d.tx != nil:
		return renewed, err
	case len(grants) == 1:
		return nil, nil
	}
	half := len(grants) / 2
	first, err := d.renew(ctx, grants[:half])
	if err != nil {
		return nil, err
	}
	second, err := d.renew(ctx, grants[half:])
	if err != nil {
		return nil, err
	}
	return append(first, second...), nil
}

func (d *Driver) renewAtOnce(ctx context.Context, grants []db.RenewableGrant) ([]db.RenewedGrant, error) {
	var document strings.Builder
	for _, grant := range grants {
		document.WriteString(fieldsOf(grant))
	}
	return db.Rows(ctx, d.call, "renew_appl_locks", []any{document.String()}, (*db.RenewedGrant).Columns)
}

// compareKeys sorts grants into the order in which calls lock their rows.
func compareKeys(a, b db.RenewableGrant) int {
	return cmp.Or(cmp.Compare(a.ObjectType, b.ObjectType), cmp.Compare(a.ObjectID, b.ObjectID))
}

// fitting returns how many of the grants fit into one call.
func fitting(grants []db.RenewableGrant) int {
	bytes := 0
	for i, grant := range grants {
		bytes += len(fieldsOf(grant))
		if i == maxGrants || i > 0 && bytes > maxBytes {
			return i
		}
	}
	return len(grants)
}

// fieldsOf encodes a grant for p_grants: each field as its number of characters, a colon, and the characters.
func fieldsOf(grant db.RenewableGrant) string {
	var text strings.Builder
	for _, field := range []string{
		grant.ObjectType, grant.ObjectID, grant.OperatorID,
		strconv.FormatInt(grant.Fence, 10), strconv.FormatInt(grant.TTLSeconds, 10),
	} {
		text.WriteString(strconv.Itoa(utf8.RuneCountInString(field)) + ":" + field)
	}
	return text.String()
}
