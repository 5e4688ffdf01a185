package io.github.applock;

import java.sql.SQLException;

/**
 * An error of applock's own: each subclass is one thing to do. All other SQLExceptions are the driver's, unchanged. Catch this class before
 * SQLException, and do not ask the driver's own classes: mariadb-java-client hands out a misuse as a transient connection exception. The
 * cause is the driver's exception, if there is one.
 */
public abstract sealed class ApplLockException extends SQLException
        permits InvalidArgumentException, LostException, ContentionException, HeldException, VersionException {
    private static final long serialVersionUID = 1L;

    ApplLockException(String message, String state, SQLException cause) {
        super(message, state, cause == null ? 0 : cause.getErrorCode(), cause);
    }

    /** Returns the error of applock's own that a driver's error stands for, or the driver's. */
    static SQLException meaningOf(SQLException error) {
        return switch (error.getSQLState() == null ? "" : error.getSQLState()) {
            case InvalidArgumentException.STATE -> new InvalidArgumentException(messageOf(error), error);
            case LostException.STATE -> new LostException(messageOf(error), error);
            case ContentionException.STATE -> new ContentionException(messageOf(error), error);
            default -> error;
        };
    }

    /** Returns what the procedure says, without what drivers put around it. */
    private static String messageOf(SQLException error) {
        return error.getMessage().replaceFirst("(?s)^.*?(\\w+_appl_lock\\w*: [^\n]*).*$", "$1");
    }
}
