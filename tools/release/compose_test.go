package release

import (
	"slices"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// load reads docker-compose.yml as docker compose does, with the services of profiles.
func load(t *testing.T, environment []string, profiles ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{"../../docker-compose.yml"}, cli.WithName("applock"), cli.WithEnv(environment), cli.WithProfiles(profiles))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// Goal: the try-out runs the console of the released image, on this machine only, after the locks are there. Method: what compose reads.
func TestTryOut(t *testing.T) {
	project := load(t, []string{"APPLOCK_VERSION=1.2.3"}, "try")
	console, err := project.GetService("console")
	if err != nil {
		t.Fatal(err)
	}
	if console.Image != "applock/applockctl:1.2.3" {
		t.Errorf("the image is %s", console.Image)
	}
	if len(console.Ports) != 1 || console.Ports[0].HostIP != "127.0.0.1" || console.Ports[0].Target != 8420 || console.Ports[0].Published != "8420" {
		t.Errorf("it publishes %+v", console.Ports)
	}
	people := console.Configs[0]
	if project.Configs[people.Source].Content == "" || people.Mode == nil || *people.Mode != 0o440 || people.GID != "65532" {
		t.Errorf("the file of people is %+v", people)
	}
	for service, waits := range map[string]string{"console": "try-locks", "try-locks": "try-install", "try-install": "postgres"} {
		of, err := project.GetService(service)
		if err != nil || of.DependsOn[waits].Condition == "" {
			t.Errorf("%s does not wait for %s: %v", service, waits, err)
		}
	}
}

// Goal: servers for tests come without the try-out, and the other way round Db2's licence is accepted by nobody. Method: the services of each profile.
func TestProfiles(t *testing.T) {
	for _, test := range []struct {
		profiles []string
		want     []string
	}{
		{nil, []string{"mariadb", "mysql", "postgres", "redis"}},
		{[]string{"try"}, []string{"console", "mariadb", "mysql", "postgres", "redis", "try-install", "try-locks"}},
		{[]string{"db2"}, []string{"db2", "mariadb", "mysql", "postgres", "redis"}},
	} {
		names := load(t, nil, test.profiles...).ServiceNames()
		slices.Sort(names)
		if !slices.Equal(names, test.want) {
			t.Errorf("with the profiles %q: %q, want %q", test.profiles, names, test.want)
		}
	}
}
