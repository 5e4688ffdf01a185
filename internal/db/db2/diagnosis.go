package db2

// Diagnosis is what Db2 says about an error.
type Diagnosis struct {
	// State is the SQLSTATE, Code the SQLCODE.
	State string
	Code  int
	// Text is the message, which names both.
	Text string
}
