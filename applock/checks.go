package applock

// checks keeps the first error of the checks of a request, each of which returns an argument as the database keeps it.
type checks struct{ err error }

func (c *checks) text(checked string, err error) string { return keep(c, checked, err) }

func (c *checks) number(checked int64, err error) int64 { return keep(c, checked, err) }

func (c *checks) object(checked Object, err error) Object { return keep(c, checked, err) }

func (c *checks) owner(checked Owner, err error) Owner { return keep(c, checked, err) }

func (c *checks) key(checked Key, err error) Key { return keep(c, checked, err) }

func (c *checks) department(checked *string, err error) *string { return keep(c, checked, err) }

// texts is for an actor and a reason, or for a type and an id.
func (c *checks) texts(one, other string, err error) (string, string) {
	return keep(c, one, err), other
}

func keep[T any](c *checks, checked T, err error) T {
	c.check(err)
	return checked
}

func (c *checks) check(err error) {
	if c.err == nil {
		c.err = err
	}
}

// refuse refuses an argument if it is wrong.
func (c *checks) refuse(isWrong bool, argument, reason string) {
	if isWrong {
		c.check(&InvalidError{Argument: argument, Reason: reason})
	}
}
