package etcdlock

import (
	"errors"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/applock/applock/applock"
)

// Goal: the kind of each error says what a caller can do. Method: errors of etcd, as its client gives them.
func TestKinds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		of   error
		want error
	}{
		"a member without a leader":     {of: unanswered(rpctypes.ErrNoLeader), want: applock.ErrUnreachable},
		"a member that has just begun":  {of: unanswered(rpctypes.ErrNotCapable), want: applock.ErrUnreachable},
		"too many requests":             {of: unanswered(rpctypes.ErrTooManyRequests), want: applock.ErrBusy},
		"no right":                      {of: unanswered(rpctypes.ErrPermissionDenied), want: applock.ErrPrivilege},
		"a change without a leader":     {of: changeFailed(rpctypes.ErrNoLeader), want: applock.ErrUnreachable},
		"a change by a new member":      {of: changeFailed(rpctypes.ErrNotCapable), want: applock.ErrUnreachable},
		"a change without an answer":    {of: changeFailed(rpctypes.ErrTimeout), want: applock.ErrOutcomeUnknown},
		"a change of a lease that ends": {of: changeFailed(rpctypes.ErrLeaseNotFound), want: applock.ErrBusy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !errors.Is(test.of, test.want) {
				t.Errorf("%v, want %v", test.of, test.want)
			}
		})
	}
}
