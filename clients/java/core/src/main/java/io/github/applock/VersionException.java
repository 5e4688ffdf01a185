package io.github.applock;

/** The database's procedures and this library are of different versions; the message says which one to update. */
public final class VersionException extends ApplLockException {
    private static final long serialVersionUID = 1L;

    private VersionException(String message) {
        super(message, null, null);
    }

    static VersionException unknown(String operation, String outcome) {
        return new VersionException(operation + " answered " + outcome + ", which this library does not know: the database is newer, update "
                + "io.github.applock:applock-core");
    }

    static void compare(long installed, long known) {
        if (installed < known) {
            throw new VersionException("the database has contract " + installed + " of applock, and this library needs " + known
                    + ": run `applockctl migrate up`");
        }
        if (installed > known) {
            throw new VersionException("the database has contract " + installed + " of applock, and this library knows " + known
                    + ": update io.github.applock:applock-core");
        }
    }
}
