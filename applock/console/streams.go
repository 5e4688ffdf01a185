package console

import (
	"net/http"
	"sync"
)

// streamsOfPerson is how many pages of one person are told of changes at a time. Browsers that show them have one each: a page in the
// background has none.
const streamsOfPerson = 20

// streams counts them.
type streams struct {
	mutex sync.Mutex
	open  map[string]int
}

func newStreams() *streams { return &streams{open: map[string]int{}} }

// bounded refuses what is one too many. Those without a name are told apart by their addresses.
func (c *console) bounded(stream http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who := "person " + personOf(r)
		if personOf(r) == "" {
			who = "address " + hostOf(r.RemoteAddr)
		}
		if !c.streams.begin(who) {
			c.logRefusal(r, http.StatusTooManyRequests, personOf(r), "too many pages of one person look at changes")
			http.Error(w, c.texts["error.streams"], http.StatusTooManyRequests)
			return
		}
		defer c.streams.end(who)
		stream(w, r)
	}
}

func (s *streams) begin(who string) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.open[who] == streamsOfPerson {
		return false
	}
	s.open[who]++
	return true
}

func (s *streams) end(who string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.open[who]--; s.open[who] == 0 {
		delete(s.open, who)
	}
}
