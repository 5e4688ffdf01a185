package otelapplock_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/adapters/otelapplock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/open"
)

// A program whose leases are measured and traced.
func Example() {
	ctx := context.Background()
	meters := sdkmetric.NewMeterProvider()  // with a reader, such as that of an exporter
	tracers := sdktrace.NewTracerProvider() // with an exporter
	hooks, err := otelapplock.Hooks(otelapplock.Config{
		MeterProvider:  meters,
		TracerProvider: tracers,
		Attributes:     []attribute.KeyValue{semconv.DBSystemNameSQLite},
	})
	if err != nil {
		log.Fatal(err)
	}

	folder, err := os.MkdirTemp("", "applock-example")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	dsn := "sqlite:" + filepath.Join(folder, "applock.db")
	client, err := open.ByDSN(ctx, dsn, open.Config{LeaseHooks: hooks}) // or postgres.New, mysql.New
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if _, err := migrate.Up(ctx, client, migrate.UpRequest{}); err != nil {
		log.Fatal(err)
	}

	nightly := applock.AcquireRequest{Object: applock.Object{Type: "job", ID: "nightly"}, MaxHold: time.Hour}
	err = client.Do(ctx, nightly, func(context.Context, applock.Lease) error {
		fmt.Println("at work, alone")
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: at work, alone
}
