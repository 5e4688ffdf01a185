package console

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// Goal: no address and no form, however odd, makes the console fail, runs in a page, or touches a lock whose fence it does not
// name. Method: what the fuzzer thinks of, sent by somebody who may change everything, and a look at the lock.
func FuzzRequests(f *testing.F) {
	for _, path := range []string{
		"", "locks", "history", "policies", "object", "operator", "waiters", "statistics", "health", "plan", "answer", "changes", "script.js", "../object", "nonsense\x00",
	} {
		f.Add(false, path, "name=customer%3A42&sort=left&after=customer%3A1&older=1d&within=1h&seen=1&id=x&topics=list&q=42&skip=1&since=1d", "")
	}
	for _, verb := range verbNames() {
		f.Add(false, verb, "name=customer:42", "")
		f.Add(true, verb, "", "name=customer%3A42&holder=JDOE&fence=1&to=ASMITH&department=CS&reason=%3Cscript%3E")
		f.Add(true, verb, "name=customer:42", "name=customer%3A42&holder=JDOE&fence=-9223372036854775808&confirmed=1")
	}
	for _, verb := range deskVerbs() {
		f.Add(false, verb.name, "operator=JDOE", "")
		f.Add(true, verb.name, "", "operator=JDOE&to=ASMITH&sum=0&confirmed=1&count=1")
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
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if path == "changes" {
			cancel() // which is a stream without an end
		}
		w := d.do(r.WithContext(ctx))
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
