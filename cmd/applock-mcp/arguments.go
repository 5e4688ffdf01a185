package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// argumentsOf reads the arguments of a call. What the schema does not allow is refused in words: the library's errors print the schema.
func argumentsOf[In any](text json.RawMessage, schema *jsonschema.Schema) (in In, err error) {
	if len(text) == 0 {
		text = json.RawMessage("{}")
	}
	var given map[string]any
	if err := json.Unmarshal(text, &given); err != nil {
		return in, &failure{text: "the arguments are no JSON object. Nothing has changed."}
	}
	if wrong := complaint(schema, given); wrong != "" {
		return in, &failure{text: wrong + ". Nothing has changed."}
	}
	return in, json.Unmarshal(text, &in)
}

// complaint names the first argument that a schema refuses, and what it must be. It is empty if there is none.
func complaint(schema *jsonschema.Schema, given map[string]any) string {
	known := slices.Sorted(maps.Keys(schema.Properties))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if schema.Properties[name] == nil {
			return fmt.Sprintf("%q is no argument of this tool, which has: %s", name, strings.Join(known, ", "))
		}
	}
	for _, name := range known {
		value, is := given[name]
		if !is && slices.Contains(schema.Required, name) {
			return fmt.Sprintf("%s is missing: %s", name, schema.Properties[name].Description)
		}
		if is && !allows(schema.Properties[name], value) {
			return fmt.Sprintf("%s must be %s", name, wanted(schema.Properties[name]))
		}
	}
	return ""
}

func allows(schema *jsonschema.Schema, value any) bool {
	resolved, err := schema.CloneSchemas().Resolve(nil)
	return err == nil && resolved.Validate(value) == nil
}

// wanted says in words what a schema allows.
func wanted(schema *jsonschema.Schema) string {
	switch {
	case len(schema.Enum) > 0:
		return "one of " + strings.Trim(fmt.Sprint(schema.Enum), "[]")
	case schema.Items != nil:
		return fmt.Sprintf("a list of 1 to %d entries, each %s", *schema.MaxItems, wanted(schema.Items))
	case schema.Pattern != "":
		return fmt.Sprintf("one line TYPE:ID, such as %s, of at most %d characters", schema.Examples[0], *schema.MaxLength)
	case schema.MaxLength != nil:
		return fmt.Sprintf("a text of at most %d characters", *schema.MaxLength)
	case schema.Type == "integer" && schema.Maximum != nil:
		return fmt.Sprintf("a whole number from %.0f to %.0f", *schema.Minimum, *schema.Maximum)
	case schema.Type == "integer":
		return fmt.Sprintf("a whole number of at least %.0f", *schema.Minimum)
	case schema.Type == "boolean":
		return "true or false"
	}
	return "a text"
}
