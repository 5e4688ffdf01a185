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

// attempt is a sign-in that has begun. Only the browser stores it, so a flood of attempts cannot displace others.
type attempt struct {
	// state returns from the issuer in the address, nonce in the token. proof is sent with the code.
	state, nonce, proof string
	// page is where the browser goes afterwards.
	page string
	// until is when the attempt expires.
	until time.Time
}

// seal encrypts attempts for cookies with a key of this process, so nobody else can read or forge one.
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

// close encrypts an attempt for the cookie of that name.
func (s seal) close(a attempt, cookie string) string {
	// The page comes last, since it may contain any text.
	text := strings.Join([]string{strconv.FormatInt(a.until.Unix(), 10), a.state, a.nonce, a.proof, a.page}, "\n")
	sealed := s.Seal(nil, nil, []byte(text), []byte(cookie)) //nolint:gosec // the AEAD adds a random nonce itself
	return base64.RawURLEncoding.EncodeToString(sealed)
}

// open decrypts an attempt, unless it has expired.
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
