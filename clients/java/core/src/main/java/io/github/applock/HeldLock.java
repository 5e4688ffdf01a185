package io.github.applock;

import java.time.Duration;
import java.time.Instant;

/**
 * A live lock.
 *
 * @param object what is locked
 * @param owner the holder
 * @param fence the number of the grant, which is greater for every later grant of the object
 * @param acquired when the grant began
 * @param locked when it was last got, renewed or transferred
 * @param expires when it ends
 * @param secondsLeft whole seconds until then by the database's clock, rounded up: count them from before the call
 * @param ttl what the last get, renewal or transfer asked for; null from inquire, which does not tell
 * @param note the holder's note; may be empty
 */
public record HeldLock(
        ApplObject object, Owner owner, long fence, Instant acquired, Instant locked, Instant expires, long secondsLeft,
        Duration ttl, String note) {}
