// Package visible escapes control characters, so that text cannot change the display that shows it.
package visible

import (
	"strconv"
	"strings"
	"unicode"
)

// Text replaces each unprintable character by an escape, such as \u202e or \n. A terminal would obey it, and a page would hide it or
// reorder the words around it.
func Text(text string) string {
	var shown strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			shown.WriteRune(r)
			continue
		}
		shown.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
	}
	return shown.String()
}
