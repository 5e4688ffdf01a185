package io.github.applock;

import java.util.Map;

/** What became of an object, in one word. Whether the caller has got what it asked for depends on what it asked: {@link Answer#granted}. */
public enum Outcome {
    /** The caller holds the lock, and did not before. */
    ACQUIRED,
    /** The caller holds the lock, as it did before. */
    RENEWED,
    /** The caller held the lock, and has let it go. */
    RELEASED,
    /** The lock is another operator's now. */
    TRANSFERRED,
    /** The caller holds the lock, which was held before. */
    TAKEN,
    /** The caller holds the lock, and this is its note now. */
    NOTED,
    /** Nobody holds the lock. */
    FREE,
    /** Somebody else holds the lock, or the same operator by another grant. */
    HELD,
    /** Others hold all permits. */
    FULL,
    /** Another transaction is changing the lock, which was left as it was: ask again. */
    BUSY,
    /** The lock would have been transferred, had it not been a dry run. */
    WOULD_TRANSFER,
    /** The lock would have been released, had it not been a dry run. */
    WOULD_RELEASE,
    /** The type has this policy now. */
    SET,
    /** The type has no policy any more. */
    DROPPED,
    /** The type had no policy. */
    NONE,
    /** The request is listed: its holder finds it in the inbox. */
    ASKED,
    /** Who asked for the lock holds it now. */
    GIVEN,
    /** The request is not listed any more. */
    WITHDRAWN,
    /** The operator that asks holds the lock itself. */
    OWN,
    /** Who asked is told the answer. */
    TOLD,
    /** The operator to be answered does not ask any more. */
    GONE;

    /** Tells whether an operation that answers so has done what it was asked for. */
    boolean grants(String operation) throws VersionException {
        Boolean granted = answersOf(operation).get(this);
        if (granted == null) {
            throw VersionException.unknown(operation, name());
        }
        return granted;
    }

    static Outcome of(String operation, String word) throws VersionException {
        for (Outcome outcome : values()) {
            if (outcome.name().equals(word)) {
                return outcome;
            }
        }
        throw VersionException.unknown(operation, word);
    }

    private static Map<Outcome, Boolean> answersOf(String operation) {
        return switch (operation) {
            // outcomes: made by `make generate` from the contract
            case "get_appl_lock" -> Map.of(ACQUIRED, true, RENEWED, true, HELD, false);
            case "get_appl_lock_permit" -> Map.of(ACQUIRED, true, RENEWED, true, FULL, false);
            case "release_appl_lock" -> Map.of(RELEASED, true, FREE, true, HELD, false);
            case "release_appl_locks" -> Map.of(RELEASED, true, BUSY, false, HELD, false, FREE, false, WOULD_RELEASE, false);
            case "transfer_appl_lock" -> Map.of(TRANSFERRED, true, HELD, false, FREE, false);
            case "take_appl_lock" -> Map.of(TAKEN, true, HELD, false, FREE, false);
            case "transfer_appl_locks" -> Map.of(TRANSFERRED, true, BUSY, false, HELD, false, FREE, false, WOULD_TRANSFER, false);
            case "note_appl_lock" -> Map.of(NOTED, true, FREE, false, HELD, false);
            case "renew_appl_locks" -> Map.of(RENEWED, true, HELD, false, FREE, false);
            case "set_appl_lock_policy" -> Map.of(SET, true);
            case "drop_appl_lock_policy" -> Map.of(DROPPED, true, NONE, false);
            case "ask_appl_lock" -> Map.of(ASKED, true, GIVEN, true, WITHDRAWN, true, FREE, false, OWN, false);
            case "answer_appl_lock" -> Map.of(GIVEN, true, TOLD, true, HELD, false, FREE, false, GONE, false);
            // outcomes: end
            default -> Map.of();
        };
    }
}
