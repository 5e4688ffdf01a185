package secret

import (
	"io"
	"log/slog"
)

// Logger writes records of this level and above as text. It redacts secrets in strings and errors.
func Logger(to io.Writer, level slog.Level) *slog.Logger {
	redact := func(_ []string, attribute slog.Attr) slog.Attr {
		if err, ok := attribute.Value.Any().(error); ok {
			attribute.Value = slog.StringValue(Redact(err.Error()))
		} else if attribute.Value.Kind() == slog.KindString {
			attribute.Value = slog.StringValue(Redact(attribute.Value.String()))
		}
		return attribute
	}
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: level, ReplaceAttr: redact}))
}
