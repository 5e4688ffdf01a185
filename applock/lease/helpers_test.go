package lease_test

import (
	"fmt"
	"time"

	"github.com/applock/applock/applock"
)

func account(id any) applock.Object {
	return applock.Object{Type: "account", ID: fmt.Sprint(id)}
}

func all(objects ...applock.Object) applock.AcquireAllRequest {
	return applock.AcquireAllRequest{Objects: objects, MaxHold: time.Hour}
}
