package io.github.applock;

import java.time.Duration;

/**
 * What is laid down for objects of a type.
 *
 * @param type the kind of object
 * @param defaultTtl how long a new grant lasts for which no ttl is given; null is 7 days
 * @param longestTtl the greatest ttl, to which a greater one is cut; null is 3650 days
 * @param takeReason whether who takes a lock away must say why; null is true
 * @param history what the history is told: CHANGES, or ALL, each get, renewal, refusal and release, too; null is CHANGES
 * @param presence whether it is recorded and shown who looks at an object; null is true
 * @param yieldAfter how long a holder may leave a request unanswered, at least 60 s; null is for ever
 */
public record Policy(String type, Duration defaultTtl, Duration longestTtl, Boolean takeReason, String history, Boolean presence, Duration yieldAfter) {}
