package main

import (
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/applock/applock/applock"
)

// longestWait is the longest wait of a call, in seconds. Clients may time out after more.
const longestWait = 60

const mostRows = 200

// mostObjects is how many objects a call may name.
const mostObjects = 100

// limit adds limits to the schema of an input that its Go type cannot express, so that a model sees them before it calls.
func (l locks) limit(schema *jsonschema.Schema) {
	one, most := 1.0, func(number int64) *float64 { limit := float64(number); return &limit }
	named := func(property *jsonschema.Schema) {
		length, longest := 3, applock.MaxObjectTypeLength+1+applock.MaxObjectIDLength
		property.Pattern, property.MinLength, property.MaxLength = `^[^:]+:.+$`, &length, &longest
		property.Examples = []any{l.files.example()}
	}
	for name, property := range schema.Properties {
		switch name {
		case "object":
			named(property)
		case "objects":
			fewest, longest := 1, mostObjects
			property.Types, property.Type, property.MinItems, property.MaxItems = nil, "array", &fewest, &longest
			named(property.Items)
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
