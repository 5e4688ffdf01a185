package io.github.applock;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Optional;

/**
 * The owner of a lock: a person, a service, or one grant of a program.
 *
 * @param operator 1 to 255 characters
 * @param department at most 64 characters; "" is none, and null in a renewal keeps the department of the grant
 */
public record Owner(String operator, String department) {
    static final Owner NOBODY = new Owner("", "");

    private static final SecureRandom RANDOM = new SecureRandom();
    private static final int RANDOM_BYTES = 8;
    private static final int NAME_LENGTH = 64 - 1 - 2 * RANDOM_BYTES;

    /**
     * A unique owner: the name, a dash and random digits. A program that locks for a task needs one for each grant, since a get renews the
     * lock of the same operator instead of refusing it.
     *
     * @param name the program's name for people, such as its service or its host; a long name is cut off
     * @param department as in the record
     * @return the owner
     */
    public static Owner unique(String name, String department) {
        byte[] random = new byte[RANDOM_BYTES];
        RANDOM.nextBytes(random);
        int length = Math.min(NAME_LENGTH, name.codePointCount(0, name.length()));
        return new Owner(name.substring(0, name.offsetByCodePoints(0, length)) + "-" + HexFormat.of().formatHex(random), department);
    }

    /** Returns the owner, or an empty Optional for an empty operator, which means nobody. */
    Optional<Owner> known() {
        return operator == null || operator.isEmpty() ? Optional.empty() : Optional.of(this);
    }

    /**
     * The name of this host, for people. It is not unique: use it with {@link #unique}.
     *
     * @return the name, or "java" if it has none
     */
    public static String hostName() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException nameless) {
            return "java";
        }
    }
}
