package io.github.applock;

import java.time.Instant;
import java.util.Optional;

/**
 * What an operation on one object answers.
 *
 * @param granted whether the caller has got what it asked for
 * @param outcome how, in one word
 * @param holder the holder for HELD and ASKED; the former holder for TAKEN from another
 *     operator, or GIVEN to the caller that asked; else nobody
 * @param fence the number of the caller's grant, or 0
 * @param acquired when the grant began that ends then; null when there is none, and of a release
 * @param expires when the lock ends, whoever holds it; null when there is none, and of a release
 * @param secondsLeft whole seconds until then by the database's clock, rounded up: count them from before the call
 * @param note the holder's note when a get is refused; the caller's own note when it renews; else empty
 */
public record Answer(
        boolean granted, Outcome outcome, Optional<Owner> holder, long fence, Instant acquired, Instant expires, long secondsLeft,
        String note) {

    static Answer of(String operation, Outcome outcome, Owner holder) {
        return of(operation, outcome, holder, 0, null, null, 0, "");
    }

    static Answer of(String operation, Outcome outcome, Owner holder, long fence, Instant acquired, Instant expires, long secondsLeft,
            String note) {
        return new Answer(outcome.grants(operation), outcome, holder.known(), fence, acquired, expires, secondsLeft, note);
    }
}
