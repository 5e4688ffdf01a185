package io.github.applock;

import java.time.Duration;

/**
 * The policy of a type.
 *
 * @param type the kind of object
 * @param defaultTtl how long a new grant without a ttl lasts; null is 7 days
 * @param longestTtl the longest ttl; a longer one is shortened to it; null is 3650 days
 * @param takeReason whether a take needs a reason; null is true
 * @param history what the history records: CHANGES, or ALL, which is also each get, renewal, refusal and release; null is CHANGES
 * @param presence whether the viewers of an object are listed and shown; null is true
 * @param yieldAfter how long a holder has to answer a request, at least 60 s; null is no limit
 */
public record Policy(String type, Duration defaultTtl, Duration longestTtl, Boolean takeReason, String history, Boolean presence, Duration yieldAfter) {}
