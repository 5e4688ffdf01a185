package com.github.applock;

import java.sql.SQLException;
import java.sql.SQLNonTransientException;

/**
 * A misuse ({@link #INVALID}), or an assertion that does not hold ({@link #ASSERTION}). Trying again cannot help, which the drivers do not
 * know: MariaDB's hands out the same as a transient connection exception. The cause is the driver's
 * own exception, if there is one.
 */
public final class ApplLockException extends SQLNonTransientException {
    /** The SQLSTATE of an argument that cannot be; the message names it. */
    public static final String INVALID = "LK001";
    /** The SQLSTATE of an assertion that does not hold; the message names the holder. */
    public static final String ASSERTION = "LK002";
    /** The SQLSTATE of an object that changed hands too often during a call, which is worth trying again. */
    public static final String CONTENTION = "LK003";

    private static final long serialVersionUID = 1L;

    ApplLockException(String state, String message) {
        super(message, state);
    }

    ApplLockException(SQLException cause) {
        super(cause.getMessage(), cause.getSQLState(), cause.getErrorCode(), cause);
    }
}
