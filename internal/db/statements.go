package db

import (
	"regexp"
	"sync"
)

// Statements name the schema in the statements that sqlc has made, which has to write them without one: so neither a caller's pool nor a
// caller's transaction needs a search_path of ours. Each is qualified once, when it is first needed. It is safe for concurrent use.
type Statements struct {
	schema    string
	mutex     sync.RWMutex
	qualified map[string]string
}

// NewStatements returns the statements in a schema, which CheckSchema has passed; empty is where a connection is.
func NewStatements(schema string) *Statements {
	return &Statements{schema: schema, qualified: map[string]string{}}
}

// ours is the name of a view or a routine where a statement reads or calls it: all of them, and no column, have appl_lock in them there.
var ours = regexp.MustCompile(`\b(FROM|JOIN|LATERAL|CALL) (\w*appl_lock\w*)`)

// Qualified returns a statement with the schema.
func (s *Statements) Qualified(statement string) string {
	if s.schema == "" {
		return statement
	}
	s.mutex.RLock()
	text, ok := s.qualified[statement]
	s.mutex.RUnlock()
	if ok {
		return text
	}
	text = ours.ReplaceAllString(statement, "${1} "+s.schema+".${2}")
	s.mutex.Lock()
	s.qualified[statement] = text
	s.mutex.Unlock()
	return text
}
