// Package visible writes text so that it cannot steer what shows it.
package visible

import (
	"strconv"
	"strings"
	"unicode"
)

// Text returns the text with each character that does not print as an escape, such as \u202e or \n: a terminal would obey it, and a
// page would not show it, or turn the words around it.
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
