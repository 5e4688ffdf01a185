package etcdlock_test

import (
	"context"
	"fmt"
	"log"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease/etcdlock"
)

// A job that one program of many runs at a time, on a cluster of three. It outlives a member.
func ExampleNew() {
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            []string{"etcd1:2379", "etcd2:2379", "etcd3:2379"},
		DialKeepAliveTime:    2 * time.Second,
		DialKeepAliveTimeout: 2 * time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	leases, err := etcdlock.New(etcdlock.Config{Client: client})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = leases.Close() }() // before the client
	err = leases.Do(context.Background(), applock.AcquireRequest{
		Object:  applock.Object{Type: "job", ID: "nightly"},
		MaxHold: 2 * time.Hour,
		TTL:     15 * time.Second,
	}, func(ctx context.Context, lease applock.Lease) error {
		fmt.Println("writes carry the fence", lease.Fence())
		return nil
	})
	if err != nil {
		log.Print(err)
	}
}
