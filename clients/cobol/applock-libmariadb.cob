      * Application locks on MariaDB and MySQL, with libmariadb: copy
      * this file, applock.cpy, applock-work.cpy and
      * applock-operations.cpy.
      *
      *     cobc -x program.cob applock-libmariadb.cob -lmariadb
      *
      * The database decides; each CALL is one call of one procedure,
      * or reads one view. The connection is the caller's, and so is
      * the transaction.
       IDENTIFICATION DIVISION.
       PROGRAM-ID. APPLOCK-LIBMARIADB.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01  CALL-VERB               PIC X(16) VALUE "CALL".
       01  DEFAULT-SCHEMA          PIC X(64) VALUE SPACES.
       COPY "applock-work.cpy".

       01  QUERY-STATUS            PIC S9(9) COMP-5.
       01  FIELD-POINTER           POINTER.
       01  ROW-POINTER             POINTER.
       01  LENGTHS-POINTER         POINTER.
       01  FURTHER-RESULT          POINTER.
      * Of mysql.h: MARIADB_CONNECTION_SERVER_STATUS.
       01  ASK-SERVER-STATUS       PIC S9(9) COMP-5 VALUE 30.
       01  SERVER-STATUS           PIC 9(9) COMP-5.
       LINKAGE SECTION.
       COPY "applock.cpy".
       01  BYTES                   PIC X(1000000).
      * A MYSQL_FIELD begins with the pointer to its name.
       01  FIELD-NAME              POINTER.
       01  ROW-COLUMNS.
           05  ROW-COLUMN          POINTER OCCURS 16.
       01  ROW-LENGTHS.
           05  ROW-LENGTH          PIC 9(18) COMP-5 OCCURS 16.
       PROCEDURE DIVISION.
           GOBACK.
       COPY "applock-operations.cpy".

       ADD-SINCE.
           STRING "event_ts>=UTC_TIMESTAMP(6)-INTERVAL "
               FUNCTION TRIM(EDITED-NUMBER)
               " SECOND" DELIMITED BY SIZE
               INTO STATEMENT WITH POINTER STATEMENT-END.

      * The server reads a range of the key only if it is written out.
       ADD-BEHIND.
           PERFORM VARYING KEY-NUMBER FROM 1 BY 1
               UNTIL KEY-NUMBER = KEY-COLUMNS
               STRING "(" DELIMITED BY SIZE
                   INTO STATEMENT WITH POINTER STATEMENT-END
               PERFORM ADD-GREATER
               STRING " OR " DELIMITED BY SIZE
                   INTO STATEMENT WITH POINTER STATEMENT-END
               PERFORM ADD-KEY-COLUMN
               STRING "=" DELIMITED BY SIZE
                   INTO STATEMENT WITH POINTER STATEMENT-END
               PERFORM ADD-KEY-VALUE
               STRING " AND " DELIMITED BY SIZE
                   INTO STATEMENT WITH POINTER STATEMENT-END
           END-PERFORM
           PERFORM ADD-GREATER
           PERFORM KEY-COLUMNS TIMES
               SUBTRACT 1 FROM KEY-NUMBER
               IF KEY-NUMBER > 0
                   STRING ")" DELIMITED BY SIZE
                       INTO STATEMENT WITH POINTER STATEMENT-END
               END-IF
           END-PERFORM.

       ADD-GREATER.
           PERFORM ADD-KEY-COLUMN
           STRING ">" DELIMITED BY SIZE
               INTO STATEMENT WITH POINTER STATEMENT-END
           PERFORM ADD-KEY-VALUE.

       ESCAPE-BYTES.
           CALL "mysql_real_escape_string" USING
               BY VALUE APPLOCK-CONNECTION
               BY REFERENCE STATEMENT(STATEMENT-END:1)
               BY REFERENCE BYTES
               BY VALUE BYTES-LENGTH
               RETURNING BYTES-LENGTH.

      * Of the status 1 is a transaction, and 2 autocommit, without
      * which one begins by itself.
       NEED-TRANSACTION.
           CALL "mariadb_get_info" USING BY VALUE APPLOCK-CONNECTION
               BY VALUE ASK-SERVER-STATUS BY REFERENCE SERVER-STATUS
               RETURNING QUERY-STATUS
           IF FUNCTION MOD(SERVER-STATUS 4) = 2
               PERFORM REFUSE-OUTSIDE
           END-IF.

       SEND-STATEMENT.
           SUBTRACT 1 FROM STATEMENT-END
           CALL "mysql_real_query" USING
               BY VALUE APPLOCK-CONNECTION
               BY REFERENCE STATEMENT
               BY VALUE STATEMENT-END
               RETURNING QUERY-STATUS
           IF QUERY-STATUS = 0
               CALL "mysql_store_result" USING
                   BY VALUE APPLOCK-CONNECTION
                   RETURNING APPLOCK-RESULT
           END-IF
           IF APPLOCK-RESULT = NULL
               PERFORM KEEP-ERROR
           ELSE
               CALL "mysql_num_rows" USING BY VALUE APPLOCK-RESULT
                   RETURNING APPLOCK-ROWS
               PERFORM SKIP-FURTHER-RESULTS
           END-IF.

      * A second result follows that of the CALL, and would be in the
      * way of the next statement.
       SKIP-FURTHER-RESULTS.
           CALL "mysql_next_result" USING BY VALUE APPLOCK-CONNECTION
               RETURNING QUERY-STATUS
           PERFORM UNTIL QUERY-STATUS NOT = 0
               CALL "mysql_store_result" USING
                   BY VALUE APPLOCK-CONNECTION
                   RETURNING FURTHER-RESULT
               IF FURTHER-RESULT NOT = NULL
                   CALL "mysql_free_result" USING
                       BY VALUE FURTHER-RESULT RETURNING OMITTED
               END-IF
               CALL "mysql_next_result" USING
                   BY VALUE APPLOCK-CONNECTION RETURNING QUERY-STATUS
           END-PERFORM
           IF QUERY-STATUS > 0
               PERFORM KEEP-ERROR
               PERFORM DROP-RESULT
           END-IF.

       KEEP-ERROR.
           CALL "mysql_sqlstate" USING BY VALUE APPLOCK-CONNECTION
               RETURNING NAME-POINTER
           SET ADDRESS OF BYTES TO NAME-POINTER
           MOVE BYTES(1:5) TO APPLOCK-SQLSTATE
           CALL "mysql_error" USING BY VALUE APPLOCK-CONNECTION
               RETURNING NAME-POINTER
           PERFORM KEEP-MESSAGE.

       FIND-ROW.
           CALL "mysql_num_fields" USING BY VALUE APPLOCK-RESULT
               RETURNING COLUMNS-FOUND
           CALL "mysql_fetch_row" USING BY VALUE APPLOCK-RESULT
               RETURNING ROW-POINTER
           SET ADDRESS OF ROW-COLUMNS TO ROW-POINTER
           CALL "mysql_fetch_lengths" USING BY VALUE APPLOCK-RESULT
               RETURNING LENGTHS-POINTER
           SET ADDRESS OF ROW-LENGTHS TO LENGTHS-POINTER.

       FIND-COLUMN.
           CALL "mysql_fetch_field_direct" USING
               BY VALUE APPLOCK-RESULT BY VALUE COLUMN-NUMBER
               RETURNING FIELD-POINTER
           SET ADDRESS OF FIELD-NAME TO FIELD-POINTER
           SET NAME-POINTER TO FIELD-NAME
           SET COLUMN-POINTER TO ROW-COLUMN(COLUMN-NUMBER + 1)
           MOVE ROW-LENGTH(COLUMN-NUMBER + 1) TO COLUMN-LENGTH.

       DROP-RESULT.
           IF APPLOCK-RESULT NOT = NULL
               CALL "mysql_free_result" USING BY VALUE APPLOCK-RESULT
                   RETURNING OMITTED
               SET APPLOCK-RESULT TO NULL
           END-IF
           MOVE 0 TO APPLOCK-ROW
           MOVE 0 TO APPLOCK-ROWS.
