package db2

import (
	"strings"
	"testing"
)

// Goal: a DSN becomes the string that IBM's client understands, which ends with a semicolon. Method: a table.
func TestConnectionString(t *testing.T) {
	t.Parallel()
	const plain = "HOSTNAME=db.example.org;PORT=50000;DATABASE=SHOP;UID=alice;PWD=p@ss;PROTOCOL=TCPIP;"
	for dsn, want := range map[string]string{
		"db2://alice:p%40ss@db.example.org/SHOP":                  plain + "ConnectTimeout=15;",
		"db2://alice:p%40ss@db.example.org:50000/SHOP":            plain + "ConnectTimeout=15;",
		"db2://alice:p%40ss@db.example.org:/SHOP":                 plain + "ConnectTimeout=15;",
		"db2://alice:p%40ss@db.example.org/SHOP?connecttimeout=3": plain + "ConnectTimeout=3;",
		"db2://alice:p%40ss@db.example.org/SHOP?SECURITY=ssl":     plain + "ConnectTimeout=15;Security=ssl;SSLClientHostnameValidation=Basic;",
		"db2://alice:p%40ss@db.example.org/SHOP?Authentication=SERVER_ENCRYPT": "HOSTNAME=db.example.org;PORT=50000;" +
			"DATABASE=SHOP;UID=alice;PWD=p@ss;PROTOCOL=TCPIP;Authentication=SERVER_ENCRYPT;ConnectTimeout=15;",
		"db2://alice:p%40ss@db.example.org/SHOP?Security=SSL&SSLServerCertificate=/etc/my%20ca.pem" +
			"&SSLClientHostnameValidation=OFF&TLSVersion=TLSV13": plain + "ConnectTimeout=15;Security=SSL;" +
			"SSLClientHostnameValidation=OFF;SSLServerCertificate=/etc/my ca.pem;TLSVersion=TLSV13;",
		"db2://a%7Bb:{'x\"=y}%20[z]%3D@[::1]:446/S@M_P#LE":         "",
		"db2://a:%7B'x%22=y%7D%20%5Bz%5D%5C~@[::1]:446/S$MP-L.E_1": "HOSTNAME=::1;PORT=446;DATABASE=S$MP-L.E_1;UID=a;PWD={'x\"=y} [z]\\~;PROTOCOL=TCPIP;ConnectTimeout=15;",
		"db2://alice:secret@127.0.0.1:65535/SHOP?Security=SSL&SSLClientKeystoredb=/k.p12&SSLClientKeystash=/k.sth&SSLClientLabel=us": "HOSTNAME=127.0.0.1;PORT=65535;" +
			"DATABASE=SHOP;UID=alice;PWD=secret;PROTOCOL=TCPIP;ConnectTimeout=15;Security=SSL;SSLClientHostnameValidation=Basic;" +
			"SSLClientKeystash=/k.sth;SSLClientKeystoredb=/k.p12;SSLClientLabel=us;",
	} {
		got, err := connectionString(dsn)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("connectionString(%q)\n got %q, %v\nwant %q", dsn, got, err, want)
		}
	}
}

// Goal: an option that the client would misunderstand, or silently ignore, is refused and named. Method: a table.
func TestConnectionStringRefuses(t *testing.T) {
	t.Parallel()
	const notDSN = "db2://USER:PASSWORD@"
	for dsn, want := range map[string]string{
		"db2://alice:secret@host":                                                         notDSN,
		"db2://alice:secret@host/":                                                        notDSN,
		"db2://alice:secret@/SHOP":                                                        notDSN,
		"db2://alice:secret@host:0/SHOP":                                                  notDSN,
		"db2://alice:secret@host:65536/SHOP":                                              notDSN,
		"db2://alice:secret@host:port/SHOP":                                               notDSN,
		"db2://alice:secret@host/SHOP/more":                                               notDSN,
		"db2://alice:secret@host/SHOP%2Fmore":                                             notDSN,
		"db2://alice:secret@host/SHOP%3BUID=x":                                            notDSN,
		"db2://alice:secret@ho;UID=x/SHOP":                                                notDSN,
		"db2://alice:secret@host/SHOP#x":                                                  notDSN,
		"db2://alice:secret@host/SHOP?Security=%zz":                                       notDSN,
		"db2://alice:secret@host/SHOP?Security=SSL;UID=x":                                 notDSN,
		"db2://alice:secret@host/SHOP?UID%3Dx;PWD=y":                                      notDSN,
		"db2://alice:secret@host/SHOP?" + strings.Repeat("x", 100):                        notDSN,
		"db2://alice:se/cret@host/SHOP":                                                   notDSN,
		"db2://alice:se?cret@host/SHOP":                                                   notDSN,
		"db2://alice:se@cret@host/SHOP":                                                   notDSN,
		"db2://host/SHOP":                                                                 notDSN,
		"db2:alice:secret@host/SHOP":                                                      notDSN,
		"mysql://alice:secret@host/SHOP":                                                  notDSN,
		"":                                                                                notDSN,
		"db2://alice@host/SHOP":                                                           "has no password",
		"db2://alice:@host/SHOP":                                                          "has no password",
		"db2://:secret@host/SHOP":                                                         "has no user",
		"db2://alice:sec;ret@host/SHOP":                                                   "semicolon in the password",
		"db2://alice:sec%3Bret@host/SHOP":                                                 "semicolon in the password",
		"db2://al%3Bice:secret@host/SHOP":                                                 "semicolon in the user",
		"db2://alice:secret%20@host/SHOP":                                                 "blank at an edge of the password",
		"db2://%20alice:secret@host/SHOP":                                                 "blank at an edge of the user",
		"db2://alice:s%C3%A9cret@host/SHOP":                                               "in the password that is not printable ASCII",
		"db2://alice:secret%00@host/SHOP":                                                 "in the password that is not printable ASCII",
		"db2://alice:" + strings.Repeat("x", 1001) + "@host/SHOP":                         "password of more than 1000 bytes",
		"db2://alice:secret@host/SHOP?Protocol=IPC":                                       "unknown option Protocol",
		"db2://alice:secret@host/SHOP?ConnectTimeout=0":                                   "value of option ConnectTimeout",
		"db2://alice:secret@host/SHOP?ConnectTimeout=32768":                               "value of option ConnectTimeout",
		"db2://alice:secret@host/SHOP?ConnectTimeout=1s":                                  "value of option ConnectTimeout",
		"db2://alice:secret@host/SHOP?ConnectTimeout=":                                    "no value of option ConnectTimeout",
		"db2://alice:secret@host/SHOP?ConnectTimeout=1&connectTimeout=2":                  "option ConnectTimeout twice",
		"db2://alice:secret@host/SHOP?Security=SSL&Security=SSL":                          "option Security twice",
		"db2://alice:secret@host/SHOP?Security=TLS":                                       "value of option Security",
		"db2://alice:secret@host/SHOP?Security=SSL&SSLServerCertificate=/a%3BSecurity=no": "semicolon in the value of option SSLServerCertificate",
		"db2://alice:secret@host/SHOP?SSLServerCertificate=/ca.pem":                       "SSLServerCertificate, which is of use with Security=SSL only",
		"db2://alice:secret@host/SHOP?Authentication=NONE":                                "value of option Authentication",
	} {
		text, err := connectionString(dsn)
		if text != "" || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("connectionString(%q) = %q, %v, want an error with %q", dsn, text, err, want)
		}
	}
}

// Goal: no error repeats a piece of a password, wherever it stands. Method: passwords with each character that
// means something somewhere, as they are, in places that are right and wrong.
func TestAnErrorDoesNotTellThePassword(t *testing.T) {
	t.Parallel()
	const left, right = "Zq7x", "Secret"
	for _, separator := range []string{"", ":", "/", "@", "#", "?", "%", "%zz", "%3B", "&", "=", ";", "+", " ", "'", `"`, "\n", "{", "}", "é", "@@", "/@", "?=@", "&x="} {
		for _, password := range []string{left + separator + right, separator + left, left + separator, "12" + separator + left} {
			for _, dsn := range []string{
				"db2://user:" + password + "@127.0.0.1:1/DB",
				"db2://user:" + password + "@127.0.0.1:port/DB",
				"db2://user:" + password + "@127.0.0.1/DB?Security=nonsense",
				"db2://user:" + password + "@127.0.0.1/DB?what=ever",
				"db2://user:" + password + "@",
				"db2://:" + password + "@127.0.0.1/DB",
				"db2://127.0.0.1/DB?UID=user&PWD=" + password,
				"db2://user:x@127.0.0.1/DB?PWD=" + password,
				"db2://user:x@127.0.0.1/DB?SSLClientKeystoreDBPassword=" + password,
				"db2://user:x@127.0.0.1/DB?Authentication=" + password,
				"db2:user:" + password + "@127.0.0.1/DB",
				"db2:/user:" + password + "@127.0.0.1/DB",
				"DATABASE=DB;HOSTNAME=127.0.0.1;UID=user;PWD=" + password,
			} {
				if _, err := connectionString(dsn); err != nil && (strings.Contains(err.Error(), left) || strings.Contains(err.Error(), right)) {
					t.Errorf("connectionString(%q): %v", dsn, err)
				}
			}
		}
	}
}

// FuzzConnectionString: whatever the DSN is, each value stays in its place.
func FuzzConnectionString(f *testing.F) {
	f.Add("db2://alice:p%40ss@db.example.org:50000/SHOP?Security=SSL&SSLServerCertificate=/ca.pem")
	f.Add("db2://alice:a%3BUID=x@h/D?ConnectTimeout=1")
	f.Fuzz(func(t *testing.T, dsn string) {
		text, err := connectionString(dsn)
		if err != nil {
			return
		}
		parts := strings.Split(text, ";")
		for i, keyword := range []string{"HOSTNAME", "PORT", "DATABASE", "UID", "PWD", "PROTOCOL"} {
			name, value, _ := strings.Cut(parts[i], "=")
			if name != keyword || value == "" {
				t.Fatalf("%q: part %d is %q, want %s", dsn, i, parts[i], keyword)
			}
		}
		if parts[len(parts)-1] != "" || strings.ContainsAny(text, "\x00\n") || !strings.Contains(text, ";ConnectTimeout=") {
			t.Fatalf("%q: %q", dsn, text)
		}
	})
}
