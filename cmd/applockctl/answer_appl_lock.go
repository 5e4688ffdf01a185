package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

// answerToAsker adds the asker and the answer that was given.
type answerToAsker struct {
	lockAnswer
	AskerID  string            `json:"asker_id"`
	ClientID string            `json:"client_id"`
	Answer   applock.AskAnswer `json:"answer"`
	Reason   string            `json:"reason"`
}

func (a *app) answerApplLockCommand() *cobra.Command {
	var request applock.AnswerRequest
	var give, later, no bool
	command := &cobra.Command{
		Use:   "answer OBJECT --operator O --fence N --asker A (--give | --later | --no) [--client C] [--reason R]",
		Short: "Answer a request for a held object",
		Long: `Answers a request that "applockctl inbox" or "applockctl asking" has shown. --give ends the operator's lock
and gives the asker a new one of a minute, which the asker renews with "get". The history keeps this, and
the operator finds it in the inbox. --later and --no change no lock: the asker finds the answer in the
inbox.

Prints GIVEN or TOLD (exit code 0); GONE if the asker no longer asks, HELD with the holder if somebody
else, or another grant than --fence, holds the object, or FREE if nobody does (exit code 1).`,
		Example: `  applockctl answer customer:42 --operator jdoe --fence 1795785256123456 --asker brown --give
  applockctl answer customer:42 --operator jdoe --fence 1795785256123456 --asker brown --later --reason "at 3"`,
		Args:              oneObject,
		ValidArgsFunction: a.completeObjects,
		RunE: body(func(ctx context.Context, args []string) error {
			request.Answer = chosenAnswer(give, later)
			return a.answerApplLock(ctx, args, request)
		}),
	}
	a.operatorFlag(command, &request.Key.Operator, "who holds the object", a.completeHolder)
	fenceFlag(command, &request.Key.Fence, "the operator's grant, as the inbox shows it")
	command.Flags().StringVar(&request.Asker, "asker", "", "who asks")
	command.Flags().StringVar(&request.Client, "client", "", "the asking program (any)")
	command.Flags().BoolVar(&give, "give", false, "let the asker have the object")
	command.Flags().BoolVar(&later, "later", false, "tell the asker: later")
	command.Flags().BoolVar(&no, "no", false, "tell the asker: no")
	command.Flags().StringVar(&request.Reason, "reason", "", "a text for the asker")
	require(command, "fence", "asker")
	command.MarkFlagsOneRequired("give", "later", "no")
	command.MarkFlagsMutuallyExclusive("give", "later", "no")
	offers(command, "asker", a.completeOperator)
	return command
}

// chosenAnswer is NO if neither flag is set.
func chosenAnswer(give, later bool) applock.AskAnswer {
	switch {
	case give:
		return applock.AnswerGive
	case later:
		return applock.AnswerLater
	}
	return applock.AnswerNo
}

func (a *app) answerApplLock(ctx context.Context, texts []string, request applock.AnswerRequest) error {
	return a.eachObject(ctx, "answer", texts, answerToAsker{}, func(ctx context.Context, s session, object applock.Object) (record, error) {
		request.Key.Object = object
		answer := &answerToAsker{
			lockAnswer: newAnswer(object, applock.Owner{Operator: request.Key.Operator}),
			AskerID:    trim(request.Asker), ClientID: trim(request.Client), Answer: request.Answer, Reason: trim(request.Reason),
		}
		answered, err := s.Answer(ctx, request)
		switch {
		case errors.Is(err, applock.ErrNotAsking):
			answer.Outcome, answer.Holder, answer.Fence = applock.OutcomeGone, answer.OperatorID, request.Key.Fence
			return answer, errNo
		case err != nil:
			return answer, a.refused(&answer.lockAnswer, err)
		case answered.Outcome == applock.OutcomeGiven:
			answer.heldUntil(answered, answer.AskerID, 0)
		default:
			answer.heldUntil(answered, answer.OperatorID, request.Key.Fence)
		}
		return answer, nil
	})
}

// heldUntil fills in the holder after the answer. Only the new holder may learn the fence of a new grant, so it is 0 for a given lock.
func (t *answerToAsker) heldUntil(answered applock.Answered, holder string, fence applock.Fence) {
	t.heldBy(answered.Outcome, applock.Holder{
		Owner: applock.Owner{Operator: holder}, Fence: fence, ExpiresAt: answered.ExpiresAt, Left: answered.Left,
	})
}
