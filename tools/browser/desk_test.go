// Package browser_test plays a supervisor's day at the console, in a real browser: make test-console.
package browser_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/jackc/pgx/v5"
)

// dayLimit bounds a test: a page that never comes shall not keep anybody. pageLimit bounds what is waited for, however busy the
// machine is.
const (
	dayLimit  = 15 * time.Minute
	pageLimit = 5 * time.Minute
)

// desk is a database of its own, with a console as a process.
type desk struct {
	program, dsn, listen, address string
	// flags are those of the console.
	flags   []string
	console *exec.Cmd
	// tokens let browsers in where nobody signs in, each once: the console prints the next one when one is used. Nil where people sign in.
	tokens chan string
}

// newDesk serves a new SQLite file, by the program that make builds before.
func newDesk(t *testing.T) *desk {
	t.Helper()
	return newDeskOn(t, "sqlite:"+filepath.Join(t.TempDir(), "applock.db"), "--by", "mlee", "--may-change", "mlee")
}

// newDeskOn serves a new database, with flags of the console.
func newDeskOn(t *testing.T, dsn string, flags ...string) *desk {
	t.Helper()
	d := &desk{program: "../../bin/applockctl", dsn: dsn, listen: "127.0.0.1:0", flags: flags}
	d.run(t, "migrate", "up")
	d.serve(t)
	t.Cleanup(func() { d.stop() })
	return d
}

func (d *desk) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, d.program, append(args, "--timeout", pageLimit.String())...)
	command.Env = append(os.Environ(), "APPLOCK_DSN="+d.dsn, "APPLOCK_OPERATOR=", "APPLOCK_DEPARTMENT=")
	return command
}

// run runs a command whose answer is yes.
func (d *desk) run(t *testing.T, args ...string) string {
	t.Helper()
	output, err := d.command(t.Context(), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("applockctl %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return string(output)
}

// serve begins to serve, at a free address the first time, and at the same one from then on.
func (d *desk) serve(t *testing.T) {
	t.Helper()
	d.console = d.command(context.WithoutCancel(t.Context()), append([]string{"console", "--listen", d.listen, "--output", "json"}, d.flags...)...)
	d.starts(t)
}

// starts starts the console, and reads where it serves.
func (d *desk) starts(t *testing.T) {
	t.Helper()
	stdout, err := d.console.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := d.console.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.console.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		complaints, _ := io.ReadAll(stderr)
		d.stop()
		t.Fatalf("the console does not start: %s", complaints)
	}
	var answer struct{ Address, Listen string }
	if err := json.Unmarshal(line, &answer); err != nil {
		t.Fatal(err)
	}
	_, token, tokened := strings.Cut(answer.Address, "?token=")
	d.address, d.listen, d.tokens = "http://"+answer.Listen+"/", answer.Listen, nil
	if tokened {
		d.tokens = make(chan string, 100) // more than a test has browsers
		d.tokens <- token
	}
	go keepTokens(stderr, d.tokens)
}

// keepTokens reads what a console says until its end, and keeps the tokens of the addresses.
func keepTokens(stderr io.Reader, tokens chan<- string) {
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if _, token, found := strings.Cut(lines.Text(), "?token="); found {
			tokens <- token
		}
	}
}

func (d *desk) stop() {
	_ = d.console.Process.Signal(os.Interrupt)
	_ = d.console.Wait()
}

// postgres returns the DSN of a database of its own.
func postgres(t *testing.T) string {
	t.Helper()
	server := os.Getenv("APPLOCK_TEST_POSTGRES_DSN")
	if server == "" {
		t.Fatal("there is no PostgreSQL: run make test-console, which starts one")
	}
	address, err := url.Parse(server)
	if err != nil {
		t.Fatal("the DSN is no URL")
	}
	name := "b" + strings.ToLower(rand.Text()[:20])
	execute(t, server, "CREATE DATABASE "+name)
	address.Path = "/" + name
	return address.String()
}

// execute runs SQL past the program.
func execute(t *testing.T, dsn, statements string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // also at the end of a test
	connection, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close(ctx) }()
	if _, err := connection.Exec(ctx, statements); err != nil {
		t.Fatal(err)
	}
}

// browser returns the browser that is installed.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("APPLOCK_TEST_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no chromium: install Debian's package of that name, or say where one is by APPLOCK_TEST_CHROMIUM")
	return ""
}

// networkName is this host's name in the browser's network. Browsers trust 127.0.0.1 and localhost more than such a name.
const networkName = "locks.intern"

// person is somebody in front of a browser.
type person struct {
	ctx context.Context
	// in are the consoles that have let this browser in.
	in map[*exec.Cmd]bool
}

// newPerson opens a browser. What it complains about fails the test.
func newPerson(t *testing.T, more ...chromedp.ExecAllocatorOption) person {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browser(t)), chromedp.NoSandbox, chromedp.WindowSize(1280, 900), chromedp.Flag("lang", "en-GB"),
		chromedp.Flag("host-resolver-rules", "MAP "+networkName+" 127.0.0.1"),
		// What drives the browser loses sight of a page that comes back from there.
		chromedp.Flag("disable-features", "BackForwardCache,Translate"), chromedp.WSURLReadTimeout(pageLimit))
	bounded, cancel := context.WithTimeout(t.Context(), dayLimit)
	t.Cleanup(cancel)
	allocator, cancel := chromedp.NewExecAllocator(bounded, append(options, more...)...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator, chromedp.WithBrowserOption(chromedp.WithDialTimeout(pageLimit)))
	t.Cleanup(cancel)
	chromedp.ListenTarget(ctx, func(event any) {
		switch event := event.(type) {
		case *log.EventEntryAdded:
			// That the console was away, and that it refuses, is what some tests do. By plain HTTP and another name than localhost browsers
			// leave out one header.
			if event.Entry.Source != log.SourceNetwork && !strings.HasPrefix(event.Entry.Text, "The Cross-Origin-Opener-Policy header has been ignored") {
				t.Errorf("the browser says: %s", event.Entry.Text)
			}
		case *runtime.EventExceptionThrown:
			t.Errorf("the script fails: %s", event.ExceptionDetails.Error())
		case *page.EventJavascriptDialogOpening:
			t.Errorf("something runs: %s", event.Message)
		}
	})
	p := person{ctx: ctx, in: map[*exec.Cmd]bool{}}
	p.do(t, log.Enable(), page.Enable(), emulation.SetTimezoneOverride("Asia/Tokyo"))
	return p
}

func (p person) do(t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(p.ctx, actions...); err != nil {
		var text string
		_ = chromedp.Run(p.ctx, chromedp.Text("body", &text, chromedp.ByQuery))
		t.Fatalf("%v; the page is:\n%s", err, text)
	}
}

// awaits waits until a script's expression is true, also on a page that is only coming.
func (p person) awaits(t *testing.T, expression string) {
	t.Helper()
	ask := time.NewTicker(100 * time.Millisecond)
	defer ask.Stop()
	limit := time.After(pageLimit)
	for {
		var met bool
		if err := chromedp.Run(p.ctx, chromedp.Evaluate(expression, &met)); err == nil && met {
			return
		}
		select {
		case <-ask.C:
		case <-limit:
			p.do(t, chromedp.ActionFunc(func(context.Context) error { return errors.New("never: " + expression) }))
		case <-p.ctx.Done():
			t.Fatalf("%v: never: %s", context.Cause(p.ctx), expression)
		}
	}
}

// awaitsWaiter has somebody wait for an object until the end of the test, and opens the page that shows it.
func (p person) awaitsWaiter(t *testing.T, d *desk, object, operator string) {
	t.Helper()
	waiter := d.command(t.Context(), "get", object, "--operator", operator, "--department", "sales", "--wait", "1h")
	if err := waiter.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = waiter.Process.Kill(); _ = waiter.Wait() })
	p.opens(t, d, "waiters")
	p.has(t, "1 waiting", operator)
}

// literal is a text in a script.
func literal(text string) string {
	quoted, _ := json.Marshal(text) // a text can be written
	return string(quoted)
}

// has waits until the page has a text.
func (p person) has(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		p.awaits(t, "document.body !== null && document.body.innerText.includes("+literal(text)+")")
	}
}

// lacks waits until the main part of the page does not have a text.
func (p person) lacks(t *testing.T, text string) {
	t.Helper()
	p.awaits(t, "!document.getElementById('content').innerText.includes("+literal(text)+")")
}

// stays returns a function that fails the test if the page has been loaded again.
func (p person) stays(t *testing.T) func() {
	t.Helper()
	p.do(t, chromedp.Evaluate("window.same = true", nil))
	return func() {
		t.Helper()
		if !asks[bool](t, p, "window.same === true") {
			t.Error("the page was loaded again as a whole")
		}
	}
}

// asks returns what an expression is.
func asks[T any](t *testing.T, p person, expression string) T {
	t.Helper()
	var value T
	p.do(t, chromedp.Evaluate(expression, &value))
	return value
}

// presses presses the button of a form, and waits for the page behind it.
func (p person) presses(t *testing.T, selector string) {
	t.Helper()
	p.awaits(t, "document.querySelector("+literal(selector)+") !== null") // the page before may still be there
	p.do(t, chromedp.Evaluate("window.before = true", nil))
	p.follows(t, selector)
	p.awaits(t, "window.before === undefined && document.readyState === 'complete'")
}

// follows clicks on what may be another element at any time, when the page looks again.
func (p person) follows(t *testing.T, selector string) {
	t.Helper()
	p.awaits(t, "document.querySelector("+literal(selector)+") !== null")
	p.leaves(t, "document.querySelector("+literal(selector)+").click()")
}

// leaves runs a script that goes to another page, after its own answer: what drives the browser loses that with the page.
func (p person) leaves(t *testing.T, script string) {
	t.Helper()
	p.do(t, chromedp.Evaluate("setTimeout(() => { "+script+" }); 0", nil))
}

// opens goes to a page of the console.
func (p person) opens(t *testing.T, d *desk, address string) {
	t.Helper()
	if d.tokens != nil && !p.in[d.console] {
		p.in[d.console] = true
		p.do(t, chromedp.Navigate(d.address+"?token="+<-d.tokens))
	}
	p.do(t, chromedp.Navigate(d.address+address))
}

// shoots keeps a picture of the whole page, where APPLOCK_TEST_PICTURES says.
func (p person) shoots(t *testing.T, name string) {
	t.Helper()
	folder := os.Getenv("APPLOCK_TEST_PICTURES")
	if folder == "" {
		return
	}
	var picture []byte
	p.do(t, chromedp.FullScreenshot(&picture, 100))
	if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644); err != nil {
		t.Fatal(err)
	}
}

// plans fills in a form that hands over, also to somebody whom nobody knows, and returns the page of the plan.
func (p person) plans(t *testing.T, d *desk, address, to string) string {
	t.Helper()
	p.opens(t, d, address)
	p.do(t, chromedp.SendKeys("#to", to, chromedp.ByQuery), chromedp.SendKeys("#reason", "month-end", chromedp.ByQuery))
	p.presses(t, theButton)
	if asks[bool](t, p, "document.querySelector('[name=unknown]:not([type=hidden])') !== null") {
		p.do(t, chromedp.Click("[name=unknown]", chromedp.ByQuery))
		p.presses(t, theButton)
	}
	p.has(t, "Who is notified")
	return p.page(t, d)
}

// page returns where the browser is, below the console.
func (p person) page(t *testing.T, d *desk) string {
	t.Helper()
	return strings.TrimPrefix(asks[string](t, p, "location.href"), d.address)
}

// axe returns what axe-core finds in a page, targets that are too small included.
func (p person) axe(t *testing.T) []string {
	t.Helper()
	path := os.Getenv("APPLOCK_TEST_AXE")
	if path == "" {
		t.Fatal("there is no axe-core: run make test-console, which fetches it, or say where axe.min.js is by APPLOCK_TEST_AXE")
	}
	script, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const findings = `axe.run(document, {resultTypes: ["violations"], rules: {"target-size": {enabled: true}}}).then((found) => found.violations
		.map((one) => "axe: " + one.id + ": " + one.help + ": " + one.nodes.map((node) => node.html.slice(0, 80)).join(" ")))`
	var faults []string
	p.do(t, chromedp.Evaluate(string(script)+";0", nil), chromedp.Evaluate(findings, &faults, func(params *runtime.EvaluateParams) *runtime.EvaluateParams {
		return params.WithAwaitPromise(true)
	}))
	return faults
}
