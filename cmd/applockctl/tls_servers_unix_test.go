//go:build unix

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/testfile"
)

// Goal: the DSNs of docs/dsn.md for TLS reach a server whose certificate the named CA has signed for its host; otherwise the refusal names the option that
// is to be changed, and no password. Method: a server of each product with a certificate of the test's own CA for localhost.
func TestHeavyTLS(t *testing.T) {
	t.Parallel()
	page := testfile.Read(t, filepath.Join("..", "..", "docs", "dsn.md"))
	onServers(t, func(t *testing.T, s server) {
		scheme, caOption, hostOption := "postgres", "sslrootcert", "sslmode=verify-full"
		if s.isMySQL() {
			scheme, caOption, hostOption = "mysql", "ssl-ca", "tls=true"
		}
		documented := regexp.MustCompile("`" + scheme + `://USER:PASSWORD@db\.example\.com[^?]*\?(\S+=)/\S+` + "`").FindStringSubmatch(page)
		trusted, certificate, key := newAuthority(t)
		stranger, _, _ := newAuthority(t)
		address, err := url.Parse(testdb.OwnTLS(t, string(s), certificate, key))
		if err != nil || documented == nil {
			t.Fatal(err, documented)
		}
		at := func(host, ca string) result {
			dsn := *address
			dsn.Host, dsn.RawQuery = host+":"+address.Port(), documented[1]+ca
			got := userOf(dsn.String()).run(t, "ping")
			if password, _ := address.User.Password(); strings.Contains(got.stdout+got.stderr, password) {
				t.Errorf("it shows the password: %s%s", got.stdout, got.stderr)
			}
			return got
		}
		const refused = "applockctl: ping: the server's certificate is refused: "
		at("localhost", trusted).check(t, exitYes)
		at("localhost", stranger).check(t, exitError, refused+caOption+" must name the file of its CA: ")
		at("127.0.0.1", trusted).check(t, exitError, refused+hostOption+" wants the DSN's host among its names: ")
	})
}

// newAuthority returns the file of a new CA's certificate, and a certificate for localhost with its key, in PEM.
func newAuthority(t *testing.T) (file, certificate, key string) {
	t.Helper()
	secret, noSecret := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	ca.Subject.CommonName = rand.Text()
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), NotAfter: ca.NotAfter, DNSNames: []string{"localhost"}}
	own, noCA := x509.CreateCertificate(rand.Reader, ca, ca, &secret.PublicKey, secret)
	signed, noLeaf := x509.CreateCertificate(rand.Reader, leaf, ca, &secret.PublicKey, secret)
	encoded, noKey := x509.MarshalPKCS8PrivateKey(secret)
	inPEM := func(kind string, content []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
	}
	file = filepath.Join(t.TempDir(), "ca.pem")
	noFile := os.WriteFile(file, inPEM("CERTIFICATE", own), 0o600)
	if err := errors.Join(noSecret, noCA, noLeaf, noKey, noFile); err != nil {
		t.Fatal(err)
	}
	return file, string(inPEM("CERTIFICATE", signed)), string(inPEM("PRIVATE KEY", encoded))
}
