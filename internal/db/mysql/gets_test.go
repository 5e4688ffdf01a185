package mysql_test

import (
	"errors"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/applock/applock/internal/testing/contract"
)

const getsCall = "CALL get_appl_lock_rows(?)"

// Goal: a malformed list of gets is refused before anything is taken, where JSON_TABLE would convert it. Method: each list has one fault,
// behind a good get.
func TestRefusedGets(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		const good = `{"object_type":"customer","object_id":"1","operator_id":"JDOE","department_id":"CS","ttl_seconds":60}`
		for name, gets := range map[string]any{
			"NULL":               nil,
			"empty":              "",
			"one get":            good,
			"open":               "[" + good,
			"number as id":       "[" + good + "," + strings.Replace(good, `"1"`, "1", 1) + "]",
			"list as id":         "[" + good + "," + strings.Replace(good, `"1"`, `["1"]`, 1) + "]",
			"number as operator": "[" + good + "," + strings.Replace(good, `"JDOE"`, "7", 1) + "]",
			"text as ttl":        "[" + good + "," + strings.Replace(good, "60", `"60"`, 1) + "]",
			"half a second":      "[" + good + "," + strings.Replace(good, "60", "0.5", 1) + "]",
			"too many":           "[" + strings.Repeat(good+",", 10000) + good + "]",
		} {
			_, err := contract.RowsByColumn(t.Context(), place.SQL, getsCall, gets)
			var answer *driver.MySQLError
			if !errors.As(err, &answer) || string(answer.SQLState[:]) != "LK001" || contract.RefusedParameter(answer.Message) != "p_gets" {
				t.Errorf("%s: %v, want LK001 of p_gets", name, err)
			}
		}
		if count := value(t, place.SQL, "SELECT COUNT(*) FROM appl_lock"); count != "0" {
			t.Errorf("%s locks were taken", count)
		}
		_, err := contract.RowsByColumn(t.Context(), place.SQL, getsCall, "["+strings.Replace(good, `"object_id":"1",`, "", 1)+"]")
		var answer *driver.MySQLError
		if !errors.As(err, &answer) || contract.RefusedParameter(answer.Message) != "p_object_id" {
			t.Errorf("a get without an id: %v, want what get_appl_lock says of it", err)
		}
	})
}
