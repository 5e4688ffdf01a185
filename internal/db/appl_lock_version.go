package db

func applLockVersion() Operation {
	return Operation{
		Name:    "appl_lock_version",
		Summary: "The version of the installed contract.",
		Answers: []Answer{remark("a whole number")},
		Version: true,
	}
}

// ApplLockVersionResult is the answer of appl_lock_version.
type ApplLockVersionResult struct {
	Version int
}

// Columns returns the one column of the answer, for Row.
func (r *ApplLockVersionResult) Columns() []any { return []any{&r.Version} }
