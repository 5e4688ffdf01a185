package io.github.applock;

import java.sql.SQLException;

/**
 * An error of applock's own. Each subclass calls for one reaction. All other SQLExceptions are the driver's, unchanged. Catch this class
 * before SQLException, and do not rely on the driver's classes: mariadb-java-client reports a misuse as a transient connection exception.
 * The cause is the driver's exception, if there is one.
 */
public abstract sealed class ApplLockException extends SQLException
        permits InvalidArgumentException, LostException, ContentionException, HeldException, VersionException {
    private static final long serialVersionUID = 1L;

    ApplLockException(String message, String state, SQLException cause) {
        super(message, state, cause == null ? 0 : cause.getErrorCode(), cause);
    }

    /** Returns applock's own error for a driver's error, or the driver's error itself. */
    static SQLException meaningOf(SQLException error) {
        return switch (error.getSQLState() == null ? "" : error.getSQLState()) {
            case InvalidArgumentException.STATE -> new InvalidArgumentException(messageOf(error), error);
            case LostException.STATE -> new LostException(messageOf(error), error);
            case ContentionException.STATE -> new ContentionException(messageOf(error), error);
            default -> error;
        };
    }

    /** Returns the procedure's message, without the driver's additions. */
    private static String messageOf(SQLException error) {
        return error.getMessage().replaceFirst("(?s)^.*?(\\w+_appl_lock\\w*: [^\n]*).*$", "$1");
    }
}
