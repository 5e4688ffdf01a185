package io.github.applock;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/**
 * A grant to be renewed, and how that went.
 */
public final class Renewal {
    private Renewal() {}

    /**
     * A grant to be renewed.
     *
     * @param object what is locked
     * @param operator the holder
     * @param fence the number of the grant
     * @param ttl how long the lock is to live from now on, in whole seconds. It never ends sooner than before
     */
    public record Grant(ApplObject object, String operator, Number fence, Duration ttl) {}

    /**
     * What became of a grant. A grant without a result was busy in another transaction: ask again.
     *
     * @param object what is locked
     * @param granted whether the grant lives on
     * @param outcome RENEWED, or HELD or FREE if the grant has ended
     * @param holder the present holder, if the outcome is HELD
     * @param acquired when the holder's grant began, if the outcome is HELD; else null
     * @param expires when the lock ends
     * @param secondsLeft whole seconds until then by the database's clock, rounded up
     */
    public record Result(
            ApplObject object, boolean granted, Outcome outcome, Optional<Owner> holder, Instant acquired, Instant expires,
            long secondsLeft) {}

    /** Writes grants as the operation reads them. */
    static String document(Iterable<Grant> grants) {
        StringBuilder json = new StringBuilder("[");
        for (Grant grant : grants) {
            json.append(json.length() == 1 ? "{" : ", {");
            text(json, "object_type", grant.object().type()).append(", ");
            text(json, "object_id", grant.object().id()).append(", ");
            text(json, "operator_id", grant.operator()).append(", \"fence\": ").append(grant.fence());
            json.append(", \"ttl_seconds\": ").append(Rows.seconds("ttl", grant.ttl())).append('}');
        }
        return json.append(']').toString();
    }

    private static StringBuilder text(StringBuilder json, String name, String value) {
        json.append('"').append(name).append("\": ");
        if (value == null) {
            return json.append("null");
        }
        json.append('"');
        for (char c : value.toCharArray()) {
            if (c == '"' || c == '\\') {
                json.append('\\').append(c);
            } else if (c < ' ') {
                json.append(String.format("\\u%04x", (int) c));
            } else {
                json.append(c);
            }
        }
        return json.append('"');
    }
}
