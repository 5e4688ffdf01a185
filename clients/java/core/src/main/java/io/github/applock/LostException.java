package io.github.applock;

import java.sql.SQLException;

/** The caller no longer has the lock: its work is not protected. */
public final class LostException extends ApplLockException {
    /** The SQLSTATE. */
    public static final String STATE = "LK002";

    private static final long serialVersionUID = 1L;

    LostException(String message, SQLException cause) {
        super(message, STATE, cause);
    }
}
