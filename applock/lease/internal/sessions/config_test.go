package sessions

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
)

// Goal: a configuration is complete or refused. Method: the bounds.
func TestConfig(t *testing.T) {
	t.Parallel()
	checked, err := Config{}.Checked()
	if err != nil || checked.Namespace != "applock" || checked.Sessions != 1 || checked.Grace != 30*time.Second || checked.Logger == nil {
		t.Errorf("the default is %+v, %v", checked, err)
	}
	long := strings.Repeat("x", maxNamespace)
	for _, good := range []Config{{Namespace: long}, {Sessions: maxSessions}, {Grace: minGrace}, {Grace: maxGrace}} {
		if _, err := good.Checked(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	bad := map[string][]Config{
		"namespace": {{Namespace: long + "x"}, {Namespace: "a:b"}},
		"sessions":  {{Sessions: -1}, {Sessions: maxSessions + 1}},
		"grace":     {{Grace: -1}, {Grace: minGrace - 1}, {Grace: maxGrace + 1}},
	}
	for argument, configs := range bad {
		for _, config := range configs {
			var invalid *applock.InvalidError
			if _, err := config.Checked(); !errors.As(err, &invalid) || invalid.Argument != argument {
				t.Errorf("%+v: %v, want %s to be refused", config, err, argument)
			}
		}
	}
}
