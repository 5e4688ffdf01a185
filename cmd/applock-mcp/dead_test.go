package main

import (
	"strings"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/wire"
)

// everyTool is a call of each tool.
func everyTool() map[string]arguments {
	return map[string]arguments{
		"lock_get": {"object": "file:a"}, "lock_wait": {"object": "file:a", "max_wait_seconds": 1}, "lock_renew": {"object": "file:a", "fence": 1},
		"lock_release": {"object": "file:a", "fence": 1}, "lock_note": {"object": "file:a", "fence": 1, "note": "x"},
		"lock_ask": {"object": "file:a"}, "lock_answer": {"object": "file:a", "fence": 1, "asker": "x", "answer": "NO"},
		"lock_status": nil, "lock_list": nil, "lock_inbox": nil,
		"lock_get_all": {"objects": []string{"file:a"}}, "lock_release_all": nil, "lock_take": {"object": "file:a", "expected_fence": 1, "reason": "x"},
	}
}

// Goal: a database that cannot be reached is an error that says not to write, and tells no secret. Method: each tool, where nobody listens.
func TestNoDatabase(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "postgres://agent:hush-hush@127.0.0.1:1/nowhere", "agent-1", "--may-take", "--timeout", "20s")
	for tool, in := range everyTool() {
		result := a.try(tool, in)
		if text := textIn(result); !result.IsError || text != deadDatabase || result.StructuredContent != nil {
			t.Errorf("%s: %t %q", tool, result.IsError, text)
		}
	}
}

// Goal: a database that dies while an agent works is no reason to lock elsewhere, and a lock outlives it. Method: the connection to a real
// server falls silent, and speaks again.
func TestDatabaseThatDies(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t)
	p := newPlace(t, dsn)
	between, through := wire.Through(t, dsn)
	a := newAgent(t, through, "agent-1", "--timeout", "2s", "--ttl", "2h")
	held := a.do("lock_get", arguments{"object": "file:a"})
	between.Silence()
	for tool, in := range map[string]arguments{
		"lock_get": {"object": "file:b"}, "lock_wait": {"object": "file:b", "max_wait_seconds": 1}, "lock_status": {"object": "file:a"},
		"lock_renew": {"object": "file:a", "fence": held.Fence},
	} {
		result := a.try(tool, in)
		if text := textIn(result); !result.IsError || !strings.Contains(text, "do not write") || result.StructuredContent != nil {
			t.Errorf("%s: %t %q", tool, result.IsError, text)
		}
	}
	lock, err := p.client.Inquire(t.Context(), applock.Object{Type: "file", ID: "a"})
	if err != nil || lock.Owner.Operator != "agent-1" || lock.Fence != held.Fence {
		t.Errorf("the database has %+v, %v", lock, err)
	}
}
