package io.github.applock;

import java.sql.SQLException;

/** The object changed hands too often during the call, which changed nothing: call again. */
public final class ContentionException extends ApplLockException {
    /** The SQLSTATE. */
    public static final String STATE = "LK003";

    private static final long serialVersionUID = 1L;

    ContentionException(String message, SQLException cause) {
        super(message, STATE, cause);
    }
}
