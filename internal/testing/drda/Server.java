import java.io.InputStream;
import java.io.PrintWriter;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashSet;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.logging.Logger;
import jdk.internal.org.objectweb.asm.ClassReader;
import jdk.internal.org.objectweb.asm.ClassVisitor;
import jdk.internal.org.objectweb.asm.ClassWriter;
import jdk.internal.org.objectweb.asm.MethodVisitor;
import jdk.internal.org.objectweb.asm.Opcodes;
import org.apache.derby.drda.NetworkServerControl;
import org.apache.derby.iapi.jdbc.EngineConnection;
import org.apache.derby.jdbc.EmbeddedDriver;

/**
 * Derby's network server, for IBM's client. It prints its port, and ends with its input. The client makes a database by connecting to it,
 * but for one of the name NONE.
 * As the driver between the network server and the engine it answers the client's question for a routine's parameters, which Derby cannot
 * parse.
 */
public final class Server implements Driver {
    private static final String PREFIX = "jdbc:derby:";
    private static final String QUESTION = "FROM SYSIBM.SQLPROCEDURECOLS";
    /** A statement with this comment fills the log, so that its transaction cannot be committed. */
    private static final String FULL = "-- the log is full";
    private static final String ANSWER = """
            SELECT PROCEDURE_CAT, PROCEDURE_SCHEM, PROCEDURE_NAME, COLUMN_NAME, COLUMN_TYPE, DATA_TYPE, TYPE_NAME, COLUMN_SIZE, BUFFER_LENGTH,
                DECIMAL_DIGITS, NUM_PREC_RADIX, NULLABLE, REMARKS, COLUMN_DEF, SQL_DATA_TYPE, SQL_DATETIME_SUB, CHAR_OCTET_LENGTH,
                ORDINAL_POSITION, IS_NULLABLE
            FROM TABLE (procedure_columns()) AS p
            """;

    private final Path statements;
    private final Set<String> made = new HashSet<>();
    private Driver engine;

    private Server(Path statements) {
        this.statements = statements;
    }

    /** Starts a server with a file of the statements that a new database gets. A port of 0 is any free one. */
    public static void main(String[] arguments) throws Exception {
        Server driver = new Server(Path.of(arguments[0]));
        DriverManager.registerDriver(driver); // before Derby's own, because the first that accepts a URL is used
        driver.engine = new EmbeddedDriver();
        tellCausesOfErrors();
        int port = Integer.parseInt(arguments[1]);
        if (port == 0) {
            try (ServerSocket free = new ServerSocket(0)) {
                port = free.getLocalPort();
            }
        }
        NetworkServerControl control = new NetworkServerControl(InetAddress.getByName("127.0.0.1"), port);
        control.start(new PrintWriter(System.err, true));
        for (boolean answers = false; !answers;) {
            Thread.sleep(20);
            try {
                control.ping();
                answers = true;
            } catch (Exception notYet) {
                continue;
            }
        }
        System.out.println(port);
        System.in.transferTo(System.err);
        Runtime.getRuntime().halt(0); // also if clients are connected
    }

    /**
     * Derby hides an SQLSTATE that a procedure throws in 38000, and sends every error as SQLCODE -1, whose text in the client has no place for
     * the server's. Db2 sends -438, and codes of its own for the rest.
     */
    private static void tellCausesOfErrors() throws Exception {
        byte[] changed;
        try (InputStream original = NetworkServerControl.class.getResourceAsStream("/org/apache/derby/impl/drda/DRDAConnThread.class")) {
            ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
            new ClassReader(original).accept(new ClassVisitor(Opcodes.ASM8, writer) {
                @Override
                public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] exceptions) {
                    MethodVisitor method = super.visitMethod(access, name, descriptor, signature, exceptions);
                    if (name.equals("writeSQLCAGRP") && descriptor.startsWith("(Ljava/sql/SQLException;")) {
                        method.visitVarInsn(Opcodes.ALOAD, 1);
                        method.visitMethodInsn(Opcodes.INVOKESTATIC, "Server", "cause", "(Ljava/sql/SQLException;)Ljava/sql/SQLException;", false);
                        method.visitVarInsn(Opcodes.ASTORE, 1);
                        method.visitVarInsn(Opcodes.ALOAD, 1);
                        method.visitVarInsn(Opcodes.ILOAD, 2);
                        method.visitMethodInsn(Opcodes.INVOKESTATIC, "Server", "code", "(Ljava/sql/SQLException;I)I", false);
                        method.visitVarInsn(Opcodes.ISTORE, 2);
                    }
                    return method;
                }
            }, 0);
            changed = writer.toByteArray();
        }
        Class<?> neighbour = Class.forName("org.apache.derby.impl.drda.CodePoint");
        MethodHandles.privateLookupIn(neighbour, MethodHandles.lookup()).defineClass(changed);
    }

    /** cause returns what a procedure has thrown, an error as Db2 has it, or the error itself. */
    public static SQLException cause(SQLException error) {
        for (SQLException next = error; next != null; next = next.getNextException()) {
            for (Throwable cause = next; cause != null; cause = cause.getCause()) {
                SQLException known = cause instanceof SQLException thrown ? known(thrown) : null;
                if (known != null) {
                    return known;
                }
            }
        }
        return error;
    }

    private static SQLException known(SQLException error) {
        return switch (String.valueOf(error.getSQLState())) {
            case "40XL1" -> new SQLException("68", "40001", -911);
            case "40001" -> new SQLException("2", "40001", -911);
            case "42X05" -> new SQLException("TABLE", "42704", -204);
            case "42Y03", "42Y07" -> new SQLException("ROUTINE", "42884", -440);
            default -> isOfProcedure(error) ? error : null;
        };
    }

    private static boolean isOfProcedure(SQLException error) {
        return String.valueOf(error.getSQLState()).startsWith("LK");
    }

    /** code returns Db2's SQLCODE of an error. Derby's own are positive. */
    public static int code(SQLException error, int code) {
        if (error != null && isOfProcedure(error)) {
            return -438;
        }
        return error != null && error.getErrorCode() < 0 ? error.getErrorCode() : code;
    }

    /** columns is the table function procedure_columns. */
    public static ResultSet columns() throws SQLException {
        return DriverManager.getConnection("jdbc:default:connection").getMetaData().getProcedureColumns(null, null, "%", "%");
    }

    @Override
    public boolean acceptsURL(String url) {
        return url.startsWith(PREFIX);
    }

    @Override
    public Connection connect(String url, Properties properties) throws SQLException {
        if (!acceptsURL(url)) {
            return null;
        }
        if (!url.startsWith(PREFIX + "NONE")) {
            make(url, properties);
        }
        Connection connection = engine.connect(url, properties);
        AtomicBoolean isFull = new AtomicBoolean();
        return (Connection) Proxy.newProxyInstance(Server.class.getClassLoader(), new Class<?>[] {EngineConnection.class}, (proxy, method, values) -> {
            if (method.getName().startsWith("prepare") && values[0] instanceof String sql) {
                values[0] = answerable(sql);
                isFull.compareAndSet(false, sql.contains(FULL));
            } else if (method.getName().equals("commit") && isFull.getAndSet(false)) {
                throw new SQLException("", "57011", -964);
            }
            try {
                return method.invoke(connection, values);
            } catch (InvocationTargetException error) {
                throw error.getCause();
            }
        });
    }

    /** answerable returns what Derby can run. The client asks by the name in the call, with its schema if it is there. */
    private static String answerable(String text) {
        String sql = text.replaceAll("CURRENT TIMESTAMP - CURRENT TIMEZONE ([+-]) \\((\\d+)\\) SECOND", "{fn TIMESTAMPADD(SQL_TSI_SECOND, $1$2, CURRENT_TIMESTAMP)}");
        int at = sql.indexOf(QUESTION);
        if (at < 0) {
            return sql;
        }
        return ANSWER + sql.substring(at + QUESTION.length())
                .replace("PROCEDURE_NAME = ?", "? IN (PROCEDURE_NAME, PROCEDURE_SCHEM || '.' || PROCEDURE_NAME)");
    }

    /** make makes a database with the first connection to it. */
    private synchronized void make(String url, Properties properties) throws SQLException {
        String name = url.split(";", 2)[0];
        if (!made.add(name)) {
            return;
        }
        try (Connection connection = engine.connect(url + ";create=true", properties); Statement statement = connection.createStatement()) {
            if (connection.getWarnings() != null) {
                return; // it is there from before the server was started
            }
            connection.setAutoCommit(false);
            io.github.applock.DerbyLocks.install(connection);
            for (String sql : Files.readString(statements).split(";\n")) {
                statement.execute(sql);
            }
            connection.commit();
        } catch (java.io.IOException unreadable) {
            throw new SQLException(unreadable);
        } catch (SQLException failed) {
            made.remove(name);
            System.err.println(failed.getMessage());
            throw failed;
        }
    }

    @Override
    public DriverPropertyInfo[] getPropertyInfo(String url, Properties properties) throws SQLException {
        return engine.getPropertyInfo(url, properties);
    }

    @Override
    public int getMajorVersion() {
        return engine.getMajorVersion();
    }

    @Override
    public int getMinorVersion() {
        return engine.getMinorVersion();
    }

    @Override
    public boolean jdbcCompliant() {
        return true;
    }

    @Override
    public Logger getParentLogger() {
        return Logger.getGlobal();
    }
}
