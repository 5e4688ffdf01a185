package clients_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// browser stands for a browser and its server: it shows each request and what the page is told.
const browser = `
const listeners = {};
globalThis.document = { hidden: false, addEventListener: (name, listener) => { listeners[name] = listener; } };
globalThis.addEventListener = (name, listener) => { listeners[name] = listener; };
const timers = [];
globalThis.setTimeout = (again, after) => timers.push([again, after]);
globalThis.clearTimeout = () => {};
const told = (text) => text.replace(/"client":"[0-9a-f-]{36}"/, '"client":"TAB"');
let reachable = true;
globalThis.fetch = async (url, { body }) => {
  if (!reachable) throw new TypeError("no network");
  console.log(url + " " + told(body));
  return { json: async () => ({ present: [{ kind: "HOLDER" }], notices: [{ next_position: "7,9" }] }) };
};
Object.defineProperty(globalThis, "navigator", { value: { sendBeacon: (url, body) => console.log(url + " " + told(body)) } });
const settled = () => new Promise((resolve) => setImmediate(resolve));
`

// played is a day in the life of a tab.
const played = `
const tab = heartbeat("case:4711", (present, notices) => console.log("shows " + JSON.stringify(present) + " " + notices.length));
await settled();
const [again, after] = timers.at(-1);
console.log("again after " + after);
tab.edit(true); await settled();
document.hidden = true; listeners.visibilitychange(); await settled();
document.hidden = false; reachable = false; again(); await settled();
reachable = true; again(); await settled();
listeners.pagehide();
`

// Goal: the heartbeat of docs/presence.md says what the tab does, goes on after the network was away, asks for notices behind the last ones, and says
// that it leaves. Method: node runs the block with a browser of ours, in which no time passes.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	withLanguage(t, "node", runHeartbeat)
}

func runHeartbeat(t *testing.T, _ string) {
	t.Helper()
	page, err := os.ReadFile("../docs/presence.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```js\n(.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("the page has no block of js")
	}
	script := filepath.Join(t.TempDir(), "heartbeat.mjs")
	if err := os.WriteFile(script, []byte(browser+string(block[1])+played), 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := exec.CommandContext(t.Context(), "node", script).CombinedOutput()
	const shows = `shows [{"kind":"HOLDER"}] 1` + "\n"
	asks := func(state, after string) string {
		return `/presence {"object":"case:4711","client":"TAB","state":` + state + `,"position":` + after + "}\n"
	}
	want := asks(`"VIEWING"`, `""`) + shows + "again after 15000\n" + asks(`"EDITING"`, `"7,9"`) + shows + asks(`"IDLE"`, `"7,9"`) + shows +
		"shows null 0\n" + asks(`"EDITING"`, `"7,9"`) + shows + asks("null", `"7,9"`)
	if err != nil || string(output) != want {
		t.Errorf("%v, the tab says\n%s\nwant\n%s", err, output, want)
	}
}
