package weblock_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock/weblock"
)

// Goal: what does not come from a page of this site, or from nobody who is signed in, changes nothing. Method: requests as browsers send them for
// other sites, and some that no page sends; each is a problem.
func TestForeignRequests(t *testing.T) {
	t.Parallel()
	o := newOffice(t, weblock.Config{})
	const whole = `{"object_type": "customer", "object_id": "42", "client_id": "a"}`
	for name, of := range map[string]struct {
		method, path, body string
		header             map[string]string
		status             int
	}{
		"of another site":          {header: map[string]string{"Sec-Fetch-Site": "cross-site"}, status: 403},
		"of another host's name":   {header: map[string]string{"Sec-Fetch-Site": "same-site"}, status: 403},
		"of an old browser":        {header: map[string]string{"Sec-Fetch-Site": "", "Origin": "https://evil.example"}, status: 403},
		"of a form":                {header: map[string]string{"Content-Type": "text/plain"}, status: 415},
		"of nobody":                {header: map[string]string{"Session": ""}, status: 401},
		"by GET":                   {method: http.MethodGet, status: 405},
		"to no route":              {path: "/release", status: 404},
		"longer than a page's":     {body: `{"object_type": "` + strings.Repeat("x", 64<<10) + `"}`, status: 413},
		"without JSON":             {body: `{"object_type": 1}`, status: 400},
		"without an object":        {body: `{"client_id": "a"}`, status: 400},
		"with a type of two":       {body: strings.ReplaceAll(whole, "customer", "customer:1"), status: 400},
		"with a control character": {body: strings.ReplaceAll(whole, "42", `4\n2`), status: 400},
		"without the page's name":  {body: strings.ReplaceAll(whole, `"a"`, `""`), status: 400},
		"with a long page name":    {body: strings.ReplaceAll(whole, `"a"`, `"`+strings.Repeat("a", 65)+`"`), status: 400},
		"with a fence of words":    {body: strings.ReplaceAll(whole, `"a"`, `"a", "fence": "x"`), status: 400},
		"with a time of words":     {body: strings.ReplaceAll(whole, `"a"`, `"a", "acquired_ts": "x"`), status: 400},
	} {
		if of.method == "" {
			of.method = http.MethodPost
		}
		if of.path == "" {
			of.path = "/open"
		}
		if of.body == "" {
			of.body = whole
		}
		request := httptest.NewRequest(of.method, of.path, strings.NewReader(of.body))
		for key, value := range map[string]string{"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin", "Session": "JDOE"} {
			if foreign, is := of.header[key]; is {
				value = foreign
			}
			request.Header.Set(key, value)
		}
		request.Header.Set("Origin", of.header["Origin"])
		recorded := httptest.NewRecorder()
		o.handler.ServeHTTP(recorded, request)
		if recorded.Code != of.status || recorded.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("a request %s: %d %s, want %d", name, recorded.Code, recorded.Body, of.status)
		}
		if lock := o.lock(t); lock.Fence != 0 {
			t.Fatalf("a request %s has got %+v", name, lock)
		}
	}
}

// Goal: nobody answers, keeps, stops or shortens in another's name, whatever the page says. Method: BROWN with JDOE's fence.
func TestInAnothersName(t *testing.T) {
	t.Parallel()
	o := newOffice(t, weblock.Config{})
	jdoe, brown := o.tab("JDOE", "a"), o.tab("BROWN", "b")
	jdoe.is(t, "open", nil, 200, "ACQUIRED", "JDOE")
	before := o.lock(t)
	stolen := keys{"fence": jdoe.fence, "acquired_ts": jdoe.acquired, "operator_id": "JDOE", "holder_id": "JDOE", "asker_id": "BROWN", "answer": "GIVE", "reason": "x"}
	brown.is(t, "ask", keys{"message": "x"}, 200, "ASKED", "JDOE")
	for route, status := range map[string]int{"answer": 409, "beat": 409, "take": 403, "stop": 200, "leave": 200, "open": 409} {
		if got, told := brown.sends(t, route, stolen); got != status {
			t.Errorf("%s: %d %v, want %d", route, got, told, status)
		}
		if lock := o.lock(t); lock != before {
			t.Errorf("%s has made %+v of %+v", route, lock, before)
		}
	}
}

// Goal: one person's requests are limited, and nobody else's are by that. Method: a burst, and a minute of virtual time, in which nothing but the
// sign-in and the limit is asked.
func TestLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handler := weblock.New(nil, weblock.Config{Owner: owner})
		sent := func(person string, times int) (allowed int) {
			for range times {
				request := httptest.NewRequest(http.MethodPost, "/open", strings.NewReader("no JSON"))
				request.Header.Set("Content-Type", "application/json")
				request.Header.Set("Session", person)
				recorded := httptest.NewRecorder()
				handler.ServeHTTP(recorded, request)
				switch {
				case recorded.Code == http.StatusBadRequest:
					allowed++
				case recorded.Code != http.StatusTooManyRequests || recorded.Header().Get("Retry-After") == "":
					t.Fatalf("%d %v", recorded.Code, recorded.Header())
				}
			}
			return allowed
		}
		got := fmt.Sprint(sent("JDOE", 100), sent("BROWN", 1))
		time.Sleep(time.Second)
		got += fmt.Sprint(" ", sent("JDOE", 100))
		time.Sleep(time.Minute)
		got += fmt.Sprint(" ", sent("JDOE", 100))
		if got != "60 1 5 60" {
			t.Errorf("allowed are %s", got)
		}
	})
}
