//go:build !db2

package db2

import (
	"errors"
	"strings"
	"testing"
)

// Goal: without IBM's client, the error says how to get it, and an unusable DSN is reported first.
func TestOpenPoolWithoutTheClient(t *testing.T) {
	t.Parallel()
	_, err := openPool("db2://alice:s3cret@127.0.0.1:1/SHOP", 0)
	if err == nil || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "\n") {
		t.Fatalf("error = %v", err)
	}
	for _, want := range []string{"make build-db2", "IBM_DB_HOME", "CGO_ENABLED=1", "go build -tags db2"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %s in it", err, want)
		}
	}
	if _, err := openPool("db2://alice:s3cret@127.0.0.1/SHOP?Security=TLS", 0); err == nil || !strings.Contains(err.Error(), "option Security") {
		t.Errorf("error = %v, want one about the option", err)
	}
	if diagnosis, found := diagnose(errors.New("SQL0911N")); found {
		t.Errorf("diagnosed %+v", diagnosis)
	}
}
