// Package etcd pins the etcd that the tests of applock/lease/etcdlock start: go.mod has it as a tool.
package etcd
