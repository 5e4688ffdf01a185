package io.github.applock;

import java.time.Instant;

/**
 * The holder, an asker or a viewer of an object.
 *
 * @param kind HOLDER, also where that is the operator itself; ASKER or VIEWER, once for each other program
 * @param owner who it is
 * @param client the browser tab or program; empty for HOLDER
 * @param state what a VIEWER does: VIEWING, EDITING or IDLE; else empty
 * @param since the start of the grant of a HOLDER; since when that one asks or looks
 * @param secondsLeft whole seconds to the end of the lock of a HOLDER; until that one is not listed any more; rounded up
 * @param message what an ASKER has to say; else empty
 */
public record Presence(String kind, Owner owner, String client, String state, Instant since, long secondsLeft, String message) {
    /** What a viewer does. */
    public enum State {
        /** It looks at the object. */
        VIEWING,
        /** It edits the object. */
        EDITING,
        /** The object is open where nobody looks. */
        IDLE
    }

    /**
     * A viewer of an object, of the view appl_lock_viewers.
     *
     * @param object what it looks at
     * @param owner who looks
     * @param client the browser tab or program
     * @param state VIEWING, EDITING or IDLE
     * @param since since when it looks
     * @param secondsLeft whole seconds until it is not listed any more, unless it calls again; rounded up
     */
    public record Viewer(ApplObject object, Owner owner, String client, String state, Instant since, long secondsLeft) {}
}
