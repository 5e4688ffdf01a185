package applock

import "context"

// Server is the product that answers.
type Server struct {
	// Product is its name, such as PostgreSQL or MariaDB.
	Product string `json:"product"`
	// Version is its version; empty on Db2, which has no one way to ask.
	Version string `json:"product_version"`
}

// Ping asks the database for its product and version, on a connection of its own, also in a transaction. It works without an installation,
// and needs only the right to connect. It returns ErrUnreachable if the server does not answer.
func (c *Client) Ping(ctx context.Context) (server Server, err error) {
	defer begin(&err, "ping: %w")
	o := c.ops()
	if err := o.ready(ctx); err != nil {
		return Server{}, err
	}
	answer, err := o.driver.Server(ctx)
	if err != nil {
		return Server{}, explain(err)
	}
	return Server(answer), nil
}
