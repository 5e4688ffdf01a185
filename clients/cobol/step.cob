      * A step of a job on PostgreSQL, which gets the lock of customer 42
      * for the operator in the variable CLERK. It ends with 0, or with 4
      * when another operator holds it, 8 after a mistake, and 12 after
      * any other error.
      *
      *     cobc -x -fstatic-call step.cob applock-libpq.cob -lpq
       IDENTIFICATION DIVISION.
       PROGRAM-ID. STEP.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       COPY "applock.cpy".
       PROCEDURE DIVISION.
           CALL "PQconnectdb" USING BY CONTENT Z" "
               RETURNING APPLOCK-CONNECTION
           MOVE "customer" TO IN-OBJECT-TYPE
           MOVE "42" TO IN-OBJECT-ID
           ACCEPT IN-OPERATOR-ID FROM ENVIRONMENT "CLERK"
           CALL "APPLOCK-CHECK" USING APPLOCK
           IF APPLOCK-OK
               CALL "APPLOCK-GET" USING APPLOCK
           END-IF
           IF NOT APPLOCK-OK
               DISPLAY APPLOCK-SQLSTATE " "
                   FUNCTION TRIM(APPLOCK-MESSAGE) UPON SYSERR
           END-IF
           CALL "PQfinish" USING BY VALUE APPLOCK-CONNECTION
               RETURNING OMITTED
           STOP RUN.
