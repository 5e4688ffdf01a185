package scenario

import (
	"maps"
	"slices"
	"strings"
)

// longestName is how many characters a type of object has at most, and a program.
const longestName = 64

// Scratch returns the steps that can be played where others have their locks: those of a scenario for the façade, up to
// the first that turns the clock. A step that names no type of object is left out, because it would meet the rows of
// others: a list of everything, a purge. The types and the programs of the steps begin with prefix instead, so that their
// order stays what it is.
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

// isBlank reports whether a name is none: a prefix would make it one.
func isBlank(name string) bool { return strings.TrimRight(name, " ") == "" }

// scratch puts prefix before the types and the programs that a step names, and those that its answer has.
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

// Types returns the types of objects that a step names.
func (s Step) Types() []string {
	var types []string
	for name, value := range s.Args {
		if isType(name) {
			types = append(types, value)
		}
	}
	return types
}

// isType reports whether an argument is a type of object. A renewal has several, and the place where a page begins has one.
func isType(argument string) bool { return strings.Contains(argument, "_type") }

// scratchName puts prefix before a name, or in the place of as many characters where the name would be too long.
func scratchName(prefix, name string) string {
	characters := []rune(name)
	if len(prefix)+len(characters) > longestName {
		characters = characters[min(len(prefix), len(characters)):]
	}
	return prefix + string(characters)
}

// scratchObject does the same with the type of what is written TYPE:ID.
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
