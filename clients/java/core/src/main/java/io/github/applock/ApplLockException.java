package io.github.applock;

import java.sql.SQLException;

/**
 * What the lock said: an error of applock's own, each subclass of which calls for one reaction. It is unchecked, so that frameworks pass it on
 * and roll back. The cause is the driver's exception, if there is one. What the driver throws of its own stays its SQLException.
 */
public abstract sealed class ApplLockException extends RuntimeException
        permits InvalidArgumentException, LostException, ContentionException, HeldException, VersionException {
    private static final long serialVersionUID = 1L;

    /** The SQLSTATE, or null. */
    private final String state;

    ApplLockException(String message, String state, SQLException cause) {
        super(message, cause);
        this.state = state;
    }

    /**
     * The SQLSTATE, by which the procedures tell these errors apart.
     *
     * @return LK001, LK002 or LK003; null for an error that no procedure raises
     */
    public String getSQLState() {
        return state;
    }

    /** Returns an error of the driver's own, and throws applock's error for one of a procedure. */
    static SQLException driversOwn(SQLException error) {
        switch (error.getSQLState() == null ? "" : error.getSQLState()) {
            case InvalidArgumentException.STATE -> throw new InvalidArgumentException(messageOf(error), error);
            case LostException.STATE -> throw new LostException(messageOf(error), error);
            case ContentionException.STATE -> throw new ContentionException(messageOf(error), error);
            default -> {
                return error;
            }
        }
    }

    /** Returns the procedure's message, without the driver's additions. */
    private static String messageOf(SQLException error) {
        return error.getMessage().replaceFirst("(?s)^.*?(\\w+_appl_lock\\w*: [^\n]*).*$", "$1");
    }
}
