// Package otelapplock records leases with OpenTelemetry: how many are acquired, refused and lost, how long callers wait for them, and how
// long they are held. [Hooks] returns the Hooks for the configuration of a client or of another backend.
//
// The names follow the semantic conventions 1.43.0: units and error.type those of metrics and of recording errors
// (https://opentelemetry.io/docs/specs/semconv/general/metrics/, https://opentelemetry.io/docs/specs/semconv/general/recording-errors/),
// and db.system.name and db.namespace, for Config.Attributes, those of database clients
// (https://opentelemetry.io/docs/specs/semconv/db/database-metrics/). Locks have no convention, so the other names begin with applock. A
// lease is no database call: for db.client.operation.duration instrument the driver, by otelpgx or otelsql for example.
//
// Instruments, each with applock.object.type:
//
//	applock.acquisitions   {acquisition}  counter: objects that were acquired
//	applock.refusals       {refusal}      counter: calls that gave up because somebody else held the object
//	applock.losses         {loss}         counter: leases that were lost, or have run out
//	applock.wait.duration  s              histogram: from the call until it had the object, or gave up: with error.type then
//	applock.hold.duration  s              histogram: from then until the release, or the loss: with error.type then
//
// Object types are attributes, so use few of them. Object ids appear in spans only. Re-entering counts neither as an acquisition nor as a
// wait. Locks by Get and Release, for people, are no leases: "applockctl stats" counts those.
//
// A span is recorded at its end, as a child of the span in the context that acquired: "applock.acquire" for each wait, and "applock.hold"
// for each hold, which may end long after its parent. A refusal does not mark the span as an error; its error.type is held.
package otelapplock

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// Config selects the providers. The zero value is usable.
type Config struct {
	// MeterProvider and TracerProvider receive the measurements and the spans; nil is OpenTelemetry's global one. To switch one off use
	// go.opentelemetry.io/otel/metric/noop or trace/noop.
	MeterProvider  metric.MeterProvider
	TracerProvider trace.TracerProvider
	// Attributes are added to all measurements and spans, such as semconv.DBSystemNamePostgreSQL.
	Attributes []attribute.KeyValue
	// LongHold is the age at which a held lease is counted as a long hold, once; zero means never.
	LongHold time.Duration
}

// scope is the name of the meter and of the tracer.
const scope = "github.com/applock/applock/applock/adapters/otelapplock"

// The attributes without a convention.
const (
	objectTypeKey = attribute.Key("applock.object.type")
	objectIDKey   = attribute.Key("applock.object.id")
	operationHold = "applock.hold"
	operationWait = "applock.acquire"
)

// Hooks returns hooks that record leases, for the field Hooks of one or several clients or backends. The error is that of a meter which
// refuses an instrument.
func Hooks(config Config) (lease.Hooks, error) {
	if config.MeterProvider == nil {
		config.MeterProvider = otel.GetMeterProvider()
	}
	if config.TracerProvider == nil {
		config.TracerProvider = otel.GetTracerProvider()
	}
	r := recorder{
		tracer:     config.TracerProvider.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL)),
		attributes: slices.Clone(config.Attributes),
	}
	meter := config.MeterProvider.Meter(scope, metric.WithSchemaURL(semconv.SchemaURL))
	var errs [6]error
	r.acquisitions, errs[0] = meter.Int64Counter("applock.acquisitions",
		metric.WithUnit("{acquisition}"), metric.WithDescription("Objects that were acquired."))
	r.refusals, errs[1] = meter.Int64Counter("applock.refusals",
		metric.WithUnit("{refusal}"), metric.WithDescription("Calls that gave up because somebody else held the object."))
	r.losses, errs[2] = meter.Int64Counter("applock.losses",
		metric.WithUnit("{loss}"), metric.WithDescription("Leases that were lost, or have run out."))
	r.waits, errs[3] = meter.Float64Histogram("applock.wait.duration", metric.WithUnit("s"),
		metric.WithDescription("From the call until it had the object, or gave up."),
		metric.WithExplicitBucketBoundaries(.001, .005, .01, .05, .1, .5, 1, 5, 10, 60, 600, 3600))
	r.holds, errs[4] = meter.Float64Histogram("applock.hold.duration", metric.WithUnit("s"),
		metric.WithDescription("From the acquisition until the release, or the loss."),
		metric.WithExplicitBucketBoundaries(.01, .1, 1, 10, 60, 600, 3600, 8*3600, 24*3600, 7*24*3600))
	r.longHolds, errs[5] = meter.Int64Counter("applock.long_holds",
		metric.WithUnit("{hold}"), metric.WithDescription("Leases that were held for longer than Config.LongHold."))
	hooks := lease.Hooks{Waited: r.waited, Held: r.held, LongHold: config.LongHold, LongHeld: r.longHeld, Lost: r.lost}
	return hooks, errors.Join(errs[:]...)
}

// recorder implements the hooks. It is safe for concurrent use.
type recorder struct {
	tracer                         trace.Tracer
	attributes                     []attribute.KeyValue
	acquisitions, refusals, losses metric.Int64Counter
	longHolds                      metric.Int64Counter
	waits, holds                   metric.Float64Histogram
}

func (r recorder) waited(ctx context.Context, object applock.Object, waited time.Duration, err error) {
	plain := metric.WithAttributeSet(attribute.NewSet(r.with(object)...))
	switch {
	case err == nil:
		r.acquisitions.Add(ctx, 1, plain)
	case errors.Is(err, applock.ErrHeld):
		r.refusals.Add(ctx, 1, plain)
	}
	attributes := r.with(object, errorType(err)...)
	r.waits.Record(ctx, waited.Seconds(), metric.WithAttributeSet(attribute.NewSet(attributes...)))
	r.span(ctx, span{name: operationWait, object: object, length: waited, err: err, attributes: attributes})
}

func (r recorder) held(ctx context.Context, object applock.Object, held time.Duration) {
	r.ended(ctx, object, held, nil)
}

func (r recorder) longHeld(ctx context.Context, object applock.Object, _ time.Duration) {
	r.longHolds.Add(ctx, 1, metric.WithAttributeSet(attribute.NewSet(r.with(object)...)))
}

func (r recorder) lost(ctx context.Context, object applock.Object, held time.Duration, cause error) {
	r.losses.Add(ctx, 1, metric.WithAttributeSet(attribute.NewSet(r.with(object)...)))
	r.ended(ctx, object, held, cause)
}

func (r recorder) ended(ctx context.Context, object applock.Object, held time.Duration, cause error) {
	attributes := r.with(object, errorType(cause)...)
	r.holds.Record(ctx, held.Seconds(), metric.WithAttributeSet(attribute.NewSet(attributes...)))
	r.span(ctx, span{name: operationHold, object: object, length: held, err: cause, attributes: attributes})
}

// with returns the attributes of an object, followed by more.
func (r recorder) with(object applock.Object, more ...attribute.KeyValue) []attribute.KeyValue {
	return append(append(slices.Clip(r.attributes), objectTypeKey.String(object.Type)), more...)
}

// span is a span that ends now.
type span struct {
	name       string
	object     applock.Object
	length     time.Duration
	err        error
	attributes []attribute.KeyValue
}

func (r recorder) span(ctx context.Context, s span) {
	end := time.Now()
	_, made := r.tracer.Start(ctx, s.name,
		trace.WithTimestamp(end.Add(-s.length)),
		trace.WithAttributes(s.attributes...), trace.WithAttributes(objectIDKey.String(s.object.ID)))
	if s.err != nil && !errors.Is(s.err, applock.ErrHeld) || errors.Is(s.err, applock.ErrLost) {
		made.SetStatus(codes.Error, s.err.Error())
	}
	made.End(trace.WithTimestamp(end))
}

// errorType returns error.type, one of a few words, or nothing without an error.
func errorType(err error) []attribute.KeyValue {
	if err == nil {
		return nil
	}
	word := semconv.ErrorTypeOther.Value.AsString()
	for _, known := range []struct {
		err  error
		word string
	}{
		{applock.ErrLost, "lost"}, // before the cause of the loss
		{applock.ErrHeld, "held"}, // even if ctx has ended as well
		{applock.ErrBusy, "busy"},
		{applock.ErrUnreachable, "unreachable"},
		{applock.ErrOutcomeUnknown, "outcome_unknown"},
		{applock.ErrReadOnly, "read_only"},
		{applock.ErrPrivilege, "privilege"},
		{applock.ErrSchema, "schema"},
		{applock.ErrClosed, "closed"},
		{context.DeadlineExceeded, "timeout"},
		{context.Canceled, "canceled"},
	} {
		if errors.Is(err, known.err) {
			word = known.word
			break
		}
	}
	return []attribute.KeyValue{semconv.ErrorTypeKey.String(word)}
}
