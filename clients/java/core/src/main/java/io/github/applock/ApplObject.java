package io.github.applock;

/**
 * An object to lock: {@code customer:42} is the type {@code customer} and the id {@code 42}. Both are compared as bytes, without trailing
 * blanks.
 *
 * @param type 1 to 64 characters without a colon
 * @param id 1 to 255 characters
 */
public record ApplObject(String type, String id) {
    /**
     * Parses an object in the form TYPE:ID.
     *
     * @param text the type, a colon and the id, which may have colons
     * @return the object
     * @throws IllegalArgumentException if there is no colon
     */
    public static ApplObject parse(String text) {
        int colon = text.indexOf(':');
        if (colon < 0) {
            throw new IllegalArgumentException("no colon in \"" + text + "\", want TYPE:ID");
        }
        return new ApplObject(text.substring(0, colon), text.substring(colon + 1));
    }

    @Override
    public String toString() {
        return type + ":" + id;
    }
}
