package readme

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// unavailable is the exit code of run.py where it cannot have its modules.
const unavailable = 69

// Python runs a module of tools/python/requirements.txt and returns all that it prints and its exit code. Where it cannot be
// had the test is skipped, or fails in CI. The test's folder is one of docs/.
func Python(t testing.TB, input string, module string, arguments ...string) (output string, code int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "python3", append([]string{"../../tools/python/run.py", module}, arguments...)...)
	command.Stdin = strings.NewReader(input)
	text, err := command.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit) && exit.ExitCode() != unavailable:
		code = exit.ExitCode()
	case os.Getenv("CI") != "":
		t.Fatalf("%s cannot be had: %v\n%s", module, err, text)
	default:
		t.Skipf("%s cannot be had: %v\n%s", module, err, text)
	}
	return string(text), code
}
