//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/applock/applock/applock"
)

const jdoe, asmith = "JDOE", "ASMITH"

// calls compares single calls with the statement that a program without applock would send.
func (b *bench) calls(ctx context.Context, p *place) (err error) {
	o, err := p.open(ctx, access{connections: poolSize, name: "calls"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.close()) }()
	for goroutine := range poolSize {
		if _, err := o.client.Get(ctx, getOf(goroutine, jdoe)); err != nil {
			return err
		}
	}
	lookUp := contender{name: lookUpName, once: func(ctx context.Context, goroutine int) error {
		var operator string
		object := called(goroutine)
		return p.raw.row(ctx, p.statements.holder, []any{object.Type, object.ID}, &operator)
	}}
	update := contender{name: "update by primary key", once: func(ctx context.Context, goroutine int) error {
		return p.raw.exec(ctx, p.statements.update, rowOf(goroutine))
	}}
	for _, each := range []struct {
		ours   []contender
		byHand contender
	}{
		{append(p.leastCall(), refused(o.client)), lookUp},
		{[]contender{renewed(o.client)}, update},
	} {
		if err := b.pit(ctx, figure{Product: p.product}, poolSize, each.ours, []contender{each.byHand}); err != nil {
			return err
		}
	}
	return nil
}

// leastCall is the least that any refusing procedure needs: one SELECT.
func (p *place) leastCall() []contender {
	if p.statements.least == nil {
		return nil
	}
	return []contender{{name: oneSelectName, once: func(ctx context.Context, goroutine int) error {
		var operator string
		object := called(goroutine)
		return p.raw.row(ctx, p.statements.leastLook, []any{object.Type, object.ID}, &operator)
	}}}
}

// called is the object that a goroutine calls for.
func called(goroutine int) applock.Object {
	return applock.Object{Type: "call", ID: strconv.Itoa(goroutine)}
}

func getOf(goroutine int, operator string) applock.GetRequest {
	return applock.GetRequest{Object: called(goroutine), Owner: applock.Owner{Operator: operator}}
}

func refused(client *applock.Client) contender {
	return contender{name: refusalRow, once: func(ctx context.Context, goroutine int) error {
		_, err := client.Get(ctx, getOf(goroutine, asmith))
		if errors.Is(err, applock.ErrHeld) {
			return nil
		}
		return fmt.Errorf("not refused: %w", err)
	}}
}

func renewed(client *applock.Client) contender {
	return contender{name: "a get that renews", once: func(ctx context.Context, goroutine int) error {
		_, err := client.Get(ctx, getOf(goroutine, jdoe))
		return err
	}}
}
