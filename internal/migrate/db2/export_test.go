package db2

// Fold is fold.
func Fold(script string, columns int) string { return fold(script, columns) }
