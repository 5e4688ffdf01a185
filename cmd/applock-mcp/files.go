package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/applock/applock/applock"
)

// fileType is the type of the objects whose spelling --repository sets. The hooks of docs/agents use it, too.
const fileType = "file"

// files says how files are spelled: file:NAME/PATH, where the path begins in the top folder of the repository.
type files struct {
	// name is what everybody calls the repository. Without it no spelling is enforced.
	name string
	// top is the working tree in which this server runs, with its links resolved. Empty: there is none.
	top string
}

// filesOf returns the spelling of a repository. It looks for the working tree from a folder upwards; by HTTP there is no folder.
func filesOf(name, folder string) (files, error) {
	if name != "" && (path.Clean(name) != name || !filepath.IsLocal(name) || name == ".") {
		return files{}, &applock.InvalidError{Argument: "--repository", Reason: "must be a name such as shop, without . and .. and a slash at an end"}
	}
	f := files{name: name}
	for ; folder != "" && folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if _, err := os.Lstat(filepath.Join(folder, ".git")); err == nil {
			f.top, err = filepath.EvalSymlinks(folder)
			return f, err
		}
	}
	return f, nil
}

// example is an object as an agent should spell it.
func (f files) example() string {
	if f.name == "" {
		return "ticket:42"
	}
	return fileType + ":" + f.name + "/src/main.go"
}

// rule is the spelling, for the instructions.
func (f files) rule() string {
	if f.name == "" {
		return ""
	}
	return fmt.Sprintf("\n8. Each file has one name: file:%s/PATH, with the path from the top folder of the repository as its folders spell it, such as\n   %s. "+
		"Never write ./, ../, an absolute path or a link: another spelling is refused, or is another object.", f.name, f.example())
}

// object reads TYPE:ID, and refuses a file that is spelled otherwise than everybody else does.
func (f files) object(named string) (applock.Object, error) {
	object, err := applock.ParseObject(named)
	if err != nil || f.name == "" || !strings.EqualFold(object.Type, fileType) {
		return object, err
	}
	spelled := applock.Object{Type: fileType, ID: f.spelled(object.ID)}
	if spelled == object {
		return object, nil
	}
	reason := fmt.Sprintf("is %q, and files are file:%s/PATH here, with the path from the top folder of the repository", named, f.name)
	if spelled.ID != "" {
		reason += fmt.Sprintf(": write %q", spelled)
	}
	return applock.Object{}, &applock.InvalidError{Argument: "Object", Reason: reason}
}

// spelled returns the one id of a file, and nothing where the id names no file of the repository.
func (f files) spelled(id string) string {
	id = path.Clean(strings.ReplaceAll(id, `\`, "/"))
	if filepath.IsAbs(id) && f.top != "" {
		if within, err := filepath.Rel(f.top, id); err == nil {
			id = filepath.ToSlash(within)
		}
	}
	id = strings.TrimPrefix(id, f.name+"/")
	if !filepath.IsLocal(id) || id == "." || id == f.name {
		return ""
	}
	return f.name + "/" + f.onDisk(id)
}

// onDisk returns a path as the folders of the working tree have it, without links. Names that differ only in case are one file on many
// systems. A name that does not exist yet stays as it is.
func (f files) onDisk(id string) string {
	if f.top == "" {
		return id
	}
	at := f.top
	for name := range strings.SplitSeq(id, "/") {
		entries, _ := os.ReadDir(at) // of a new folder there are none
		same := func(e os.DirEntry) bool { return e.Name() == name }
		if !slices.ContainsFunc(entries, same) {
			if i := slices.IndexFunc(entries, func(e os.DirEntry) bool { return strings.EqualFold(e.Name(), name) }); i >= 0 {
				name = entries[i].Name()
			}
		}
		at = filepath.Join(at, name)
		if real, err := filepath.EvalSymlinks(at); err == nil {
			at = real
		}
	}
	within, err := filepath.Rel(f.top, at)
	if err != nil || !filepath.IsLocal(within) {
		return id
	}
	return filepath.ToSlash(within)
}

// prefix refuses a prefix below which no file can be.
func (f files) prefix(prefix string) error {
	all := fileType + ":" + f.name + "/"
	if f.name == "" || !strings.HasPrefix(prefix, fileType+":") || strings.HasPrefix(prefix, all) || strings.HasPrefix(all, prefix) {
		return nil
	}
	return &applock.InvalidError{Argument: "Prefix", Reason: fmt.Sprintf("must begin with %q, as all files do here", all)}
}
