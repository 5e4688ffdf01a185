package scenario

import (
	"maps"
	"slices"
	"strings"
)

// longestName is the longest name of a type or of a program.
const longestName = 64

// Scratch returns the steps that can be played in a database in use: those of a scenario for the façade, up to the first that turns the
// clock. A step without a type of object is skipped, because it would touch others' rows: a list of everything, a purge. All types and
// programs begin with prefix instead, so their order stays the same.
func (s Scenario) Scratch(prefix string) []Step {
	if len(s.Via) > 0 && !slices.Contains(s.Via, "facade") {
		return nil
	}
	var steps []Step
	for _, step := range s.Steps {
		if step.Operation == "advance" {
			break
		}
		objectType, isTyped := step.Args["object_type"]
		if isTyped && isBlank(objectType) || isBlank(objectType+step.Args["client_id"]) {
			continue
		}
		steps = append(steps, step.scratch(prefix))
	}
	return steps
}

// isBlank reports whether a name is blank. A prefix would make it valid.
func isBlank(name string) bool { return strings.TrimRight(name, " ") == "" }

// scratch puts prefix before the types and programs in a step and its answer.
func (s Step) scratch(prefix string) Step {
	s.Args, s.Words, s.Terms = maps.Clone(s.Args), slices.Clone(s.Words), slices.Clone(s.Terms)
	for name, value := range s.Args {
		if isType(name) || strings.HasSuffix(name, "client_id") {
			s.Args[name] = scratchName(prefix, value)
		}
	}
	for i, word := range s.Words {
		s.Words[i] = scratchObject(prefix, word)
		if kind, rest, found := strings.Cut(word, "/"); found && (s.Operation == "events" || s.Operation == "inbox") {
			s.Words[i] = kind + "/" + scratchObject(prefix, rest)
		}
		if key, client, found := cutLast(s.Words[i], "/"); found && client != "" && slices.Contains([]string{"waiters", "asking", "viewers", "see"}, s.Operation) {
			s.Words[i] = key + "/" + scratchName(prefix, client)
		}
		if objectType, rest, found := strings.Cut(word, "/"); found && (s.Operation == "stats" || s.Operation == "policies") {
			s.Words[i] = scratchName(prefix, objectType) + "/" + rest
		}
	}
	for i, term := range s.Terms {
		s.Terms[i].Value = scratchObject(prefix, term.Value)
	}
	return s
}

// Types returns the types of objects in a step.
func (s Step) Types() []string {
	var types []string
	for name, value := range s.Args {
		if isType(name) {
			types = append(types, value)
		}
	}
	return types
}

// isType reports whether an argument is a type of object. A renewal has several, and the start of a page has one.
func isType(argument string) bool { return strings.Contains(argument, "_type") }

// scratchName puts prefix before a name. If the result is too long, it replaces the name's first characters.
func scratchName(prefix, name string) string {
	characters := []rune(name)
	if len(prefix)+len(characters) > longestName {
		characters = characters[min(len(prefix), len(characters)):]
	}
	return prefix + string(characters)
}

// scratchObject does so with the type in TYPE:ID.
func scratchObject(prefix, text string) string {
	objectType, id, found := strings.Cut(text, ":")
	if !found {
		return text
	}
	return scratchName(prefix, objectType) + ":" + id
}

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}
