package db2

// InterpretError is interpretError, for the contract suite.
func InterpretError(err error) error { return interpretError(err) }

// Fold is fold.
func Fold(script string, columns int) string { return fold(script, columns) }

// AnswerOf is answerOf, for tests that call the procedures with bare SQL.
func AnswerOf(err error) (Diagnosis, bool) { return answerOf(err) }
