package io.github.applock;

import java.time.Instant;
import java.util.List;

/**
 * What a request for a permit answers.
 *
 * @param granted whether the caller has a permit
 * @param outcome ACQUIRED, RENEWED or FULL
 * @param slot the object that is locked, for all other operations; null when FULL
 * @param owner the caller, with the department of its grant; null when FULL
 * @param fence the number of the grant, or 0
 * @param acquired when the grant began; null when FULL
 * @param expires when the lock ends unless it is renewed; null when FULL
 * @param secondsLeft whole seconds until then by the database's clock, rounded up
 * @param note the caller's note; may be empty
 * @param holders the holders of all slots for FULL, the earliest to expire first; else empty
 */
public record Permit(
        boolean granted, Outcome outcome, ApplObject slot, Owner owner, long fence, Instant acquired, Instant expires, long secondsLeft,
        String note, List<Holder> holders) {
    /**
     * One permit of those that are held.
     *
     * @param slot the object that is locked
     * @param owner the holder; its operator is empty if the slot became free during the call
     * @param fence the number of the grant
     * @param acquired when the grant began; null if the slot has become free
     * @param expires when the lock ends unless it is renewed; null if it has become free
     * @param secondsLeft whole seconds until then by the database's clock, rounded up
     * @param note the holder's note; may be empty
     */
    public record Holder(
            ApplObject slot, Owner owner, long fence, Instant acquired, Instant expires, long secondsLeft, String note) {}

    static Permit full(List<Holder> holders) {
        return new Permit(Outcome.FULL.grants("get_appl_lock_permit"), Outcome.FULL, null, null, 0, null, null, 0, "", holders);
    }

    static Permit of(Outcome outcome, Holder own) {
        return new Permit(outcome.grants("get_appl_lock_permit"), outcome, own.slot(), own.owner(), own.fence(), own.acquired(),
                own.expires(), own.secondsLeft(), own.note(), List.of());
    }
}
