package openid

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// attempt is somebody who is just signing in. Only the browser keeps it: so nobody can put others out by many beginnings.
type attempt struct {
	// state comes back from the issuer in the address, and nonce in the token. The proof is told with the code.
	state, nonce, proof string
	// page is where to go afterwards.
	page string
	// until is when it ends.
	until time.Time
}

// seal hides attempts in cookies, by a key of this process. Nobody else can read or make one.
type seal struct{ cipher.AEAD }

func newSeal() (seal, error) {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return seal{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return seal{aead}, err
}

// close returns the value of the cookie of that name, and of no other one.
func (s seal) close(a attempt, cookie string) string {
	// The page comes last: it may have any text.
	text := strings.Join([]string{strconv.FormatInt(a.until.Unix(), 10), a.state, a.nonce, a.proof, a.page}, "\n")
	sealed := s.Seal(nil, nil, []byte(text), []byte(cookie)) //nolint:gosec // the AEAD takes a random nonce of its own
	return base64.RawURLEncoding.EncodeToString(sealed)
}

// open returns what close was given, until it has ended.
func (s seal) open(value, cookie string, now time.Time) (a attempt, found bool) {
	sealed, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil {
		return a, false
	}
	text, err := s.Open(nil, nil, sealed, []byte(cookie))
	if err != nil {
		return a, false
	}
	parts := strings.SplitN(string(text), "\n", 5)
	until, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil || len(parts) != 5 {
		return a, false
	}
	a = attempt{until: time.Unix(until, 0), state: parts[1], nonce: parts[2], proof: parts[3], page: parts[4]}
	return a, now.Before(a.until)
}
