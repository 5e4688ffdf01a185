package io.github.applock.hibernate;

import io.github.applock.ApplLocks;
import io.github.applock.ApplObject;
import jakarta.persistence.EntityManager;
import jakarta.persistence.PersistenceContext;
import java.time.Instant;
import org.hibernate.Session;
import org.springframework.transaction.annotation.Transactional;

class Register {
    @PersistenceContext
    private EntityManager entities;

    /** Issues an invoice. A transaction that rolls back leaves no gap: nobody has counted on its number meanwhile. */
    @Transactional
    public long issue(String text) {
        serialize(new ApplObject("number", "invoice"));
        long number = entities.createQuery("select coalesce(max(i.number), 0) + 1 from Invoice i", Long.class).getSingleResult();
        entities.persist(new Invoice(number, text));
        return number;
    }

    /** Registers a document that nobody knows yet, or updates it if this version is newer. */
    @Transactional
    public void receive(String id, Instant written, String text) {
        serialize(new ApplObject("document", id));
        Document document = entities.find(Document.class, id);
        if (document == null) {
            document = new Document(id);
            entities.persist(document);
        }
        if (document.written() == null || document.written().isBefore(written)) {
            document.update(written, text);
        }
    }

    /** Waits until no other transaction works on the object. Call it first: what is read afterwards is what the one before has written. */
    private void serialize(ApplObject object) {
        entities.unwrap(Session.class).doWork(connection -> ApplLocks.in(connection).serialize(object));
    }
}
