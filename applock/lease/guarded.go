package lease

import "sync"

// guarded is a value with its mutex. Only lock reaches the value, so that its methods need no mutex.
type guarded[T any] struct {
	mutex  sync.Mutex
	value  T
	unlock func() // made once
}

// lock returns the value until unlock.
func (g *guarded[T]) lock() (value *T, unlock func()) {
	g.mutex.Lock()
	if g.unlock == nil {
		g.unlock = g.mutex.Unlock
	}
	return &g.value, g.unlock
}
