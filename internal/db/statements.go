package db

import (
	"regexp"
	"sync"
)

// Statements adds the schema to the statements that sqlc makes without one, so that neither a caller's pool nor his transaction needs our
// search_path. Each statement is qualified once, on first use. It is safe for concurrent use.
type Statements struct {
	schema    string
	rewrite   func(statement string) string
	mutex     sync.RWMutex
	qualified map[string]string
}

// NewStatements returns the statements for a schema that CheckSchema has passed; empty for the connection's own.
func NewStatements(schema string) *Statements {
	return &Statements{schema: schema, rewrite: func(statement string) string { return statement }, qualified: map[string]string{}}
}

// Rewritten returns the same statements, each with a change that is made once, before it is qualified.
func (s *Statements) Rewritten(rewrite func(statement string) string) *Statements {
	rewritten := NewStatements(s.schema)
	rewritten.rewrite = rewrite
	return rewritten
}

// ours matches our views and routines in a statement. All their names have appl_lock in them, and no column stands behind these words.
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
	text = ours.ReplaceAllString(s.rewrite(statement), "${1} "+s.schema+".${2}")
	s.mutex.Lock()
	s.qualified[statement] = text
	s.mutex.Unlock()
	return text
}
