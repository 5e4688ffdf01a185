package secret

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// Goal: no line of a log has a password, wherever it stands. Method: a text and an error with one, and a line below the level.
func TestLoggerRedacts(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	logger := Logger(&lines, slog.LevelInfo)
	const dsn = "postgres://app:s3cret@db.example.org/shop"
	logger.Info("open", slog.String("dsn", dsn), slog.Any("error", errors.New("no answer from "+dsn)))
	logger.Debug("silent")
	if text := lines.String(); strings.Contains(text, "s3cret") || strings.Count(text, "db.example.org") != 2 || strings.Contains(text, "silent") {
		t.Errorf("the log is %s", text)
	}
}
