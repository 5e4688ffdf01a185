package io.github.applock;

import java.util.Map;

/** The outcome of an operation, in one word. {@link Answer#granted} says whether the caller got what it asked for. */
public enum Outcome {
    /** The caller has acquired the lock. */
    ACQUIRED,
    /** The caller has renewed its lock. */
    RENEWED,
    /** The operator's lock is released. */
    RELEASED,
    /** The lock has been handed to another operator. */
    TRANSFERRED,
    /** The caller has taken the lock from its holder. */
    TAKEN,
    /** The holder's note is stored. */
    NOTED,
    /** Nobody holds the lock. */
    FREE,
    /** Another operator holds the lock, or the same one by another grant. */
    HELD,
    /** Other operators hold all permits. */
    FULL,
    /** Another transaction is changing the lock, which was left unchanged: retry. */
    BUSY,
    /** Dry run: the lock would be transferred. */
    WOULD_TRANSFER,
    /** Dry run: the lock would be released. */
    WOULD_RELEASE,
    /** The type's policy is set. */
    SET,
    /** The type's policy is removed. */
    DROPPED,
    /** The type had no policy. */
    NONE,
    /** The request is listed: its holder finds it in the inbox. */
    ASKED,
    /** The asker holds the lock now. */
    GIVEN,
    /** The request is withdrawn. */
    WITHDRAWN,
    /** The asker holds the lock already. */
    OWN,
    /** The answer is stored for the asker. */
    TOLD,
    /** The asker no longer asks. */
    GONE;

    /** Reports whether the outcome means that an operation did what was asked. */
    boolean grants(String operation) {
        Boolean granted = answersOf(operation).get(this);
        if (granted == null) {
            throw VersionException.unknown(operation, name());
        }
        return granted;
    }

    static Outcome of(String operation, String word) {
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
