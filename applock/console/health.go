package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/console/internal/pages"
)

// Check is a line of the page on health.
type Check struct {
	// Name says what is checked.
	Name string
	// Run returns the line's text, and an error if something is wrong: ErrNotChecked if it could not look, which is neither good nor bad.
	// Without a text the page shows the error in general words.
	Run func(ctx context.Context) (string, error)
}

// ErrNotChecked is what [Check.Run] returns if the product, or the rights of the database user, do not let it look.
var ErrNotChecked = errors.New("not checked")

// checked is the result of a check.
type checked struct {
	Name, Text string
	// State is the name of its text: well, bad or unchecked.
	State string
}

// healthPage makes all checks.
func (s *site) healthPage(ctx context.Context, _ access.Visitor, _ url.Values) (pages.View, error) {
	checks := append([]Check{
		{Name: s.pages.Text("check.server"), Run: func(ctx context.Context) (string, error) {
			server, err := s.client.Ping(ctx)
			return strings.TrimSpace(server.Product + " " + server.Version), err
		}},
		{Name: s.pages.Text("check.contract"), Run: func(ctx context.Context) (string, error) {
			installed, err := s.client.Version(ctx)
			return fmt.Sprintf(s.pages.Text("check.contract.said"), installed, applock.ContractVersion), err
		}},
	}, s.config.Checks...)
	v := pages.View{Template: "health", Title: s.pages.Text("title.health"), Here: "health"}
	var lines []checked
	for _, check := range checks {
		line := s.checkedBy(ctx, check)
		if line.State == "health.bad" {
			v.Status = http.StatusServiceUnavailable
		}
		lines = append(lines, line)
	}
	v.Data = lines
	return v, nil
}

func (s *site) checkedBy(ctx context.Context, check Check) checked {
	text, err := check.Run(ctx)
	line := checked{Name: check.Name, Text: text, State: "health.well"}
	switch {
	case err == nil:
		return line
	case errors.Is(err, ErrNotChecked):
		line.State = "health.unchecked"
		return line
	}
	line.State = "health.bad"
	if text == "" {
		_, line.Text = s.pages.Explain(err)
	}
	return line
}
