//go:build unix

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
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
		trusted, stranger := newAuthority(t), newAuthority(t)
		address, err := url.Parse(testdb.OwnTLS(t, string(s), trusted.sign(t, "localhost"), trusted.keyInPEM(t)))
		if err != nil || documented == nil {
			t.Fatal(err, documented)
		}
		at := func(host string, ca authority) result {
			dsn := *address
			dsn.Host, dsn.RawQuery = host+":"+address.Port(), documented[1]+ca.file
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

// authority is a CA of a test, with its certificate in a file. Its key is that of its servers, too.
type authority struct {
	file        string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	certificate := &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	certificate.Subject.CommonName = rand.Text()
	made := authority{filepath.Join(t.TempDir(), "ca.pem"), certificate, key}
	if err := os.WriteFile(made.file, []byte(made.sign(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	return made
}

// sign returns a certificate for hosts; for none it is the authority's own.
func (a authority) sign(t *testing.T, hosts ...string) string {
	t.Helper()
	certificate := &x509.Certificate{DNSNames: hosts}
	if len(hosts) == 0 {
		certificate = a.certificate
	}
	certificate.SerialNumber, certificate.NotAfter = big.NewInt(int64(len(hosts))+1), time.Now().Add(time.Hour)
	signed, err := x509.CreateCertificate(rand.Reader, certificate, a.certificate, &a.key.PublicKey, a.key)
	return inPEM(t, "CERTIFICATE", signed, err)
}

func (a authority) keyInPEM(t *testing.T) string {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(a.key)
	return inPEM(t, "PRIVATE KEY", key, err)
}

func inPEM(t *testing.T, kind string, content []byte, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}))
}
