package readme

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// unavailable is the exit code of run.py if it cannot get its modules.
const unavailable = 69

// Python runs a module of tools/python/requirements.txt with input, and returns its whole output and its exit code. root is the path to
// the repository. Without the module the test is skipped, or fails in CI.
func Python(t testing.TB, root, input, module string, arguments ...string) (output string, code int) {
	t.Helper()
	script := filepath.Join(root, "tools", "python", "run.py")
	command := exec.CommandContext(t.Context(), "python3", append([]string{script, module}, arguments...)...) //nolint:gosec // a file of the repository
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
