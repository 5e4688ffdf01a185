import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;

/**
 * Bridge lets Go tests call HSQLDB through JDBC: one socket is one JDBC connection. It prints its port and
 * ends with its standard input. driver.go has the other side of the protocol.
 */
public class Bridge {
    private final Connection connection;
    private final DataInputStream in;
    private final DataOutputStream out;

    private Bridge(Connection connection, DataInputStream in, DataOutputStream out) {
        this.connection = connection;
        this.in = in;
        this.out = out;
    }

    public static void main(String[] arguments) throws IOException {
        ServerSocket server = new ServerSocket(0, 100, InetAddress.getLoopbackAddress());
        System.out.println(server.getLocalPort());
        Thread accepting = new Thread(() -> accept(server));
        accepting.setDaemon(true);
        accepting.start();
        while (System.in.read() >= 0) {
            continue;
        }
    }

    private static void accept(ServerSocket server) {
        while (true) {
            try {
                Socket socket = server.accept();
                Thread session = new Thread(() -> serve(socket));
                session.setDaemon(true);
                session.start();
            } catch (IOException e) {
                return;
            }
        }
    }

    private static void serve(Socket socket) {
        try (socket) {
            socket.setTcpNoDelay(true);
            DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
            DataOutputStream out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()));
            String database = readText(in);
            try (Connection connection = DriverManager.getConnection("jdbc:hsqldb:mem:" + database, "SA", "")) {
                new Bridge(connection, in, out).answer();
            }
        } catch (EOFException e) {
            return; // the other side has gone
        } catch (IOException | SQLException e) {
            System.err.println(e);
        }
    }

    private void answer() throws IOException {
        while (true) {
            char operation = (char) in.readByte();
            try {
                switch (operation) {
                    case 'B' -> begin();
                    case 'C' -> end(true);
                    case 'R' -> end(false);
                    default -> execute();
                }
            } catch (SQLException e) {
                out.writeByte('E');
                writeText(e.getSQLState());
                writeText(String.valueOf(e.getMessage()));
            }
            out.flush();
        }
    }

    private void begin() throws SQLException, IOException {
        connection.setTransactionIsolation(in.readByte());
        connection.setAutoCommit(false);
        out.writeByte('K');
        writeResult(null, 0, List.of());
    }

    private void end(boolean commit) throws SQLException, IOException {
        if (commit) {
            connection.commit();
        } else {
            connection.rollback();
        }
        connection.setAutoCommit(true);
        connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
        out.writeByte('K');
        writeResult(null, 0, List.of());
    }

    private void execute() throws SQLException, IOException {
        String sql = readText(in);
        int count = in.readInt();
        List<Object> arguments = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            arguments.add(readArgument());
        }
        if (sql.startsWith("CALL ")) {
            call(sql, arguments);
            return;
        }
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            bind(statement, arguments);
            boolean rows = statement.execute();
            out.writeByte('K');
            writeResult(rows ? statement.getResultSet() : null, statement.getUpdateCount(), List.of());
        }
    }

    private void call(String sql, List<Object> arguments) throws SQLException, IOException {
        try (CallableStatement statement = connection.prepareCall("{" + sql + "}")) {
            bind(statement, arguments);
            boolean rows = statement.execute();
            List<Object> outs = new ArrayList<>();
            for (int i = 0; i < arguments.size(); i++) {
                if (arguments.get(i) instanceof OutParameter) {
                    outs.add(statement.getObject(i + 1));
                }
            }
            if (!rows) {
                rows = statement.getMoreResults();
            }
            out.writeByte('K');
            writeResult(rows ? statement.getResultSet() : null, 0, outs);
        }
    }

    private enum OutParameter { TEXT, NUMBER, TIMESTAMP }

    private Object readArgument() throws IOException {
        char kind = (char) in.readByte();
        return switch (kind) {
            case 'S' -> readText(in);
            case 'L' -> in.readLong();
            case 's' -> OutParameter.TEXT;
            case 'l' -> OutParameter.NUMBER;
            case 't' -> OutParameter.TIMESTAMP;
            default -> null;
        };
    }

    private static void bind(PreparedStatement statement, List<Object> arguments) throws SQLException {
        for (int i = 0; i < arguments.size(); i++) {
            Object argument = arguments.get(i);
            if (argument instanceof OutParameter) {
                ((CallableStatement) statement).registerOutParameter(i + 1, switch ((OutParameter) argument) {
                    case TEXT -> Types.VARCHAR;
                    case NUMBER -> Types.BIGINT;
                    case TIMESTAMP -> Types.TIMESTAMP;
                });
            } else {
                statement.setObject(i + 1, argument);
            }
        }
    }

    private void writeResult(ResultSet rows, int changed, List<Object> outs) throws SQLException, IOException {
        out.writeInt(changed);
        out.writeInt(outs.size());
        for (Object value : outs) {
            writeValue(value);
        }
        if (rows == null) {
            out.writeInt(0);
            return;
        }
        ResultSetMetaData columns = rows.getMetaData();
        out.writeInt(columns.getColumnCount());
        for (int i = 1; i <= columns.getColumnCount(); i++) {
            writeText(columns.getColumnLabel(i));
        }
        while (rows.next()) {
            out.writeByte('R');
            for (int i = 1; i <= columns.getColumnCount(); i++) {
                writeValue(rows.getObject(i));
            }
        }
        out.writeByte('.');
    }

    private void writeValue(Object value) throws IOException {
        if (value == null) {
            out.writeByte('N');
        } else if (value instanceof Timestamp) {
            out.writeByte('T');
            writeText(((Timestamp) value).toLocalDateTime().toString());
        } else if (value instanceof Number) {
            out.writeByte('L');
            out.writeLong(((Number) value).longValue());
        } else {
            out.writeByte('S');
            writeText(value.toString());
        }
    }

    private static String readText(DataInputStream in) throws IOException {
        return new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8);
    }

    private void writeText(String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
    }
}
