package db

import (
	"database/sql"
	"fmt"
	"time"
)

// UTC returns a sql.Scanner for a timestamp without a time zone. The value is UTC even if the caller's pool uses another zone or returns
// text. NULL is the zero time.
func UTC(dest *time.Time) sql.Scanner { return utc{dest} }

// Moment is a timestamp column in a row type of sqlc.
type Moment struct{ time.Time }

// Scan implements sql.Scanner.
func (m *Moment) Scan(value any) error { return UTC(&m.Time).Scan(value) }

type utc struct{ time *time.Time }

// Scan implements sql.Scanner.
func (u utc) Scan(value any) error {
	switch value := value.(type) {
	case nil:
		*u.time = time.Time{}
		return nil
	case time.Time:
		*u.time = time.Date(value.Year(), value.Month(), value.Day(),
			value.Hour(), value.Minute(), value.Second(), value.Nanosecond(), time.UTC)
		return nil
	case []byte:
		parsed, err := time.Parse("2006-01-02 15:04:05.999999", string(value))
		*u.time = parsed
		return err
	}
	return fmt.Errorf("timestamp of type %T", value)
}
