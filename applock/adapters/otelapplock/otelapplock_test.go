package otelapplock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/adapters/otelapplock"
	"github.com/applock/applock/applock/lease"
)

// telemetry is what has arrived.
type telemetry struct {
	reader *metric.ManualReader
	spans  *tracetest.InMemoryExporter
	tracer *sdktrace.TracerProvider
	hooks  lease.Hooks
}

func newTelemetry(t *testing.T) telemetry {
	t.Helper()
	o := telemetry{reader: metric.NewManualReader(), spans: tracetest.NewInMemoryExporter()}
	o.tracer = sdktrace.NewTracerProvider(sdktrace.WithSyncer(o.spans))
	var err error
	o.hooks, err = otelapplock.Hooks(otelapplock.Config{
		MeterProvider:  metric.NewMeterProvider(metric.WithReader(o.reader)),
		TracerProvider: o.tracer,
		Attributes:     []attribute.KeyValue{semconv.DBSystemNamePostgreSQL},
		LongHold:       time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// measured returns each series as a line: name, unit, attributes, count and sum.
func (o telemetry) measured(t *testing.T) []string {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := o.reader.Collect(context.Background(), &data); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			line := func(set attribute.Set, values string) {
				attributes := set.Encoded(attribute.DefaultEncoder())
				lines = append(lines, fmt.Sprintf("%s [%s] %s: %s", m.Name, m.Unit, attributes, values))
			}
			switch points := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, point := range points.DataPoints {
					line(point.Attributes, fmt.Sprint(point.Value))
				}
			case metricdata.Histogram[float64]:
				for _, point := range points.DataPoints {
					line(point.Attributes, fmt.Sprintf("%d, %g s", point.Count, point.Sum))
				}
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// traced returns each span as a line: name, parent, attributes, length and status.
func (o telemetry) traced() []string {
	spans := o.spans.GetSpans()
	var lines []string
	for _, span := range spans {
		parent := "none"
		for _, other := range spans {
			if other.SpanContext.SpanID() == span.Parent.SpanID() {
				parent = other.Name
			}
		}
		set := attribute.NewSet(span.Attributes...)
		attributes := set.Encoded(attribute.DefaultEncoder())
		lines = append(lines, fmt.Sprintf("%s < %s %s %s %s", span.Name, parent, attributes, span.EndTime.Sub(span.StartTime), span.Status.Code))
	}
	slices.Sort(lines)
	return lines
}

// shelf is a backend with room for one grant.
type shelf struct{ holder *applock.Grant }

func (s *shelf) Get(_ context.Context, object applock.Object, owner applock.Owner, _ time.Duration) (applock.Grant, error) {
	if s.holder != nil && s.holder.Owner != owner {
		return applock.Grant{}, &applock.HeldError{Object: object, Holder: applock.Holder{Owner: s.holder.Owner}}
	}
	s.holder = &applock.Grant{Object: object, Owner: owner}
	return *s.holder, nil
}

func (s *shelf) Release(context.Context, applock.Grant) error {
	s.holder = nil
	return nil
}

func (s *shelf) Renew(context.Context, []lease.Renewal) ([]lease.Renewed, error) { return nil, nil }

func equal(t *testing.T, what string, got []string, want string) {
	t.Helper()
	if text := strings.Join(got, "\n"); text != strings.TrimSpace(want) {
		t.Errorf("%s:\n%s\nwant:\n%s", what, text, strings.TrimSpace(want))
	}
}

// Goal: each thing that happens to a lease is told once, with names and units that stay, below the span of who asked.
// Method: an acquisition, a refusal, a wait that is given up, a release, a long hold and a loss, with exact times, in the readers of the SDK.
func TestEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newTelemetry(t)
		locks := lease.New(&shelf{}, lease.Config{Hooks: o.hooks})
		defer func() { _ = locks.Close() }()
		request := applock.AcquireRequest{
			Object: applock.Object{Type: "job", ID: "nightly"}, Owner: applock.Owner{Operator: "JDOE"}, MaxHold: time.Hour,
		}
		other := request
		other.Owner.Operator = "ASMITH"

		ctx, parent := o.tracer.Tracer("test").Start(t.Context(), "caller")
		lease, err := locks.Acquire(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		parent.End()
		time.Sleep(2 * time.Second)
		if _, err := locks.TryAcquire(t.Context(), other); !errors.Is(err, applock.ErrHeld) {
			t.Fatal(err)
		}
		other.MaxWait = 3 * time.Second
		if _, err := locks.Acquire(t.Context(), other); !errors.Is(err, applock.ErrHeld) {
			t.Fatal(err)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := locks.Acquire(t.Context(), request); err != nil { // and loses it, after its MaxHold
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		equal(t, "measured", o.measured(t), `
applock.acquisitions [{acquisition}] applock.object.type=job,db.system.name=postgresql: 2
applock.hold.duration [s] applock.object.type=job,db.system.name=postgresql,error.type=lost: 1, 3599 s
applock.hold.duration [s] applock.object.type=job,db.system.name=postgresql: 1, 5 s
applock.long_holds [{hold}] applock.object.type=job,db.system.name=postgresql: 1
applock.losses [{loss}] applock.object.type=job,db.system.name=postgresql: 1
applock.refusals [{refusal}] applock.object.type=job,db.system.name=postgresql: 2
applock.wait.duration [s] applock.object.type=job,db.system.name=postgresql,error.type=held: 2, 3 s
applock.wait.duration [s] applock.object.type=job,db.system.name=postgresql: 2, 0 s`)
		equal(t, "traced", o.traced(), `
applock.acquire < caller applock.object.id=nightly,applock.object.type=job,db.system.name=postgresql 0s Unset
applock.acquire < none applock.object.id=nightly,applock.object.type=job,db.system.name=postgresql 0s Unset
applock.acquire < none applock.object.id=nightly,applock.object.type=job,db.system.name=postgresql,error.type=held 0s Unset
applock.acquire < none applock.object.id=nightly,applock.object.type=job,db.system.name=postgresql,error.type=held 3s Unset
applock.hold < caller applock.object.id=nightly,applock.object.type=job,db.system.name=postgresql 5s Unset
applock.hold < none applock.object.id=nightly,applock.object.type=job,db.system.name=postgresql,error.type=lost 59m59s Error
caller < none  0s Unset`)
	})
}

// Goal: why a call gave up is told by few words, never by the text of an error. Method: errors as applock returns them, and unknown ones.
func TestErrorTypes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want string
	}{
		{&applock.HeldError{}, "held"},
		{errors.Join(context.DeadlineExceeded, &applock.HeldError{}), "held"},
		{context.DeadlineExceeded, "timeout"},
		{context.Canceled, "canceled"},
		{fmt.Errorf("get a:b: %w", applock.ErrBusy), "busy"},
		{applock.ErrUnreachable, "unreachable"},
		{applock.ErrClosed, "closed"},
		{errors.New("a secret"), "_OTHER"},
	} {
		o := newTelemetry(t)
		o.hooks.Waited(t.Context(), applock.Object{Type: "job", ID: "nightly"}, time.Second, test.err)
		if lines := strings.Join(o.measured(t), "\n"); !strings.Contains(lines, "error.type="+test.want) || strings.Contains(lines, "secret") {
			t.Errorf("%v: %s, want error.type=%s", test.err, lines, test.want)
		}
	}
}
