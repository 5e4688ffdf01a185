//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

const (
	// depositArgument makes this program one of several that deposit into one wallet.
	depositArgument = "deposit"
	// hotGoroutines is the number of goroutines of each such program: together as many as one program has.
	hotGoroutines = poolSize / hotPrograms

	waySerialize = "serialize"
	wayLease     = "lease"
)

// depositors are other processes that deposit on order.
type depositors struct{ running []*depositor }

// depositor reads "WAY PERIOD" and answers how many deposits it has made in that way and time. It ends with its input, and so with its
// parent. The first line names the place, so that no list of processes shows the DSN.
type depositor struct {
	process *exec.Cmd
	orders  io.WriteCloser
	answers *bufio.Reader
}

// startDepositors starts the processes. After an error, too, it returns those that have started, for end.
func startDepositors(ctx context.Context, place server) (depositors, error) {
	var all depositors
	executable, err := os.Executable()
	if err != nil {
		return all, err
	}
	for range hotPrograms {
		each, err := startDepositor(ctx, executable, place)
		if err != nil {
			return all, err
		}
		all.running = append(all.running, each)
	}
	return all, nil
}

func startDepositor(ctx context.Context, executable string, place server) (*depositor, error) {
	p := &depositor{process: exec.CommandContext(ctx, executable, depositArgument)}
	p.process.Stderr = os.Stderr
	orders, ordersErr := p.process.StdinPipe()
	answers, answersErr := p.process.StdoutPipe()
	if err := errors.Join(ordersErr, answersErr, p.process.Start()); err != nil {
		return nil, err
	}
	p.orders, p.answers = orders, bufio.NewReader(answers)
	if _, err := fmt.Fprintln(orders, place.product, place.dsn); err != nil {
		return nil, errors.Join(err, p.end())
	}
	return p, nil
}

func (p *depositor) deposit(way string, period time.Duration) (deposits int, err error) {
	if _, err := fmt.Fprintln(p.orders, way, period); err != nil {
		return 0, err
	}
	_, err = fmt.Fscanln(p.answers, &deposits)
	return deposits, err
}

func (p *depositor) end() error { return errors.Join(p.orders.Close(), p.process.Wait()) }

func (all depositors) end() error {
	var err error
	for _, each := range all.running {
		err = errors.Join(err, each.end())
	}
	return err
}

// deposit makes all of them deposit at the same time.
func (all depositors) deposit(way string, counting *wallet) func(context.Context, time.Duration) (int, error) {
	return func(_ context.Context, period time.Duration) (int, error) {
		counts, errs := make([]int, len(all.running)), make([]error, len(all.running))
		var running sync.WaitGroup
		for i, each := range all.running {
			running.Go(func() { counts[i], errs[i] = each.deposit(way, period) })
		}
		running.Wait()
		sum := 0
		for _, count := range counts {
			sum += count
		}
		counting.add(sum)
		return sum, errors.Join(errs...)
	}
}

// takeOrders is the work of such a program.
func takeOrders(ctx context.Context, orders io.Reader, answers io.Writer) error {
	lines := bufio.NewScanner(orders)
	lines.Scan()
	product, dsn, _ := strings.Cut(lines.Text(), " ")
	p := place{server: server{product: product, dsn: dsn}}
	o, err := p.openDepositor(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = o.close() }() // the parent does not need it any more
	ways := map[string]contender{waySerialize: {once: serialized(o)}, wayLease: {once: leased(o)}}
	for lines.Scan() {
		way, text, _ := strings.Cut(lines.Text(), " ")
		period, err := time.ParseDuration(text)
		if err != nil {
			return err
		}
		deposits, err := ways[way].count(ctx, hotGoroutines, period)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(answers, deposits); err != nil {
			return err
		}
	}
	return lines.Err()
}

// openDepositor waits for other writers as long as depositors of one file need.
func (p *place) openDepositor(ctx context.Context) (opened, error) {
	return p.open(ctx, access{connections: poolSize, name: "depositor", patience: 10 * time.Second})
}
