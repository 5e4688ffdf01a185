package applock_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/applocktest"
	"github.com/applock/applock/applock/lease/inprocess"
)

// filled returns an argument that is valid, or nearly.
func filled(of reflect.Type) reflect.Value {
	object, owner := applock.Object{Type: "order", ID: "4711"}, applock.Owner{Operator: "JDOE"}
	key := applock.Key{Object: object, Operator: "JDOE", Fence: 1}
	for _, known := range []any{object, owner, []applock.Object{object}, key, time.Minute, "JDOE", applock.AnswerNo, 1, int64(1)} {
		if reflect.TypeOf(known) == of {
			return reflect.ValueOf(known)
		}
	}
	value := reflect.New(of).Elem()
	switch of.Kind() {
	case reflect.Struct:
		for i := range of.NumField() {
			if field := of.Field(i); field.IsExported() && field.Name != "Prefix" { // which excludes others
				value.Field(i).Set(filled(of.Field(i).Type))
				if field.Name == "From" { // who is not To
					value.Field(i).SetString("ASMITH")
				}
			}
		}
	case reflect.Func:
		return reflect.MakeFunc(of, func([]reflect.Value) []reflect.Value { panic("called") })
	default:
	}
	return value
}

// refusalOf calls a method with a context, and returns its error, or what it has panicked with.
func refusalOf(method reflect.Value, ctx context.Context) (refusal any) {
	defer func() {
		if recovered := recover(); recovered != nil {
			refusal = recovered
		}
	}()
	context := reflect.New(method.Type().In(0)).Elem()
	if ctx != nil {
		context.Set(reflect.ValueOf(ctx))
	}
	arguments := []reflect.Value{context}
	for i := 1; i < method.Type().NumIn(); i++ {
		arguments = append(arguments, filled(method.Type().In(i)))
	}
	results := method.Call(arguments)
	last := results[len(results)-1]
	if last.Kind() != reflect.Func {
		return last.Interface()
	}
	for _, err := range last.Seq2() {
		return err.Interface()
	}
	return nil
}

// Goal: a nil context is refused in words, in the goroutine that calls, and a lease can still be released after it. Method: every method of a client,
// of leases, of a lease and of a set that takes a context.
func TestNilContextIsRefused(t *testing.T) {
	t.Parallel()
	client := applocktest.New(t).Client
	leases := inprocess.New()
	t.Cleanup(func() { _ = leases.Close() })
	held, err := client.Acquire(t.Context(), applock.AcquireRequest{Object: applock.Object{Type: "order", ID: "1"}, MaxHold: time.Hour})
	set, setErr := client.AcquireAll(t.Context(), applock.AcquireAllRequest{Objects: []applock.Object{{Type: "order", ID: "2"}}, MaxHold: time.Hour})
	if err := errors.Join(err, setErr); err != nil {
		t.Fatal(err)
	}
	methods := 0
	for _, of := range []any{client, leases, held, set} {
		value := reflect.ValueOf(of)
		for i := range value.NumMethod() {
			method := value.Method(i)
			name := value.Type().Method(i).Name
			if method.Type().NumIn() == 0 || method.Type().In(0) != reflect.TypeFor[context.Context]() || name == "Serialize" { // needs a transaction
				continue
			}
			methods++
			refusal := refusalOf(method, nil)
			var invalid *applock.InvalidError
			err, _ := refusal.(error)
			_, isBare := refusal.(runtime.Error)
			isInWords := strings.Contains(fmt.Sprint(refusal), "nil") && !isBare
			if !isInWords || errors.As(err, &invalid) && invalid.Argument != "ctx" {
				t.Errorf("%T.%s: %v", of, name, refusal)
			}
		}
	}
	if methods < 40 {
		t.Errorf("%d methods take a context: this test does not see them", methods)
	}
	if err := errors.Join(held.Release(t.Context()), set.Release(t.Context())); err != nil {
		t.Error(err)
	}
}
