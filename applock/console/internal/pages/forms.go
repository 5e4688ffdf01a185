package pages

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/applock/applock/applock"
)

// maxForm is the maximum size of a form, enough for a plan of 500 locks.
const maxForm = 1 << 20

// ReadForm reads a form of at most maxForm bytes.
func ReadForm(r *http.Request) (url.Values, error) {
	r.Body = http.MaxBytesReader(nil, r.Body, maxForm)
	err := r.ParseForm()
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &tooBig):
		return nil, ErrFormTooBig
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, ErrFormLate
	case err != nil:
		return nil, &applock.InvalidError{Argument: "form", Reason: "cannot be read"}
	}
	return r.PostForm, nil
}

// Tidy trims a text and unifies its line ends, which differ between browsers.
func Tidy(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }

// FormatGrant writes a grant as a form's value, and ParseGrant parses it. A blank ends the number and the escaped operator.
func FormatGrant(key applock.Key) string {
	return fmt.Sprintf("%d %s %s", key.Fence, url.QueryEscape(key.Operator), key.Object)
}

// ParseGrant parses what FormatGrant has written. It returns NoLock for other texts.
func ParseGrant(text string) (applock.Key, error) {
	number, rest, _ := strings.Cut(text, " ")
	escaped, name, _ := strings.Cut(rest, " ")
	fence, err := strconv.ParseInt(number, 10, 64)
	holder, unescaped := url.QueryUnescape(escaped)
	if err != nil || unescaped != nil || fence < 1 {
		return applock.Key{}, NoLock()
	}
	object, err := applock.ParseObject(name)
	return applock.Key{Object: object, Operator: holder, Fence: applock.Fence(fence)}, err
}

// NoLock is the error of a form without a lock.
func NoLock() error { return &applock.InvalidError{Argument: "lock", Reason: "is missing: select one"} }

// Unseen reports whether a character is invisible or changes the direction of text, so that two different names could look the same.
func Unseen(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
