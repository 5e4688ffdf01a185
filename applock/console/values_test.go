package console

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
)

// turned begins with what would have a browser write the rest from right to left.
const turned = "\u202eABC"

// Goal: no value turns the words around it: each is isolated, and what would turn them is an escape. Method: such characters in each
// value, and what the pages say beside their attributes.
func TestValuesAreIsolated(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	object := applock.Object{Type: "type" + turned, ID: turned}
	owner := applock.Owner{Operator: turned, Department: turned}
	if _, err := d.client.Get(t.Context(), applock.GetRequest{Object: object, Owner: owner, TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if err := d.client.SetPolicy(t.Context(), applock.SetPolicyRequest{Policy: applock.Policy{Type: object.Type}, Actor: "MLEE"}); err != nil {
		t.Fatal(err)
	}
	d.wait(t, object.String(), turned)
	grant, err := d.client.Transfer(t.Context(), applock.TransferRequest{Object: object, From: turned, To: owner, Actor: turned, Reason: turned})
	if err != nil {
		t.Fatal(err)
	}
	d.note(t, grant, turned+"\n"+turned)
	name, operator := url.QueryEscape(object.String()), url.QueryEscape(turned)
	pages := map[string]string{}
	for _, address := range []string{
		"/", "/locks", "/locks?sort=-waiters&q=abc", "/history?operator=" + operator, "/policies", "/object?name=" + name, "/operator?name=" + operator, "/waiters", "/statistics",
		"/transfer?name=" + name, "/take?name=" + name, "/release?name=" + name, "/note?name=" + name,
	} {
		pages[address] = d.see(t, address, http.StatusOK)
	}
	for _, verb := range access.Changes() {
		form := formOf(pages["/"+verb+"?name="+name])
		form.Set("reason", turned+" ")
		form.Set("to", "ASMITH")
		pages["form of "+verb] = d.submit("/"+verb, form).Body.String()
		form.Set("unknown", "ASMITH")
		_, pages["plan of "+verb] = d.follow(t, d.submit("/"+verb, form))
		confirmed := formOf(pages["plan of "+verb])
		confirmed.Set("lock", "1"+confirmed.Get("lock"))
		_, pages["answer of "+verb] = d.follow(t, d.submit("/"+verb, confirmed))
	}
	delete(pages, "form of take") // which ask for nothing more, and are plans
	delete(pages, "form of release")
	delete(pages, "form of note")
	_, pages["plan of a desk"] = d.follow(t, d.submit("/transfer", deskForm(turned, "ASMITH")))
	_, pages["answer on a desk"] = d.follow(t, d.submit("/transfer", formOf(pages["plan of a desk"])))
	for address, page := range pages {
		outside := besideValues(page)
		if strings.ContainsFunc(outside, func(r rune) bool { return unicode.Is(unicode.Cf, r) }) || strings.Contains(outside, `\u202e`) {
			t.Errorf("%s has a value that is not isolated:\n%q\n%s", address, outside, page)
		}
		if !strings.Contains(page, `\u202eABC</bdi>`) {
			t.Errorf("%s does not show the values", address)
		}
	}
}

// besideValues returns what a page says outside of its title, its pictures and what is isolated.
func besideValues(page string) string {
	for _, part := range []string{`(?s)<title>.*?</title>`, `(?s)<svg.*?</svg>`, `<bdi>[^<]*</bdi>`, `(?s)<textarea.*?</textarea>`, `(?s)<[^>]*>`} {
		page = regexp.MustCompile(part).ReplaceAllString(page, "")
	}
	return page
}
