//go:build unix

package console

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/applock/applock/applock"
)

// BenchmarkFirstPage makes the first page of 20,000 locks for a supervisor. The figure is the processor's time of this process, since that of
// a clock is also that of all else on the machine: on SQLite with the database's part, on PostgreSQL without.
func BenchmarkFirstPage(b *testing.B) {
	for product, open := range map[string]func(b *testing.B) desk{
		"sqlite": func(b *testing.B) desk {
			b.Helper()
			d := newDesk(b, supervisor())
			fill(b, d, 20000)
			return d
		},
		"postgres": func(b *testing.B) desk {
			b.Helper()
			client, _ := countedPostgres(b, 20000)
			return deskOn(client, supervisor())
		},
	} {
		b.Run(product, func(b *testing.B) {
			d := open(b)
			d.see(b, "/locks", http.StatusOK) // the rights, and how many locks there are
			before := cpuTime(b)
			for b.Loop() {
				d.see(b, "/locks", http.StatusOK)
			}
			b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N)/float64(time.Millisecond), "cpu-ms/op")
		})
	}
}

// BenchmarkViewers has people look at what ends soon, of 20,000 locks on PostgreSQL, while two locks change a second, by HTTP. A round is an
// interval, in which each page asks once. It tells how long an answer takes in the middle and at worst, how many queries an interval
// has, the changes' own among them, and how many cores the server, those who look and the changes need together.
func BenchmarkViewers(b *testing.B) {
	for _, viewers := range []int{1, 40, 200} {
		b.Run(fmt.Sprint(viewers), func(b *testing.B) {
			client, sent := countedPostgres(b, 20000)
			server := httptest.NewServer(deskOn(client, Config{}).handler)
			defer server.Close()
			browsers := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: viewers}}
			versions := make([]string, viewers)
			times := make(chan time.Duration, viewers*100000)
			change := time.NewTicker(500 * time.Millisecond)
			defer change.Stop()
			changed := 0
			sent.number.Store(0)
			began, cpu := time.Now(), cpuTime(b)
			for b.Loop() {
				var asking sync.WaitGroup
				end := time.After(DefaultInterval)
				for i := range viewers {
					asking.Go(func() {
						time.Sleep(DefaultInterval * time.Duration(i) / time.Duration(viewers))
						begun := time.Now()
						version, err := askFor(b.Context(), browsers, server.URL+"/locks?within=1h&sort=left", versions[i])
						if err != nil {
							b.Error(err)
						}
						versions[i] = version
						times <- time.Since(begun)
					})
				}
				for over := false; !over; {
					select {
					case <-change.C:
						changed++
						renewed := applock.Object{Type: "customer", ID: fmt.Sprintf("%05d", changed%100+1)}
						_, err := client.Get(b.Context(), applock.GetRequest{Object: renewed, Owner: applock.Owner{Operator: "jdoe"}, TTL: time.Duration(changed%50+1) * time.Minute})
						if err != nil {
							b.Fatal(err)
						}
					case <-end:
						over = true
					}
				}
				asking.Wait()
			}
			elapsed := time.Since(began)
			b.ReportMetric(float64(cpuTime(b)-cpu)/float64(elapsed), "cores")
			b.ReportMetric(float64(sent.number.Load())/float64(b.N), "queries/op")
			var all []time.Duration
			for range len(times) {
				all = append(all, <-times)
			}
			slices.Sort(all)
			b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "median-ms")
			b.ReportMetric(float64(all[len(all)-1].Microseconds())/1000, "slowest-ms")
		})
	}
}

// askFor asks as a page does, and returns the version that it shows from then on.
func askFor(ctx context.Context, browsers *http.Client, address, version string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("If-None-Match", cmp.Or(version, "none"))
	answer, err := browsers.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return "", err
	}
	switch answer.StatusCode {
	case http.StatusOK:
		return answer.Header.Get("ETag"), nil
	case http.StatusNotModified:
		return version, nil
	default:
		return "", fmt.Errorf("status %d", answer.StatusCode)
	}
}

// cpuTime is what this process has used of the processors.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
