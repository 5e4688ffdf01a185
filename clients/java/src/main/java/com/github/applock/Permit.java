package com.github.applock;

import java.time.Instant;

/**
 * A permit that an operator has, or one of those that are held when there is none left.
 *
 * @param outcome ACQUIRED, RENEWED, or FULL for each slot when others hold all of them
 * @param slot the object that is locked, for all other operations
 * @param owner who holds it; its operator is empty if it has become free during the call
 * @param fence the number of the grant
 * @param expires when the lock ends unless it is renewed; null if it has become free
 * @param secondsLeft how long that is, by the clock of the database
 * @param note what the holder has noted; may be empty
 */
public record Permit(String outcome, ApplObject slot, Owner owner, long fence, Instant expires, long secondsLeft, String note) {
}
