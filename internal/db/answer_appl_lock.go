package db

import "context"

func answerApplLock() Operation {
	return Operation{
		Name:    "answer_appl_lock",
		Summary: "Answer an operator who asks for a held object: give it, or say later or no.",
		Parameters: []Parameter{
			objectType(), objectID(),
			{"p_operator_id", In, Text, "who holds it, 1 to 255 characters"},
			{"p_fence", In, Number, "the grant that the answer is about, 1 or greater"},
			{"p_asker_id", In, Text, "who asks, 1 to 255 characters"},
			{"p_client_id", In, Text, "the asker's program, 1 to 64 characters; NULL = any"},
			{"p_answer", In, Text, "`GIVE`: the asker gets it; `LATER` or `NO`: the asker's inbox shows the answer"},
			{"p_reason", In, Text, "the message to the asker, for `GIVE` also to the history, up to 255 characters; NULL = empty"},
			okFL(), outcome(), oldOperatorID(), oldDepartmentID(),
			acquiredTS(),
			{"p_expires_ts", Out, Timestamp, "`GIVEN`: when the asker's lock ends unless the asker calls get first; `TOLD` and `HELD`: when the lock ends; NULL when `FREE` or `GONE`"},
			secondsLeft(),
		},
		Answers: []Answer{
			granted("GIVEN", "the asker holds it: a new grant for 60 s; the asker's next get renews it for its ttl"),
			granted("TOLD", "the asker finds `LATER` or `DECLINED` in its inbox"),
			refused("HELD", "another operator or grant holds it"),
			refused("FREE", "nobody holds it"),
			refused("GONE", "the asker does not ask any more"),
		},
	}
}

// AnswerApplLockParams are the IN parameters of answer_appl_lock. An empty ClientID is NULL: any client of the asker.
type AnswerApplLockParams struct {
	ObjectType string
	ObjectID   string
	OperatorID string
	Fence      int64
	AskerID    string
	ClientID   string
	Answer     string
	Reason     string
}

// AnswerApplLock calls answer_appl_lock_row.
func (r Routines) AnswerApplLock(ctx context.Context, params AnswerApplLockParams) (Result, error) {
	return Row(ctx, r, "answer_appl_lock_row", []any{
		params.ObjectType, params.ObjectID, params.OperatorID, params.Fence, params.AskerID, orNull(params.ClientID),
		params.Answer, params.Reason,
	}, func(result *Result) []any {
		return append(result.holder(), &result.AcquiredTS, &result.ExpiresTS, &result.SecondsLeft)
	})
}
