//go:build linux

package clusters_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// killedVariable has a test start its cluster and wait for its end.
	killedVariable = "APPLOCK_TEST_CLUSTERS_KILLED"

	// startedMark begins the line that names the folders of a cluster which has started.
	startedMark = "cluster started: "
)

// leavesNothing checks that of a test which is killed no process is left, and no folder. Method: this program runs the same test once
// more, which starts a cluster then and names its folders; it is killed with SIGKILL.
func leavesNothing(t *testing.T, start func(t *testing.T) (folders []string)) {
	t.Helper()
	if os.Getenv(killedVariable) != "" {
		_, err := os.Stdout.WriteString(startedMark + strings.Join(start(t), " ") + "\n")
		if err != nil {
			t.Fatal(err)
		}
		<-t.Context().Done()
		return
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), hangLimit)
	defer cancel()
	command := exec.CommandContext(ctx, program, "-test.count=1", "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), killedVariable+"=1")
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	folders := startedIn(t, output)
	before := processesBelow(folders)
	if len(before) == 0 {
		t.Errorf("no process runs in %v: the test shows nothing", folders)
	}
	_ = command.Process.Kill()
	_ = command.Wait() // it was killed
	for left(folders) {
		if ctx.Err() != nil {
			t.Fatalf("of %v, which were %v, there is left %v", folders, before, processesBelow(folders))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// startedIn reads until a test has named the folders of its cluster.
func startedIn(t *testing.T, output io.Reader) []string {
	t.Helper()
	lines := bufio.NewScanner(output)
	var all []string
	for lines.Scan() {
		if folders, found := strings.CutPrefix(lines.Text(), startedMark); found {
			return strings.Fields(folders)
		}
		all = append(all, lines.Text())
	}
	t.Fatalf("the cluster never starts: %v\n%s", lines.Err(), strings.Join(all, "\n"))
	return nil
}

// left reports whether there is a process or a folder.
func left(folders []string) bool {
	for _, folder := range folders {
		if _, err := os.Stat(folder); err == nil {
			return true
		}
	}
	return len(processesBelow(folders)) > 0
}

// processesBelow are those whose directory is in one of the folders.
func processesBelow(folders []string) []string {
	var found []string
	paths, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, path := range paths {
		at, err := os.Readlink(path)
		if err != nil {
			continue
		}
		for _, folder := range folders {
			if at == folder || strings.HasPrefix(at, folder+"/") || strings.HasPrefix(at, folder+" ") {
				found = append(found, filepath.Base(filepath.Dir(path)))
			}
		}
	}
	return found
}

// Goal of these: a test of a cluster that is killed leaves nothing.

func TestPatroniKilled(t *testing.T) {
	leavesNothing(t, func(t *testing.T) []string {
		t.Helper()
		return []string{newPatroni(t, true).folder}
	})
}

func TestPgpoolKilled(t *testing.T) {
	leavesNothing(t, func(t *testing.T) []string {
		t.Helper()
		p := newPgpooled(t)
		p.pgpool(t, p.primary, p.standby, "", true)
		return append(p.servers, p.folder)
	})
}

func TestGroupReplicationKilled(t *testing.T) {
	leavesNothing(t, func(t *testing.T) []string {
		t.Helper()
		return foldersOf(newGroup(t))
	})
}

func TestReplicationKilled(t *testing.T) {
	leavesNothing(t, func(t *testing.T) []string {
		t.Helper()
		p := newPair(t)
		p.follow(t)
		return foldersOf([]*mysqlNode{p.primary, p.replica})
	})
}

func TestGaleraKilled(t *testing.T) {
	leavesNothing(t, func(t *testing.T) []string {
		t.Helper()
		return foldersOf(newGalera(t, 3))
	})
}

func foldersOf(nodes []*mysqlNode) []string {
	folders := []string{filepath.Dir(nodes[0].program.fresh)}
	for _, n := range nodes {
		folders = append(folders, n.folder)
	}
	return folders
}
