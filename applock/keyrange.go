package applock

import (
	"strings"
	"unicode/utf8"
)

// keyRange is the part of the order of keys in which the selected objects lie. The zero value is all of it.
type keyRange struct {
	// objectType is the type that the objects have, empty when they differ in it.
	objectType string
	// begin is what the ids begin with, or the types where these differ.
	begin string
	// exact selects the one object whose id is begin.
	exact bool
}

// checkKeys returns where the objects of a type lie, or one object, or those that begin with prefix.
func checkKeys(objectType, objectID, prefix string) (keyRange, error) {
	var keys keyRange
	var err error
	if keys.objectType, err = checkAnyType(objectType); err != nil {
		return keyRange{}, err
	}
	switch {
	case prefix != "" && (objectType != "" || objectID != ""):
		return keyRange{}, &InvalidError{Argument: "Prefix", Reason: "already names the type: leave out type and id"}
	case prefix != "":
		return checkPrefix(prefix)
	case objectID != "" && objectType == "":
		return keyRange{}, &InvalidError{Argument: "ObjectType", Reason: "must not be empty where there is an id"}
	case objectID != "":
		keys.exact = true
		keys.begin, err = checkText("ObjectID", objectID, MaxObjectIDLength)
	}
	return keys, err
}

// checkPrefix returns where the objects lie whose TYPE:ID begins with prefix. Its blanks at the end count.
func checkPrefix(prefix string) (keyRange, error) {
	objectType, id, typeEnds := strings.Cut(prefix, ":")
	if !typeEnds {
		_, err := checkName("Prefix", objectType, MaxObjectTypeLength)
		return keyRange{begin: objectType}, err
	}
	keys := keyRange{begin: id}
	var err error
	if keys.objectType, err = checkObjectType("Prefix", objectType); err != nil {
		return keyRange{}, err
	}
	_, err = checkName("Prefix", id, MaxObjectIDLength)
	return keys, err
}

// after returns the key behind which the range lies, with as little as possible in between.
func (k keyRange) after() (objectType, id string) {
	switch {
	case k.begin == "":
		return "", ""
	case k.objectType == "":
		return sortsBefore(k.begin, MaxObjectTypeLength), ""
	default:
		return k.objectType, sortsBefore(k.begin, MaxObjectIDLength)
	}
}

// startAfter returns the key behind which a list begins: that of the object, or where the range lies if there is none.
func (k keyRange) startAfter(object Object) (objectType, id string, err error) {
	if object == (Object{}) {
		objectType, id = k.after()
		return objectType, id, nil
	}
	return checkAfter(object)
}

// checkAfter checks an object to go on behind, which may be left out.
func checkAfter(after Object) (objectType, id string, err error) {
	var c checks
	objectType = c.text(checkOptionalText("After.Type", after.Type, MaxObjectTypeLength))
	return objectType, c.text(checkOptionalText("After.ID", after.ID, MaxObjectIDLength)), c.err
}

// contains reports whether an object of the type is selected.
func (k keyRange) contains(object Object) bool {
	if k.exact {
		return object.ID == k.begin
	}
	return strings.HasPrefix(k.part(object), k.begin)
}

// endsAt reports whether no object behind this one is selected.
func (k keyRange) endsAt(object Object) bool {
	part := k.part(object)
	if !strings.HasPrefix(part, k.begin) {
		return part > k.begin
	}
	return k.exact
}

// part is what of an object is compared with begin.
func (k keyRange) part(object Object) string {
	if k.objectType == "" {
		return object.Type
	}
	return object.ID
}

// sortsBefore returns a text of at most maxLength characters that sorts before all that begin with prefix, and behind
// nearly all that sort before them.
func sortsBefore(prefix string, maxLength int) string {
	last, size := utf8.DecodeLastRuneInString(prefix)
	if last <= 1 {
		return "" // nothing does
	}
	// Only ASCII is added: a database need not have other characters.
	text := prefix[:len(prefix)-size] + string(min(last, '\x7f')-1)
	if utf8.RuneCountInString(text) < maxLength {
		text += "~"
	}
	return text
}
