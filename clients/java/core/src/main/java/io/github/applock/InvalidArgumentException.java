package io.github.applock;

import java.sql.SQLException;

/** A mistake of the caller's, such as an invalid argument, which the message names: the same call fails again. */
public final class InvalidArgumentException extends ApplLockException {
    /** The SQLSTATE. */
    public static final String STATE = "LK001";

    private static final long serialVersionUID = 1L;

    InvalidArgumentException(String message, SQLException cause) {
        super(message, STATE, cause);
    }
}
