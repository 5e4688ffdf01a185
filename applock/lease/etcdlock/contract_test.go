package etcdlock_test

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/etcdlock"
	"github.com/applock/applock/applock/lease/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m, open) }

func TestContract(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	locktest.Exercise(t, locktest.Backend{
		// A namespace and, after a blank, the members.
		Place: func(testing.TB) string {
			return rand.Text() + " " + strings.Join(cluster.endpoints(), ",")
		},
		Open:   open,
		Direct: direct,
		Fences: true,
		Owners: true,
		Losses: map[string]func(t testing.TB, place string, object applock.Object){
			"DeletedKey": func(t testing.TB, place string, object applock.Object) {
				t.Helper()
				namespace, endpoints := split(place)
				if answer, err := connect(t, endpoints...).Delete(t.Context(), keyOf(namespace, object)); err != nil || answer.Deleted != 1 {
					t.Fatalf("deleted %+v, %v", answer, err)
				}
			},
			"RevokedLease": expire,
		},
		Expire: expire,
		Waiters: func(t testing.TB, place, objectType string) int {
			t.Helper()
			namespace, endpoints := split(place)
			answer, err := connect(t, endpoints...).Get(
				t.Context(), namespace+"/waiting/"+objectType+":", clientv3.WithPrefix(), clientv3.WithCountOnly(),
			)
			if err != nil {
				t.Fatal(err)
			}
			return int(answer.Count)
		},
	})
}

// expire waits until the lease of an object expires: then etcd revokes it.
func expire(t testing.TB, place string, object applock.Object) {
	t.Helper()
	namespace, endpoints := split(place)
	client := connect(t, endpoints...)
	answer, err := client.Get(t.Context(), keyOf(namespace, object))
	if err != nil || len(answer.Kvs) != 1 {
		t.Fatalf("the key of %s: %+v, %v", object, answer, err)
	}
	if _, err := client.Revoke(t.Context(), clientv3.LeaseID(answer.Kvs[0].Lease)); err != nil {
		t.Fatal(err)
	}
}

func split(place string) (namespace string, endpoints []string) {
	namespace, list, _ := strings.Cut(place, " ")
	return namespace, strings.Split(list, ",")
}

func keyOf(namespace string, object applock.Object) string {
	return namespace + "/held/" + object.String()
}

func open(_ context.Context, place string) (lease.Locker, func() error, error) {
	namespace, endpoints := split(place)
	client, err := clientv3.New(configOf(endpoints...))
	if err != nil {
		return nil, nil, err
	}
	leases, err := etcdlock.New(etcdlock.Config{Client: client, Namespace: namespace})
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	return leases, func() error { return errors.Join(leases.Close(), client.Close()) }, nil
}

func direct(_ context.Context, place string) (lease.Backend, func() error, error) {
	namespace, endpoints := split(place)
	client, err := clientv3.New(configOf(endpoints...))
	if err != nil {
		return nil, nil, err
	}
	backend := etcdlock.NewBackend(etcdlock.Config{Client: client, Namespace: namespace})
	return backend, func() error { return errors.Join(backend.(io.Closer).Close(), client.Close()) }, nil
}
