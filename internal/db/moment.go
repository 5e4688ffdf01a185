package db

import (
	"fmt"
	"time"
)

// Moment is a time in UTC, read from a column without a time zone. It is UTC even if the caller's pool uses another zone or returns text.
// NULL is the zero time, and a number is microseconds.
type Moment struct{ time.Time }

// Scan implements sql.Scanner.
func (m *Moment) Scan(value any) error {
	switch value := value.(type) {
	case nil:
		m.Time = time.Time{}
		return nil
	case int64:
		*m = AtMicro(value)
		return nil
	case time.Time:
		m.Time = time.Date(value.Year(), value.Month(), value.Day(),
			value.Hour(), value.Minute(), value.Second(), value.Nanosecond(), time.UTC)
		return nil
	case []byte:
		parsed, err := time.Parse("2006-01-02 15:04:05.999999", string(value))
		m.Time = parsed
		return err
	}
	return fmt.Errorf("timestamp of type %T", value)
}

// AtMicro returns the moment so many microseconds after 1970.
func AtMicro(microseconds int64) Moment { return Moment{time.UnixMicro(microseconds).UTC()} }
