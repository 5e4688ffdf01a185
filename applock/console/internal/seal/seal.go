// Package seal encrypts what the browser keeps for the console: a page in an address, a sign-in and a session in a cookie.
package seal

import (
	"bytes"
	"compress/flate"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Key is a secret that all replicas of a console share. The zero key stands for a random one of this process.
type Key = [32]byte

// Seal makes texts that nobody without its key can read, change or make. It is safe for concurrent use.
type Seal struct {
	aead cipher.AEAD
	// packers are flate writers at rest: each takes a megabyte.
	packers sync.Pool
}

// New returns the seal of a key for one purpose: it does not open what was closed for another one.
func New(key Key, purpose string) (*Seal, error) {
	if key == (Key{}) {
		_, _ = rand.Read(key[:]) // never fails
	}
	derived, err := hkdf.Key(sha256.New, key[:], nil, purpose, len(key))
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return &Seal{aead: aead, packers: sync.Pool{New: func() any {
		packer, _ := flate.NewWriter(nil, flate.BestCompression) // the level is valid
		return packer
	}}}, nil
}

// Close returns a value as text for an address or a cookie. Open needs the same label, such as the name of the cookie.
func (s *Seal) Close(value any, label string) (string, error) {
	var text bytes.Buffer
	packer, _ := s.packers.Get().(*flate.Writer)
	defer s.packers.Put(packer)
	packer.Reset(&text)
	err := json.NewEncoder(packer).Encode(value)
	if err == nil {
		err = packer.Close()
	}
	if err != nil {
		return "", fmt.Errorf("seal: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, text.Bytes(), []byte(label))), nil //nolint:gosec // the AEAD adds a random nonce itself
}

// Open sets value to what was closed with this label, and reports whether the text is such a one.
func (s *Seal) Open(text, label string, value any) bool {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return false
	}
	packed, err := s.aead.Open(nil, nil, sealed, []byte(label))
	if err != nil {
		return false
	}
	unpacked, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	return err == nil && json.Unmarshal(unpacked, value) == nil
}
