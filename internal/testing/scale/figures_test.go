package scale

// figure is one measurement: the server's processor time of a call, and calls a second, which other work on the machine lowers.
type figure struct {
	Name  string  `json:"name"`
	CPU   float64 `json:"cpu_us"`
	Rate  float64 `json:"rate"`
	Calls int     `json:"calls"`
}

// run is what the page shows.
type run struct {
	Time     string   `json:"time"`
	Server   string   `json:"server"`
	Settings string   `json:"settings"`
	Cores    int      `json:"cores"`
	Load     string   `json:"load"`
	Figures  []figure `json:"figures"`
	Beats    beats    `json:"heartbeats"`
}

// beats is a measured fleet: clients that renew one lease each, every third of the TTL.
type beats struct {
	Clients int `json:"clients"`
	TTL     int `json:"ttl_seconds"`
	Seconds int `json:"seconds"`
	// Busy is the part of all cores that the server used, P99 the time of a renewal in milliseconds.
	Busy float64 `json:"busy"`
	P99  float64 `json:"p99_ms"`
	Lost int     `json:"lost"`
}
