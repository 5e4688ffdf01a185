package main

import (
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/applock/applock/applock"
)

// longestWait is what a call may wait: a client that waits longer for an answer may give up.
const longestWait = 60

// mostRows is how many rows of a list one answer has.
const mostRows = 200

// limit adds to the schema of an input what a Go type does not say: a model sees the limits before it calls.
func (l locks) limit(schema *jsonschema.Schema) {
	one, most := 1.0, func(number int64) *float64 { limit := float64(number); return &limit }
	for name, property := range schema.Properties {
		switch name {
		case "object":
			length, longest := 3, applock.MaxObjectTypeLength+1+applock.MaxObjectIDLength
			property.Pattern, property.MinLength, property.MaxLength = `^[^:]+:.+$`, &length, &longest
			property.Examples = []any{"file:src/main.go", "ticket:42"}
		case "fence", "expected_fence":
			property.Minimum = &one
		case "ttl_seconds":
			property.Minimum, property.Maximum = &one, most(int64(l.longestTTL.Seconds()))
		case "max_wait_seconds":
			property.Minimum, property.Maximum = &one, most(longestWait)
		case "limit":
			property.Minimum, property.Maximum = &one, most(mostRows)
		case "answer":
			property.Enum = []any{string(applock.AnswerGive), string(applock.AnswerLater), string(applock.AnswerNo)}
		case "note", "message", "reason":
			longest := applock.MaxNoteLength
			property.MaxLength = &longest
		}
	}
}
