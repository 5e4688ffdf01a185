package io.github.applock.hibernate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.applock.ApplLocks;
import io.github.applock.ApplObject;
import io.github.applock.LostException;
import io.github.applock.Server;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.PersistenceContext;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import javax.sql.DataSource;
import org.hibernate.Session;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;

/** Serialize in methods that are @Transactional, with Hibernate, on each server. */
class RegisterTest {
    private static final int THREADS = 6;
    private static final int INVOICES = 8;

    @Configuration
    @EnableTransactionManagement
    static class Context {
        @Bean
        LocalContainerEntityManagerFactoryBean entities(DataSource pool) {
            LocalContainerEntityManagerFactoryBean factory = new LocalContainerEntityManagerFactoryBean();
            factory.setDataSource(pool);
            factory.setPackagesToScan("io.github.applock.hibernate");
            factory.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
            Properties properties = new Properties();
            properties.put("hibernate.hbm2ddl.auto", "create");
            factory.setJpaProperties(properties);
            return factory;
        }

        @Bean
        JpaTransactionManager transactions(EntityManagerFactory factory) {
            return new JpaTransactionManager(factory);
        }

        @Bean
        Register register() {
            return new Register();
        }

        @Bean
        Work work() {
            return new Work();
        }
    }

    /** What an application does around the register. */
    static class Work {
        @PersistenceContext
        private EntityManager entities;

        /** Issues an invoice in a larger transaction, which fails. */
        @Transactional
        public void issueInVain(Register register) {
            register.issue("in vain");
            entities.flush();
            throw new IllegalStateException("in vain");
        }

        /** Issues an invoice under a lock that nobody has. */
        @Transactional
        public void issueAfterLoss() {
            entities.persist(new Invoice(777, "lost"));
            entities.flush();
            entities.unwrap(Session.class).doWork(
                    connection -> ApplLocks.in(connection).assertHeld(new ApplObject("number", "invoice"), "JDOE", 7));
        }

        /** Issues an invoice as the register does, but for serialize: both have read before one of them writes. */
        @Transactional
        public void issueUnserialized(CyclicBarrier both) throws Exception {
            long number = entities.createQuery("select coalesce(max(i.number), 0) + 1 from Invoice i", Long.class).getSingleResult();
            both.await(1, TimeUnit.MINUTES);
            entities.persist(new Invoice(number, "unserialized"));
        }

        @Transactional
        public List<Long> numbers() {
            return entities.createQuery("select i.number from Invoice i order by i.number", Long.class).getResultList();
        }

        @Transactional
        public Document document(String id) {
            return entities.find(Document.class, id);
        }
    }

    private interface Test {
        void run(Register register, Work work) throws Exception;
    }

    private static void with(Server server, Test test) throws Exception {
        try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
            context.registerBean(DataSource.class, server::pool, definition -> definition.setDestroyMethodName("")); // the pool is of all tests
            context.register(Context.class);
            context.refresh();
            test.run(context.getBean(Register.class), context.getBean(Work.class));
        }
    }

    private static void atOnce(List<Callable<Void>> tasks) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try {
            for (Future<Void> each : threads.invokeAll(tasks, 3, TimeUnit.MINUTES)) {
                each.get();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    /** Goal: the seed's cases hold on each server. Method: one context for all, since Hibernate takes long to start. */
    @ParameterizedTest
    @EnumSource
    void registers(Server server) throws Exception {
        with(server, (register, work) -> {
            numbersHaveNoGaps(register, work);
            unserializedNumbersClash(work);
            newestVersionStays(register, work);
            lossRollsBack(work);
        });
    }

    /** Goal: numbers are given once, and none is missing. Method: many threads, and transactions between them that fail. */
    private static void numbersHaveNoGaps(Register register, Work work) throws Exception {
        List<Callable<Void>> tasks = new ArrayList<>();
        for (int i = 0; i < THREADS * INVOICES; i++) {
            tasks.add(() -> {
                register.issue("sold");
                return null;
            });
            tasks.add(() -> {
                assertThatThrownBy(() -> work.issueInVain(register)).hasMessage("in vain");
                return null;
            });
        }
        atOnce(tasks);
        assertThat(work.numbers()).isEqualTo(LongStream.rangeClosed(1, THREADS * INVOICES).boxed().toList());
    }

    /** Goal: serialize is what does it. Method: two transactions without it, both of which read before they write. */
    private static void unserializedNumbersClash(Work work) {
        CyclicBarrier both = new CyclicBarrier(2);
        Callable<Void> task = () -> {
            work.issueUnserialized(both);
            return null;
        };
        assertThatThrownBy(() -> atOnce(List.of(task, task))).isInstanceOf(ExecutionException.class);
    }

    /** Goal: a LostException passes Hibernate and Spring's transaction, which it rolls back. Method: an invoice that is written already. */
    private static void lossRollsBack(Work work) {
        List<Long> before = work.numbers();
        assertThatThrownBy(work::issueAfterLoss).isInstanceOf(LostException.class);
        assertThat(work.numbers()).isEqualTo(before);
    }

    /** Goal: a document is registered once, and the newest version stays. Method: versions in any order, of one that is not there yet. */
    private static void newestVersionStays(Register register, Work work) throws Exception {
        Instant first = Instant.parse("2010-02-06T21:19:00Z");
        List<Callable<Void>> tasks = new ArrayList<>();
        for (int i = 0; i < 24; i++) {
            int version = (i * 7) % 24;
            tasks.add(() -> {
                register.receive("BondBO:DK0015966592", first.plusSeconds(version), "version " + version);
                return null;
            });
        }
        atOnce(tasks);
        assertThat(work.document("BondBO:DK0015966592").text()).isEqualTo("version 23");
    }
}
