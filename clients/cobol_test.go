package clients_test

import "strings"

// compileCOBOL is the command that makes a program of a source, of what it says itself about the driver, if anything, and of
// the library. What is called is linked, not looked up at run time: some linkers drop a library that only the latter needs.
func compileCOBOL(d driver, name, program string) []string {
	words := []string{"cobc", "-x", "-fstatic-call", "-o", program, name + ".cob"}
	if name == "player" {
		words = append(words, "player-"+d.name+".cob")
	}
	return append(words, "applock-"+d.name+".cob", "-l"+strings.TrimPrefix(d.name, "lib"))
}
