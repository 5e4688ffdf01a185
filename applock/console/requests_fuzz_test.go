package console

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/applock/applock/applock/console/internal/access"
)

// Goal: no address and no form, however odd, makes the console fail, runs in a page, or touches a lock whose fence it does not
// name. Method: what the fuzzer thinks of, sent by somebody who may change everything, and a look at the lock.
func FuzzRequests(f *testing.F) {
	for _, path := range []string{
		"", "locks", "history", "policies", "object", "operator", "desk", "ask", "waiters", "statistics", "health", "plan", "answer", "script.js", "../object", "nonsense\x00",
	} {
		f.Add(false, path, "name=customer%3A42&sort=left&after=customer%3A1&older=1d&within=1h&id=x&q=42&skip=1&since=1d", "")
	}
	for _, verb := range access.Changes() {
		f.Add(false, verb, "name=customer:42", "")
		f.Add(false, verb, "desk=JDOE", "")
		f.Add(true, verb, "", "lock=1+JDOE+customer%3A42&to=ASMITH&department=CS&reason=%3Cscript%3E&unknown=ASMITH&confirmed=1")
		f.Add(true, verb, "name=customer:42", "lock=-9223372036854775808+JDOE+customer%3A42&reason=x&confirmed=1")
		f.Add(true, verb, "", "desk=JDOE&type=customer&after=customer%3A1&next=customer%3A2&to=ASMITH&reason=x&old=y&carry=yes&confirmed=1")
	}
	for _, path := range []string{"ask", "withdraw", "respond", "get"} {
		f.Add(true, path, "", "name=customer%3A42&message=%3Cscript%3E&wait=1h&client=console")
		f.Add(true, path, "", "lock=1+MLEE+customer%3A42&asker=BROWN&client=x&answer=GIVE&reason=%3Cscript%3E")
	}
	f.Add(true, "release", "%zz=%", "fence=%zz&&&;=\xff")
	d := newDesk(f, supervisor())
	held := d.get(f, "customer:42", "JDOE", 24*time.Hour)
	object := held.Object
	f.Fuzz(func(t *testing.T, post bool, path, query, body string) {
		method := http.MethodGet
		if post {
			method = http.MethodPost
		}
		r := request(method, "/", body)
		r.URL = &url.URL{Scheme: "http", Host: r.Host, Path: "/" + path, RawQuery: query}
		r.RequestURI = r.URL.RequestURI()
		w := d.do(r)
		if w.Code == http.StatusInternalServerError || attacked(w.Body.String()) {
			t.Errorf("%s %s: status %d: %s", method, r.URL, w.Code, w.Body)
		}
		lock, err := d.client.Inquire(t.Context(), object)
		if err != nil {
			t.Fatal(err)
		}
		if lock.Owner != held.Owner || lock.Fence != held.Fence || lock.Note != "" {
			t.Fatalf("%s %s with %q has changed the lock: %+v", method, r.URL, body, lock)
		}
	})
}
