package gocronlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/adapters/gocronlock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/open"
)

// A nightly job in a program that runs on several hosts, whose clocks differ by less than a minute.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "applock-example")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	client, err := open.ByDSN(ctx, "sqlite:"+filepath.Join(folder, "applock.db"), open.Config{}) // or postgres.New, mysql.New
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if _, err := migrate.Up(ctx, client, migrate.UpRequest{}); err != nil {
		log.Fatal(err)
	}

	for _, host := range []string{"the first host", "the second host"} {
		ended := make(chan string)
		report := func() { ended <- host + " reports" }
		skip := func(err error) { ended <- fmt.Sprintf("%s does not: %t", host, errors.Is(err, applock.ErrHeld)) }
		scheduler, err := schedule(client, gocron.OneTimeJob(gocron.OneTimeJobStartImmediately()), report, skip)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(<-ended)
		if err := scheduler.Shutdown(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// the first host reports
	// the second host does not: true
}

// schedule is what the program does at its start on each host.
func schedule(locks lease.Locker, when gocron.JobDefinition, report func(), skip func(error)) (gocron.Scheduler, error) {
	locker, err := gocronlock.New(locks, gocronlock.Config{MaxHold: 2 * time.Hour, AtLeast: time.Minute})
	if err != nil {
		return nil, err
	}
	scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
	if err != nil {
		return nil, err
	}
	skipped := gocron.AfterLockError(func(_ uuid.UUID, _ string, err error) { skip(err) })
	_, err = scheduler.NewJob(when, gocron.NewTask(report), gocron.WithName("report"), gocron.WithEventListeners(skipped))
	if err != nil {
		return nil, err
	}
	scheduler.Start()
	return scheduler, nil
}
