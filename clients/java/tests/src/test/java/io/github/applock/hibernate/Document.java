package io.github.applock.hibernate;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import java.time.Instant;

/** A document as it came last. */
@Entity
class Document {
    @Id
    private String id;

    private Instant written;
    private String text;

    protected Document() {}

    Document(String id) {
        this.id = id;
    }

    Instant written() {
        return written;
    }

    String text() {
        return text;
    }

    void update(Instant time, String content) {
        written = time;
        text = content;
    }
}
