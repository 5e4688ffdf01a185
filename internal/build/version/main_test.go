package main

import "testing"

// Goal: everything has the version of CHANGELOG.md. Method: what would be written is what is there.
func TestEveryPlaceHasTheVersion(t *testing.T) {
	t.Parallel()
	err := eachPlace("../../..", func(path, old, written string) error {
		if old != written {
			t.Errorf("%s has another version than CHANGELOG.md: run make generate", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
