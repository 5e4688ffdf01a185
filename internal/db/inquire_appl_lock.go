package db

import "context"

func inquireApplLock() Operation {
	return Operation{
		Name:    "inquire_appl_lock",
		Summary: "Show who holds an object, since when and until when.",
		Parameters: []Parameter{
			objectType(), objectID(),
			okFL(),
			{"p_operator_id", Out, Text, "the holder; empty when `N`"},
			{"p_department_id", Out, Text, "the holder's department; empty when `N`"},
			{"p_fence", Out, Number, "fencing token of the grant; 0 when `N`"},
			{"p_acquired_ts", Out, Timestamp, "start of the grant; NULL when `N`"},
			{"p_lock_ts", Out, Timestamp, "last get, renewal or transfer; NULL when `N`"},
			{"p_expires_ts", Out, Timestamp, "when the lock ends; NULL when `N`"},
			secondsLeft(),
			{"p_note", Out, Text, "the holder's note; empty when there is none, and when `N`"},
		},
		Answers: []Answer{
			remark("`Y`: it is locked"),
			remark("`N`: it is free or expired"),
		},
	}
}

// InquireApplLockParams are the IN parameters of inquire_appl_lock.
type InquireApplLockParams struct {
	ObjectType string
	ObjectID   string
}

// InquireApplLockResult are the OUT parameters of inquire_appl_lock. Lock is zero when OkFL is No.
type InquireApplLockResult struct {
	OkFL Flag
	Lock Lock
}

// InquireApplLock calls inquire_appl_lock_row.
func (r Routines) InquireApplLock(ctx context.Context, params InquireApplLockParams) (InquireApplLockResult, error) {
	args := []any{params.ObjectType, params.ObjectID}
	result, err := Row(ctx, r, "inquire_appl_lock_row", args, func(result *InquireApplLockResult) []any {
		lock := &result.Lock
		return []any{
			&result.OkFL, &lock.OperatorID, &lock.DepartmentID, &lock.Fence,
			&lock.AcquiredTS, &lock.LockTS, &lock.ExpiresTS, &lock.SecondsLeft, &lock.Note,
		}
	})
	if result.OkFL != Yes {
		return InquireApplLockResult{OkFL: result.OkFL}, err
	}
	result.Lock.ObjectType, result.Lock.ObjectID = params.ObjectType, params.ObjectID
	return result, err
}
