      * Application locks on PostgreSQL, with libpq: copy this file,
      * applock.cpy, applock-work.cpy and applock-operations.cpy.
      *
      *     cobc -x program.cob applock-libpq.cob -lpq
      *
      * The database decides; each CALL is one call of one procedure,
      * or reads one view. The connection is the caller's, and so is
      * the transaction.
       IDENTIFICATION DIVISION.
       PROGRAM-ID. APPLOCK-LIBPQ.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01  CALL-VERB               PIC X(16) VALUE "SELECT * FROM".
       01  DEFAULT-SCHEMA          PIC X(64) VALUE "applock".
       COPY "applock-work.cpy".

      * Of libpq-fe.h and postgres_ext.h.
       01  ROWS-ARE-THERE          PIC S9(9) COMP-5 VALUE 2.
       01  FIELD-SQLSTATE          PIC S9(9) COMP-5 VALUE 67.
       01  FIELD-MESSAGE           PIC S9(9) COMP-5 VALUE 77.
       01  RESULT-STATUS           PIC S9(9) COMP-5.
       01  NO-POINTER              POINTER VALUE NULL.
       LINKAGE SECTION.
       COPY "applock.cpy".
       01  BYTES                   PIC X(1000000).
       PROCEDURE DIVISION.
           GOBACK.
       COPY "applock-operations.cpy".

       ADD-SINCE.
           STRING "event_ts>=statement_timestamp()-"
               FUNCTION TRIM(EDITED-NUMBER)
               "*interval'1 second'" DELIMITED BY SIZE
               INTO STATEMENT WITH POINTER STATEMENT-END.

       ADD-BEHIND.
           STRING "(" DELIMITED BY SIZE
               INTO STATEMENT WITH POINTER STATEMENT-END
           PERFORM VARYING KEY-NUMBER FROM 1 BY 1
               UNTIL KEY-NUMBER > KEY-COLUMNS
               PERFORM ADD-KEY-COLUMN
               PERFORM ADD-KEY-COMMA
           END-PERFORM
           STRING ")>(" DELIMITED BY SIZE
               INTO STATEMENT WITH POINTER STATEMENT-END
           PERFORM VARYING KEY-NUMBER FROM 1 BY 1
               UNTIL KEY-NUMBER > KEY-COLUMNS
               PERFORM ADD-KEY-VALUE
               PERFORM ADD-KEY-COMMA
           END-PERFORM
           STRING ")" DELIMITED BY SIZE
               INTO STATEMENT WITH POINTER STATEMENT-END.

      * The server refuses what is not in the connection's encoding.
       ESCAPE-BYTES.
           CALL "PQescapeStringConn" USING
               BY VALUE APPLOCK-CONNECTION
               BY REFERENCE STATEMENT(STATEMENT-END:1)
               BY REFERENCE BYTES
               BY VALUE BYTES-LENGTH
               BY VALUE NO-POINTER
               RETURNING BYTES-LENGTH.

      * 0 is PQTRANS_IDLE.
       NEED-TRANSACTION.
           CALL "PQtransactionStatus" USING BY VALUE APPLOCK-CONNECTION
               RETURNING RESULT-STATUS
           IF RESULT-STATUS = 0
               PERFORM REFUSE-OUTSIDE
           END-IF.

       SEND-STATEMENT.
           MOVE LOW-VALUE TO STATEMENT(STATEMENT-END:1)
           CALL "PQexec" USING
               BY VALUE APPLOCK-CONNECTION
               BY REFERENCE STATEMENT
               RETURNING APPLOCK-RESULT
           CALL "PQresultStatus" USING BY VALUE APPLOCK-RESULT
               RETURNING RESULT-STATUS
           IF RESULT-STATUS = ROWS-ARE-THERE
               CALL "PQntuples" USING BY VALUE APPLOCK-RESULT
                   RETURNING APPLOCK-ROWS
           ELSE
               PERFORM KEEP-ERROR
               PERFORM DROP-RESULT
           END-IF.

      * A connection that is lost has no SQLSTATE of the server.
       KEEP-ERROR.
           MOVE "08006" TO APPLOCK-SQLSTATE
           CALL "PQerrorMessage" USING BY VALUE APPLOCK-CONNECTION
               RETURNING NAME-POINTER
           PERFORM KEEP-MESSAGE
           CALL "PQresultErrorField" USING BY VALUE APPLOCK-RESULT
               BY VALUE FIELD-SQLSTATE RETURNING NAME-POINTER
           IF NAME-POINTER NOT = NULL
               SET ADDRESS OF BYTES TO NAME-POINTER
               MOVE BYTES(1:5) TO APPLOCK-SQLSTATE
               MOVE SPACES TO APPLOCK-MESSAGE
               CALL "PQresultErrorField" USING BY VALUE APPLOCK-RESULT
                   BY VALUE FIELD-MESSAGE RETURNING NAME-POINTER
               PERFORM KEEP-MESSAGE
           END-IF.

       FIND-ROW.
           CALL "PQnfields" USING BY VALUE APPLOCK-RESULT
               RETURNING COLUMNS-FOUND.

       FIND-COLUMN.
           CALL "PQfname" USING BY VALUE APPLOCK-RESULT
               BY VALUE COLUMN-NUMBER RETURNING NAME-POINTER
           CALL "PQgetvalue" USING BY VALUE APPLOCK-RESULT
               BY VALUE APPLOCK-ROW BY VALUE COLUMN-NUMBER
               RETURNING COLUMN-POINTER
      *    Of NULL it is 0.
           CALL "PQgetlength" USING BY VALUE APPLOCK-RESULT
               BY VALUE APPLOCK-ROW BY VALUE COLUMN-NUMBER
               RETURNING COLUMN-LENGTH.

       DROP-RESULT.
           IF APPLOCK-RESULT NOT = NULL
               CALL "PQclear" USING BY VALUE APPLOCK-RESULT
                   RETURNING OMITTED
               SET APPLOCK-RESULT TO NULL
           END-IF
           MOVE 0 TO APPLOCK-ROW
           MOVE 0 TO APPLOCK-ROWS.
