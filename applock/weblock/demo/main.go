// Command demo is a customer form that people edit one at a time: make demo-web. It shows what an application writes to use package weblock.
package main

import (
	"context"
	"database/sql"
	_ "embed" // the page
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // for a DSN of PostgreSQL

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/postgres"
	"github.com/applock/applock/applock/sqlite"
	"github.com/applock/applock/applock/weblock"
)

//go:embed page.html
var page []byte

// shop is the application.
type shop struct {
	db     *sql.DB
	client *applock.Client
	locks  *weblock.Handler
}

func main() {
	dsn := flag.String("dsn", "", "a postgres:// address; the default is SQLite in memory")
	listen := flag.String("listen", "127.0.0.1:8421", "the address to listen on")
	flag.Parse()
	ctx := context.Background()
	s, err := open(ctx, *dsn)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintf(os.Stdout, "open http://%s/ in two browsers\n", listener.Addr())
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: time.Minute}
	log.Fatal(server.Serve(listener))
}

// open has the locks and the customers in one database, so that saving and the assertion are one transaction.
func open(ctx context.Context, dsn string) (s *shop, err error) {
	s = &shop{}
	if dsn != "" {
		if s.db, err = sql.Open("pgx", dsn); err == nil {
			s.client, err = postgres.NewSQL(s.db, postgres.Config{})
		}
	} else if s.db, err = sql.Open("sqlite", "file:/demo?vfs=memdb&_pragma=busy_timeout(5000)&_txlock=immediate"); err == nil {
		s.client, err = sqlite.New(s.db, sqlite.Config{})
	}
	if err != nil {
		return nil, err
	}
	if _, err := s.db.Conn(ctx); err != nil { // as long as one is open, SQLite keeps what is in memory
		return nil, err
	}
	if _, err := migrate.Up(ctx, s.client, migrate.UpRequest{}); err != nil {
		return nil, err
	}
	_, err = s.db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS demo_customer (id VARCHAR(255) PRIMARY KEY, name VARCHAR(99) NOT NULL)`)
	s.locks = weblock.New(s.client, weblock.Config{Owner: person, May: may, Logger: slog.Default()})
	return s, err
}

// person stands for the application's session: a cookie that anybody can set.
func person(r *http.Request) (applock.Owner, error) {
	cookie, err := r.Cookie("person")
	if err != nil {
		return applock.Owner{}, err
	}
	name, err := url.QueryUnescape(cookie.Value)
	return applock.Owner{Operator: name, Department: "sales"}, err
}

// may lets a supervisor take.
func may(r *http.Request, _ applock.Object, verb weblock.Verb) error {
	if owner, err := person(r); err != nil || verb == weblock.VerbTake && owner.Operator != "MLEE" {
		return errors.New("that is for supervisors")
	}
	return nil
}

func (s *shop) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/locks/", http.StripPrefix("/locks", s.locks))
	mux.HandleFunc("GET /customer", s.load)
	mux.HandleFunc("POST /customer", func(w http.ResponseWriter, r *http.Request) {
		if err := s.save(r); err != nil {
			log.Print(err)
			http.Error(w, "Not saved: your lock has ended.", http.StatusConflict)
		}
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if as := r.FormValue("as"); as != "" {
			http.SetCookie(w, &http.Cookie{Name: "person", Value: url.QueryEscape(as), SameSite: http.SameSiteLaxMode, HttpOnly: true}) //nolint:gosec // a demo on this host
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(page)
	})
	return http.NewCrossOriginProtection().Handler(mux)
}

func (s *shop) load(w http.ResponseWriter, r *http.Request) {
	var name string
	err := s.db.QueryRowContext(r.Context(), "SELECT name FROM demo_customer WHERE id = $1", r.FormValue("id")).Scan(&name)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		http.Error(w, "the customer cannot be read", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(map[string]string{"name": name})
}

// save refuses a page whose lock has ended, whatever it believes, in the transaction that saves.
func (s *shop) save(r *http.Request) error {
	tx, err := s.db.BeginTx(r.Context(), nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	id := r.FormValue("id")
	if err := s.locks.Assert(r, s.client.WithSQLTx(tx), applock.Object{Type: "customer", ID: id}); err != nil {
		return err
	}
	_, err = tx.ExecContext(r.Context(), `INSERT INTO demo_customer VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET name = excluded.name`, id, r.FormValue("name"))
	if err != nil {
		return err
	}
	return tx.Commit()
}
