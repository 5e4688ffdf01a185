package example;

import jakarta.persistence.EntityManagerFactory;
import java.util.Map;
import javax.sql.DataSource;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Profile;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.JpaVendorAdapter;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.vendor.EclipseLinkJpaVendorAdapter;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;
import org.springframework.transaction.PlatformTransactionManager;

/** Spring Boot with Hikari, and JdbcTemplate, Hibernate or EclipseLink. */
@SpringBootApplication
public class Application {
    public static void main(String[] args) {
        SpringApplication.run(Application.class, "--server.address=127.0.0.1", "--server.port=" + System.getenv("PORT"));
    }

    @Bean
    @Profile("hibernate")
    JpaVendorAdapter hibernate() {
        return new HibernateJpaVendorAdapter();
    }

    @Bean
    @Profile("eclipselink")
    JpaVendorAdapter eclipselink() {
        return new EclipseLinkJpaVendorAdapter();
    }

    @Bean
    @Profile("!jdbc")
    LocalContainerEntityManagerFactoryBean entityManagerFactory(DataSource pool, JpaVendorAdapter vendor) {
        var factory = new LocalContainerEntityManagerFactoryBean();
        factory.setDataSource(pool);
        factory.setJpaVendorAdapter(vendor);
        factory.setPackagesToScan("example");
        factory.setJpaPropertyMap(Map.of("eclipselink.weaving", "false"));
        return factory;
    }

    @Bean
    @Profile("!jdbc")
    PlatformTransactionManager transactionManager(EntityManagerFactory factory) {
        return new JpaTransactionManager(factory);
    }
}
