package io.github.applock;

import java.time.Instant;
import java.util.Optional;

/**
 * A request for a held object.
 *
 * @param object what is asked for
 * @param owner who asks
 * @param client the program that asks
 * @param message what the holder is to read; may be empty
 * @param since since when it asks
 * @param until when it gives up, or null
 * @param waitedSeconds whole seconds that it has asked, rounded down
 * @param answer what the holder answered, LATER or NO; empty for nothing
 * @param answerReason what the holder said to that; may be empty
 * @param holder the holder of the object, or an empty owner if it is free
 * @param secondsLeft whole seconds until the holder's lock ends, rounded up; 0 when it is free
 */
public record Asker(
        ApplObject object, Owner owner, String client, String message, Instant since, Instant until, long waitedSeconds, String answer,
        String answerReason, Optional<Owner> holder, long secondsLeft) {
    /** What a holder answers. */
    public enum Reply {
        /** Who asks has the object from now on. */
        GIVE,
        /** Who asks is told so. */
        LATER,
        /** Who asks is told so, and the holder is not shown the request again. */
        NO
    }
}
