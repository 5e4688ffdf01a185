package io.github.applock;

/** A lease was not acquired in time: another operator holds the object. */
public final class HeldException extends ApplLockException {
    private static final long serialVersionUID = 1L;

    private final transient Answer answer;

    HeldException(ApplObject object, Answer answer) {
        super(object + " is held by " + answer.holder().map(Owner::operator).orElse("another transaction")
                + (answer.secondsLeft() > 0 ? " for " + answer.secondsLeft() + " s" : ""), null, null);
        this.answer = answer;
    }

    /**
     * The refusal.
     *
     * @return the last answer, with the holder; of an exception that was serialized null
     */
    public Answer answer() {
        return answer;
    }
}
