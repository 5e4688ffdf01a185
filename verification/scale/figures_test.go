package scale

// millions is what docs/scale/million.json has.
type millions struct {
	Products []million `json:"products"`
	Days     []day     `json:"days"`
}

// million is what was measured among so many rows of each table.
type million struct {
	Product    string            `json:"product"`
	Server     string            `json:"server"`
	Rows       int               `json:"rows"`
	Time       string            `json:"time"`
	Cores      int               `json:"cores"`
	Load       string            `json:"load"`
	Operations []operationFigure `json:"operations"`
	Purges     []purgeFigure     `json:"purges"`
}

// operationFigure is how much a call reads, by which way, and its median time. Reads are rows and probes; pages on SQLite.
type operationFigure struct {
	Name         string         `json:"name"`
	Reads        int            `json:"reads"`
	AtMost       int            `json:"at_most"`
	Ways         map[string]int `json:"ways"`
	Scans        bool           `json:"scans"`
	Milliseconds float64        `json:"ms"`
}

// purgeFigure is the time of gets alone and beside a purge, in milliseconds, and how many rows that removed.
type purgeFigure struct {
	What      string  `json:"what"`
	Alone     float64 `json:"p99_alone_ms"`
	Beside    float64 `json:"p99_beside_ms"`
	AloneP50  float64 `json:"p50_alone_ms"`
	BesideP50 float64 `json:"p50_beside_ms"`
	Rows      int64   `json:"rows"`
	Seconds   float64 `json:"seconds"`
}

// day is what a simulated hour of a department left on the disk.
type day struct {
	Product string  `json:"product"`
	Server  string  `json:"server"`
	Minutes int     `json:"minutes"`
	Calls   int     `json:"calls"`
	Seconds float64 `json:"seconds"`
	Tables  []size  `json:"tables"`
}

// size is that of a table with its indexes.
type size struct {
	Table string `json:"table"`
	Rows  int    `json:"rows"`
	Bytes int    `json:"bytes"`
}
