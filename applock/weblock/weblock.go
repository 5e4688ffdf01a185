// Package weblock locks what is edited in a browser: the lock is taken when the form opens and kept while it is open; others see it, ask for
// it, are given it, or take it with a reason. An application mounts the [Handler], and its pages import the script that the handler serves:
//
//	mux.Handle("/locks/", http.StripPrefix("/locks", weblock.New(client, weblock.Config{Owner: whoHasSignedIn})))
//
// The transaction that saves the form calls [Handler.Assert]. docs/weblock.md has the routes, for servers in other languages.
//
// A page that has lost its lock does not get it again by itself: somebody may have edited meanwhile.
package weblock

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // the script
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/applock/applock/applock"
)

const (
	// lockTTL is how long a lock outlives the last renewal by its page.
	lockTTL = 180 * time.Second
	// leftTTL is how long it outlives a page that was closed or loaded again: more than a beat, so that the next page goes on with the grant.
	leftTTL = 20 * time.Second
	// renewBelow is how much of it is left when a beat renews it: the fifth of a page that is seen, each one of a hidden page.
	renewBelow, renewHiddenBelow = 120 * time.Second, 150 * time.Second
	// hiddenTTL lists a hidden page, which has a beat a minute.
	hiddenTTL = 150 * time.Second
	// timeout bounds the calls to the database of one request, and bodyTime its arrival.
	timeout, bodyTime = 10 * time.Second, 20 * time.Second
	// bodySize and positionSize bound a request, and the position in it.
	bodySize, positionSize = 64 << 10, 32 << 10
)

// Verb is what a page wants to do.
type Verb string

// The verbs.
const (
	VerbSee    Verb = "see"
	VerbEdit   Verb = "edit"
	VerbAsk    Verb = "ask"
	VerbAnswer Verb = "answer"
	VerbTake   Verb = "take"
)

// Config says who asks and what they may do. With its zero value nobody gets in.
type Config struct {
	// Owner returns who has signed in, by the application's own session and never by what the page says. Its error is logged, and the page
	// gets 401. Nil lets nobody in.
	Owner func(*http.Request) (applock.Owner, error)
	// May refuses a verb on an object with an error, whose text the page shows. Nil allows all but VerbTake. Stopping is always allowed.
	May func(*http.Request, applock.Object, Verb) error
	// Logger gets refusals and errors of the database, which pages show only in general; nil logs nothing.
	Logger *slog.Logger
}

// Handler serves the pages of one client. It is safe for concurrent use.
type Handler struct {
	client  *applock.Client
	config  Config
	origins *http.CrossOriginProtection
	limiter *limiter
}

// New returns a handler for any path that ends in a slash. It does not close the client, whose database user needs the role operator, and
// supervisor where people may take.
func New(client *applock.Client, config Config) *Handler {
	if config.Owner == nil {
		config.Owner = func(*http.Request) (applock.Owner, error) { return applock.Owner{}, errNoOwner }
	}
	if config.May == nil {
		config.May = func(_ *http.Request, _ applock.Object, verb Verb) error {
			if verb == VerbTake {
				return errNoTake
			}
			return nil
		}
	}
	config.Logger = cmp.Or(config.Logger, slog.New(slog.DiscardHandler))
	return &Handler{client: client, config: config, origins: http.NewCrossOriginProtection(), limiter: newLimiter()}
}

var (
	errUnmade  = errors.New("weblock: make a handler with New")
	errNoOwner = errors.New("weblock.Config.Owner is not set")
	errNoTake  = errors.New("nobody may take a lock here")
)

//go:embed applock.js
var script []byte

// ServeHTTP serves applock.js and the routes of docs/weblock.md.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
	w.Header().Set("Cache-Control", "no-store")
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "applock.js" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		w.Header().Set("Cache-Control", "no-cache") // but ask whether it is still the same
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(script)))
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(script))
		return
	}
	if h.limiter == nil {
		writeProblem(w, problem{Status: http.StatusInternalServerError, Title: errUnmade.Error()})
		return
	}
	answered, err := h.serve(w, r, name)
	if err != nil {
		h.refuse(w, r, answered, err)
		return
	}
	write(w, "application/json", http.StatusOK, answered.complete())
}

// page is a request of a page.
type page struct {
	request
	object applock.Object
	owner  applock.Owner
	// fence is that of the page's grant; zero for a page that reads.
	fence applock.Fence
	may   func(Verb) error
	// begins is true of a page that has just begun, and reads of one that neither edits nor asks.
	begins, reads bool
}

// request is the body of a request.
type request struct {
	ObjectType string `json:"object_type"`
	ObjectID   string `json:"object_id"`
	// ClientID is the page, by a name that it has made up for itself.
	ClientID string `json:"client_id"`
	// Fence is that of the page's grant, and AcquiredTS the start of the grant that the page knows of, its own or another's.
	Fence      string `json:"fence"`
	AcquiredTS stamp  `json:"acquired_ts"`
	// Hidden is true of a page that nobody sees.
	Hidden   bool   `json:"hidden"`
	Position string `json:"position"`
	// Message and Withdraw are for ask; AskerID, AskerClientID, Answer and Reason for answer; HolderID and Reason for take.
	Message       string            `json:"message"`
	Withdraw      bool              `json:"withdraw"`
	AskerID       string            `json:"asker_id"`
	AskerClientID string            `json:"asker_client_id"`
	Answer        applock.AskAnswer `json:"answer"`
	HolderID      string            `json:"holder_id"`
	Reason        string            `json:"reason"`
}

// route is what a request is for, and the verb that it needs; empty for none.
type route struct {
	verb  Verb
	serve func(context.Context, page) (*answer, error)
}

func (h *Handler) routes() map[string]route {
	return map[string]route{
		"open": {VerbEdit, h.open}, "beat": {VerbSee, h.beat}, "ask": {VerbAsk, h.ask}, "answer": {VerbAnswer, h.answer},
		"take": {VerbTake, h.take}, "leave": {"", h.leave}, "stop": {"", h.stop},
	}
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request, name string) (*answer, error) {
	to := h.routes()[name]
	switch {
	case to.serve == nil:
		return nil, refused(http.StatusNotFound, "There is no such page.", nil)
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		return nil, refused(http.StatusMethodNotAllowed, "Use POST.", nil)
	}
	if err := h.origins.Check(r); err != nil {
		return nil, refused(http.StatusForbidden, "Nothing has happened: a page of another site has sent this request.", err)
	}
	// A form of another site cannot say this type, whatever its browser leaves out.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, refused(http.StatusUnsupportedMediaType, "Send application/json.", nil)
	}
	owner, err := h.config.Owner(r)
	if err != nil {
		return nil, refused(http.StatusUnauthorized, "Nobody is signed in.", err)
	}
	if !h.limiter.allows(owner.Operator) {
		w.Header().Set("Retry-After", "15")
		return nil, refused(http.StatusTooManyRequests, "These are too many requests of one person.", nil)
	}
	p, err := h.read(w, r, owner)
	if err != nil {
		return nil, err
	}
	if to.verb == VerbSee && p.fence != 0 {
		to.verb = VerbEdit // a page whose person may no longer edit does not keep the lock
	}
	if to.verb != "" {
		if err := p.may(to.verb); err != nil {
			return nil, &refusedError{problem{Status: http.StatusForbidden, Title: "You may not do that.", Detail: err.Error()}, err}
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	if name == "leave" || name == "stop" { // the browser does not wait for these
		ctx, cancel = context.WithTimeout(context.WithoutCancel(r.Context()), timeout)
		defer cancel()
	}
	return to.serve(ctx, p)
}

// read returns what the page has sent.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, owner applock.Owner) (page, error) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)) // some writers lack it
	p := page{owner: applock.Owner{Operator: strings.TrimRight(owner.Operator, " "), Department: owner.Department}}
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodySize)).Decode(&p.request)
	if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong {
		return page{}, refused(http.StatusRequestEntityTooLarge, "The request is longer than 64 KB.", nil)
	}
	if err != nil {
		return page{}, refused(http.StatusBadRequest, "This is not the JSON of a page: "+err.Error(), nil)
	}
	p.object = applock.Object{Type: strings.TrimRight(p.ObjectType, " "), ID: strings.TrimRight(p.ObjectID, " ")}
	p.may = func(verb Verb) error { return h.config.May(r, p.object, verb) }
	if strings.TrimRight(p.ClientID, " ") == "" { // before a lock is got
		err = &applock.InvalidError{Argument: "Client", Reason: "must not be empty"}
	}
	if utf8.RuneCountInString(p.ClientID) > applock.MaxClientLength {
		err = &applock.InvalidError{Argument: "Client", Reason: "is longer than 64 characters"}
	}
	if err == nil && p.Fence != "" {
		p.fence, err = fenceOf(p.Fence)
	}
	return p, err
}

func fenceOf(text string) (applock.Fence, error) {
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number < 1 {
		return 0, &applock.InvalidError{Argument: "Fence", Reason: "must be the text of a number of 1 or greater"}
	}
	return applock.Fence(number), nil
}

// FenceHeader and FenceField are the header and the field of a form that have the fence of the page's grant when it saves.
const (
	FenceHeader = "Applock-Fence"
	FenceField  = "applock_fence"
)

// Assert refuses to save for a page whose grant has ended. tx is the handler's client in the transaction that saves, such as
// client.WithSQLTx(tx): call it first there. The fence is that of the request's header [FenceHeader] or its form's [FenceField], and the operator
// is Config.Owner's.
//
// The error is that of Config.Owner, *applock.InvalidError (ErrInvalid) without a fence, *applock.LostError (ErrLost) if the
// grant is not live, or another of applock.Client.Assert. Roll back then.
func (h *Handler) Assert(r *http.Request, tx *applock.Client, object applock.Object) error {
	if h.limiter == nil {
		return errUnmade
	}
	owner, err := h.config.Owner(r)
	if err != nil {
		return err
	}
	fence, err := fenceOf(cmp.Or(r.Header.Get(FenceHeader), r.PostFormValue(FenceField)))
	if err != nil {
		return err
	}
	return tx.Assert(r.Context(), applock.Key{Object: object, Operator: owner.Operator, Fence: fence})
}
