package applock

import (
	"time"

	"github.com/applock/applock/internal/db"
)

// grantOf returns the grant of an owner that a call has answered with.
func grantOf(object Object, owner Owner, result db.Result) Grant {
	return Grant{
		Object:     object,
		Owner:      owner,
		Fence:      Fence(result.Fence),
		AcquiredAt: result.AcquiredTS.Time,
		ExpiresAt:  result.ExpiresTS.Time,
		Left:       seconds(result.SecondsLeft),
		Outcome:    Outcome(result.Outcome),
		Note:       result.Note,
	}
}

// heldBy returns the refusal of a call, with what it tells of the holder.
func heldBy(object Object, result db.Result) *HeldError {
	return &HeldError{Object: object, Holder: holderIn(result)}
}

func holderIn(result db.Result) Holder {
	return Holder{
		Owner:      formerOwner(result),
		AcquiredAt: result.AcquiredTS.Time,
		ExpiresAt:  result.ExpiresTS.Time,
		Left:       seconds(result.SecondsLeft),
		Note:       result.Note,
	}
}

func formerOwner(result db.Result) Owner {
	return Owner{Operator: result.OldOperatorID, Department: result.OldDepartmentID}
}

func seconds(number int64) time.Duration { return time.Duration(number) * time.Second }
