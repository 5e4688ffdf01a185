// Package roles signs people in, and gives them the rights of different database users, as the flags --role and --member say. It is for the
// programs in cmd.
package roles

import (
	"fmt"
	"slices"
	"strings"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/internal/secret"
)

// Roles are what a command line says of roles and their members.
type Roles struct {
	// Names are in the order of the command line: a person with several roles has the first one.
	Names []string
	// files have the DSNs, in the order of Names.
	files   []string
	members map[string][]string
}

// Parse reads roles that are written NAME=FILE, with a DSN in the file, and members that are written PERSON=ROLE. It returns
// applock.ErrInvalid with the flag for other texts.
func Parse(roles, members []string) (Roles, error) {
	parsed := Roles{members: map[string][]string{}}
	for _, text := range roles {
		name, file, _ := strings.Cut(text, "=")
		if name == "" || file == "" || slices.Contains(parsed.Names, name) {
			return Roles{}, &applock.InvalidError{Argument: "--role", Reason: "is written as NAME=FILE, each name once"}
		}
		parsed.Names, parsed.files = append(parsed.Names, name), append(parsed.files, file)
	}
	for _, text := range members {
		person, role, _ := strings.Cut(text, "=")
		if person == "" || !slices.Contains(parsed.Names, role) {
			return Roles{}, &applock.InvalidError{Argument: "--member", Reason: "is written as PERSON=ROLE, with the name of a --role"}
		}
		parsed.members[person] = append(parsed.members[person], role)
	}
	return parsed, nil
}

// Of returns the roles that --member gives a person.
func (r Roles) Of(person string) []string { return r.members[person] }

// First returns the index of the role that a person has here: the first of those that --member or the sign-in names. known is false for
// a person without a role.
func (r Roles) First(person string, signedIn []string) (index int, known bool) {
	index = slices.IndexFunc(r.Names, func(name string) bool {
		return slices.Contains(signedIn, name) || slices.Contains(r.members[person], name)
	})
	return index, index >= 0
}

// Open opens a client for each role, in the order of Names, by the DSN in its file. After an error closing closes those that are open.
func (r Roles) Open(open func(dsn string) (*applock.Client, error), closing func(*applock.Client)) ([]*applock.Client, error) {
	var clients []*applock.Client
	for i, name := range r.Names {
		client, err := openOne(name, r.files[i], open)
		if err != nil {
			for _, client := range clients {
				closing(client)
			}
			return nil, err
		}
		clients = append(clients, client)
	}
	return clients, nil
}

func openOne(name, file string, open func(dsn string) (*applock.Client, error)) (*applock.Client, error) {
	dsn, err := secret.DSNOfFile(file)
	if err != nil {
		return nil, &applock.InvalidError{Argument: "--role", Reason: name + ": " + err.Error()}
	}
	client, err := open(dsn)
	if err != nil {
		return nil, fmt.Errorf("--role %s: %w", name, err)
	}
	return client, nil
}
