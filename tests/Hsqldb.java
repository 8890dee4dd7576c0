import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;

/** Runs the statements of its standard input on a database in memory, and prints their rows. */
public class Hsqldb {
    static final String END = "\u001e", ERROR = "\u0015";

    public static void main(String[] given) throws Exception {
        try (Connection database = DriverManager.getConnection("jdbc:hsqldb:mem:kneebench;sql.syntax_db2=true", "SA", "")) {
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            StringBuilder statement = new StringBuilder();
            for (String line; (line = in.readLine()) != null; ) {
                statement.append(line);
                if (!line.endsWith(END)) {
                    statement.append('\n');
                    continue;
                }
                statement.setLength(statement.length() - END.length());
                answer(database, statement.toString());
                System.out.println(END);
                System.out.flush();
                statement.setLength(0);
            }
        }
    }

    static void answer(Connection database, String statement) throws IOException {
        try {
            if (statement.startsWith("LOAD ")) {
                load(database, statement.split(" ", 3));
                return;
            }
            try (Statement run = database.createStatement()) {
                if (run.execute(statement)) {
                    print(run.getResultSet());
                }
            }
        } catch (SQLException error) {
            System.out.println(ERROR + error.getSQLState() + " " + error.getMessage());
        }
    }

    /** Insert the rows of a file: a line each, its values separated by tabs. */
    static void load(Connection database, String[] words) throws IOException, SQLException {
        try (PreparedStatement insert = database.prepareStatement(words[2])) {
            for (String line : Files.readAllLines(Path.of(words[1]))) {
                String[] values = line.split("\t", -1);
                for (int column = 0; column < values.length; column++) {
                    if (values[column].equals("\\N")) {
                        insert.setNull(column + 1, Types.VARCHAR);
                    } else {
                        insert.setString(column + 1, values[column]);
                    }
                }
                insert.addBatch();
            }
            insert.executeBatch();
        }
    }

    static void print(ResultSet rows) throws SQLException {
        int columns = rows.getMetaData().getColumnCount();
        while (rows.next()) {
            StringBuilder line = new StringBuilder();
            for (int column = 1; column <= columns; column++) {
                line.append(column == 1 ? "" : "\t").append(rows.getString(column));
            }
            System.out.println(line);
        }
    }
}
