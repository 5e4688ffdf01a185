package console_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/applock/applock/applock/console"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/open"
)

// An application has the console among its own pages, behind the proxy that signs people in.
func ExampleHandler() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "applock-example")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	client, err := open.ByDSN(ctx, "sqlite:"+filepath.Join(folder, "applock.db"), open.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if _, err := migrate.Up(ctx, client, migrate.UpRequest{}); err != nil {
		log.Fatal(err)
	}

	signIn, err := console.TrustedHeader("X-Forwarded-User", "X-Forwarded-Groups", []netip.Prefix{netip.MustParsePrefix("10.1.0.4/32")})
	if err != nil {
		log.Fatal(err)
	}
	supervisors := map[string]bool{"mlee": true}
	mux := http.NewServeMux()
	mux.Handle("/locks/", http.StripPrefix("/locks", console.Handler(client, console.Config{
		SignIn:    signIn,
		MayChange: func(person string) bool { return supervisors[person] },
	})))

	request := httptest.NewRequest(http.MethodGet, "/locks/", nil)
	request.RemoteAddr = "10.1.0.4:40000"
	request.Header.Set("X-Forwarded-User", "mlee")
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, request)
	fmt.Println(answer.Code)
	// Output:
	// 200
}
