package clients_test

import (
	"archive/zip"
	"context"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/internal/scenario"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testdb"
)

// javaBlocks is how many blocks of Java's pages are not run, but compared by TestJavaPagesShowTestedCode.
const javaBlocks = 5

func javaLanguage() *language {
	mysqlAndMariaDB := []string{onMariaDB, onMySQL}
	return &language{
		folder: "java", extension: "java",
		command: func(_, program string) []string { return []string{"java", program} },
		opening: "import io.github.applock.*;\nimport java.sql.*;\nimport java.time.*;\nimport java.util.*;\n" +
			"class Page {\npublic static void main(String[] args) throws Exception {\n",
		closing:  "}\n}\n",
		compared: javaBlocks,
		environment: func(tools string) []string {
			jars, err := os.ReadFile(filepath.Join(tools, "java/jars"))
			if err != nil {
				panic(err) // clients/install has not done its work
			}
			return []string{"CLASSPATH=" + string(jars)}
		},
		drivers: []driver{
			{name: "pgjdbc", products: []string{onPostgres}},
			{name: "mariadb-java-client", products: mysqlAndMariaDB},
			{name: "mysql-connector-j", products: mysqlAndMariaDB},
		},
	}
}

// Goal: the library of Java and its locks for ShedLock, for Spring Integration and under Derby keep what they promise, with the libraries
// and the drivers of clients/java/tests/pom.xml, and with the least versions that the page names. Method: Maven runs their tests against the
// jars of clients/java/package, on a database of each product.
func TestJavaLibrary(t *testing.T) {
	t.Parallel()
	tools := testdb.Clients(t)
	places := environment()
	for _, product := range products() {
		places = append(places, newPlace(t, product).jdbc()...)
	}
	least := []string{
		"-Dspring-integration.version=6.0.9", "-Dspring.version=6.0.14", "-Dshedlock.version=5.16.0",
		"-Dtest=ApplLockRegistryTest,ApplLockProviderTest*",
	}
	for _, options := range [][]string{nil, least} {
		maven := exec.CommandContext(t.Context(), "mvn", append(options, "-q", "-B", "-f", "java/tests/pom.xml", "surefire:test",
			"-Dapplock.repository="+filepath.Join(tools, "java/repository"), "-Dapplock.build="+filepath.Join(tools, "java/build"))...)
		maven.Env = places
		if output, err := maven.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", strings.Join(options, " "), err, output)
		}
	}
}

// Goal: the jars have what Maven Central and a module path want: a name, the license, sources and documentation. Method: look into those that
// clients/java/package has made.
func TestJavaArtifacts(t *testing.T) {
	t.Parallel()
	repository, version := filepath.Join(testdb.Clients(t), "java/repository/io/github/applock"), packageVersion(t)
	for artifact, module := range map[string]string{
		"applock-core": "io.github.applock", "applock-spring": "io.github.applock.spring", "applock-shedlock": "io.github.applock.shedlock",
	} {
		base := filepath.Join(repository, artifact, version, artifact+"-"+version)
		classes := strings.ReplaceAll(module, ".", "/") + "/"
		for suffix, files := range map[string][]string{
			".jar":         {"META-INF/LICENSE", classes + "package-info.class"},
			"-sources.jar": {"META-INF/LICENSE", classes + "package-info.java"},
			"-javadoc.jar": {module + "/" + classes + "package-summary.html"},
		} {
			content := unzipped(t, base+suffix)
			for _, file := range files {
				if _, found := content[file]; !found {
					t.Errorf("%s%s has no %s", artifact, suffix, file)
				}
			}
			named := strings.Contains(content["META-INF/MANIFEST.MF"], "Automatic-Module-Name: "+module+"\r\n")
			if suffix == ".jar" && !named {
				t.Errorf("%s is not the module %s", artifact, module)
			}
		}
	}
	parent, err := os.ReadFile(filepath.Join(repository, "applock-parent", version, "applock-parent-"+version+".pom"))
	if err != nil {
		t.Fatal(err)
	}
	for _, wanted := range []string{"<license>", "<developer>", "<scm>", "<description>", "<url>"} {
		if !strings.Contains(string(parent), wanted) {
			t.Errorf("the POM has no %s", wanted)
		}
	}
}

// unzipped is what a jar has, by name.
func unzipped(t *testing.T, jar string) map[string]string {
	t.Helper()
	archive, err := zip.OpenReader(jar)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	content := map[string]string{}
	for _, file := range archive.File {
		text, err := fs.ReadFile(archive, file.Name)
		if err != nil && !file.FileInfo().IsDir() {
			t.Fatal(err)
		}
		content[file.Name] = string(text)
	}
	return content
}

// Goal: on Apache Derby the statements of DerbyLocks answer as the procedures of the servers do. Method: the scenarios, through the player of
// Java. What is not there is left out: a file is played to its first change of many, permit, actor or reason, on which the rest depends.
func TestDerbyScenarios(t *testing.T) {
	t.Parallel()
	player := startPlayer(t, driver{language: javaLanguage(), name: "derby"}, place{})
	execute := player.executor()
	offered := []string{"get", "release", "inquire", "note", "transfer", "list", "purge", "assert", "serialize"}
	ended := false // what this player offers
	contract.Player{
		Execute: func(ctx context.Context, operation string, args scenario.Args) (scenario.Answer, error) {
			told := args["actor_id"] + args["reason"]
			ended = ended || told != "" || slices.Contains([]string{"renew", "permit", "transfers", "releases"}, operation)
			if ended || !slices.Contains(offered, operation) {
				return scenario.Answer{}, scenario.ErrNotOffered
			}
			return execute(ctx, operation, args)
		},
		Empty: func(context.Context) error {
			ended = false
			_, err := player.call("empty", nil, nil)
			return err
		},
		Advance: func(_ context.Context, duration time.Duration) error {
			_, err := player.call("advance", []any{duration.Microseconds()}, nil)
			return err
		},
	}.Play(t)
}

var (
	unrun  = regexp.MustCompile("(?m)(<!-- run: .* -->\n)?^( *)```(java|sql)\n((?s).*?)^ *```$")
	indent = regexp.MustCompile(`(?m)^ +`)
)

// Goal: what the pages show is what is tested, also where it is no program by itself. Method: each block that is not run is, but
// for its indentation, a part of a tested file.
func TestJavaPagesShowTestedCode(t *testing.T) {
	t.Parallel()
	tested := textBelow(t, "java", func(name string) bool { return filepath.Ext(name) == ".java" })
	code := indent.ReplaceAllString(tested, "")
	for page, want := range map[string]int{pagesOf(t, "java"): javaBlocks, textOf(t, "../docs/derby.md"): 5} {
		compared := 0
		for _, found := range unrun.FindAllStringSubmatch(page, -1) {
			if found[1] != "" {
				continue
			}
			compared++
			if block := indent.ReplaceAllString(found[4], ""); !strings.Contains(code, strings.TrimSpace(block)) {
				t.Errorf("no tested file has\n%s", block)
			}
		}
		if compared != want {
			t.Errorf("%.30q: %d blocks are compared, want %d", page, compared, want)
		}
	}
}

// jdbc is the environment that tests/src/test/java/io/github/applock/Server.java reads.
func (p place) jdbc() []string {
	variables := map[string]string{}
	for _, variable := range p.environment {
		name, value, _ := strings.Cut(variable, "=")
		variables[name] = value
	}
	name := "APPLOCK_TEST_JDBC_" + strings.ToUpper(p.product)
	if p.product == onPostgres {
		return []string{
			name + "_URL=" + jdbcURL("postgresql", variables["PGHOST"], variables["PGPORT"], variables["PGDATABASE"]),
			name + "_USER=" + variables["PGUSER"], name + "_PASSWORD=" + variables["PGPASSWORD"],
		}
	}
	return []string{
		name + "_URL=" + jdbcURL(p.product, variables["MYSQL_HOST"], variables["MYSQL_TCP_PORT"], variables["MYSQL_DATABASE"]),
		name + "_USER=" + variables["MYSQL_USER"], name + "_PASSWORD=" + variables["MYSQL_PWD"],
	}
}

func jdbcURL(product, host, port, database string) string {
	return "jdbc:" + (&url.URL{Scheme: product, Host: host + ":" + port, Path: "/" + database}).String()
}
