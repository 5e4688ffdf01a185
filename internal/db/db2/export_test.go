package db2

// InterpretError is interpretError, for the contract suite.
func InterpretError(err error) error { return interpretError(err) }
