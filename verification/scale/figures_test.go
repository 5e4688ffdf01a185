package scale

// millions is what docs/scale/million.json has.
type millions struct {
	Products []million `json:"products"`
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
