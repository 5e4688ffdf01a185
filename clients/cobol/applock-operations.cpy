      * The operations, the same on each product. It is a part of
      * applock-libpq.cob and applock-libmariadb.cob, which send
      * the statement and find the columns of the answer.
      * Looks whether the contract in the database is as new as these
      * operations need. A program calls it when it has connected.
       ENTRY "APPLOCK-CHECK" USING APPLOCK.
           MOVE "appl_lock_version" TO ROUTINE
           PERFORM BEGIN-CALL
           PERFORM CALL-FOR-ONE-ROW
           IF APPLOCK-OK AND OUT-VERSION < 1
               MOVE "0A000" TO APPLOCK-SQLSTATE
               MOVE "an older contract: applockctl migrate up"
                   TO APPLOCK-MESSAGE
               PERFORM SET-RETURN-CODE
           END-IF
           GOBACK.

       ENTRY "APPLOCK-GET" USING APPLOCK.
           MOVE "get_appl_lock_row" TO ROUTINE
           PERFORM BEGIN-CALL
           PERFORM ADD-OBJECT
           PERFORM ADD-OPERATOR-ID
           PERFORM ADD-DEPARTMENT-ID
           PERFORM ADD-TTL-SECONDS
           MOVE IN-NEW-FL TO GIVEN-TEXT
           PERFORM ADD-TEXT
           PERFORM CALL-FOR-ONE-ROW
           GOBACK.

      * Takes or renews one of IN-PERMITS permits of an object; OUT-
      * OBJECT-ID is the id of its slot. When it is refused, that is the
      * slot which expires first, with its OUT-HOLDER-ID, and APPLOCK-
      * FETCH gets the other slots.
       ENTRY "APPLOCK-PERMIT" USING APPLOCK.
           MOVE "get_appl_lock_permit" TO ROUTINE
           PERFORM BEGIN-CALL
           PERFORM ADD-OBJECT
           MOVE IN-PERMITS TO GIVEN-NUMBER
           PERFORM ADD-NUMBER
           PERFORM ADD-OPERATOR-ID
           PERFORM ADD-DEPARTMENT-ID
           PERFORM ADD-TTL-SECONDS
           PERFORM CALL-FOR-ROWS
           IF APPLOCK-OK
               PERFORM READ-ROW
               PERFORM SET-RETURN-CODE
           END-IF
           GOBACK.

       ENTRY "APPLOCK-RELEASE" USING APPLOCK.
           MOVE "release_appl_lock_row" TO ROUTINE
           PERFORM BEGIN-CALL
           PERFORM ADD-OBJECT
           PERFORM ADD-OPERATOR-ID
           PERFORM ADD-FENCE
           PERFORM ADD-ACTOR-AND-REASON
           PERFORM CALL-FOR-ONE-ROW
           GOBACK.

       ENTRY "APPLOCK-INQUIRE" USING APPLOCK.
           MOVE "inquire_appl_lock_row" TO ROUTINE
           PERFORM BEGIN-CALL
           PERFORM ADD-OBJECT
           PERFORM CALL-FOR-ONE-ROW
           GOBACK.

      * Hands a held object from IN-OPERATOR-ID to IN-TO-OPERATOR-ID of
      * IN-DEPARTMENT-ID.
       ENTRY "APPLOCK-TRANSFER" USING APPLOCK.
           MOVE "transfer_appl_lock_row" TO ROUTINE
           PERFORM BEGIN-CALL
           PERFORM ADD-OBJECT
           PERFORM ADD-OPERATOR-ID
           MOVE IN-TO-OPERATOR-ID TO GIVEN-TEXT
           PERFORM ADD-TEXT
           PERFORM ADD-DEPARTMENT-ID
           PERFORM ADD-TTL-SECONDS
           PERFORM ADD-ACTOR-AND-REASON
           PERFORM CALL-FOR-ONE-ROW
           GOBACK.

      * Takes a held object from its holder, or only from the grant IN-
      * FENCE, for IN-REASON.
       ENTRY "APPLOCK-TAKE" USING APPLOCK.
           MOVE "take_appl_lock_row" TO ROUTINE
           PERFORM BEGIN-CALL
           PERFORM ADD-OBJECT
           PERFORM ADD-OPERATOR-ID
           PERFORM ADD-DEPARTMENT-ID
           MOVE IN-REASON TO GIVEN-TEXT
           PERFORM ADD-TEXT
           PERFORM ADD-FENCE
           PERFORM ADD-TTL-SECONDS
           PERFORM CALL-FOR-ONE-ROW
           GOBACK.

      * Hands over one page of what IN-OPERATOR-ID holds to IN-TO-
      * OPERATOR-ID of IN-DEPARTMENT-ID. APPLOCK-FETCH gets the rows.
       ENTRY "APPLOCK-TRANSFER-ALL" USING APPLOCK.
           MOVE "transfer_appl_locks" TO ROUTINE
           PERFORM BEGIN-CALL
           PERFORM ADD-OPERATOR-ID
           PERFORM ADD-OBJECT-TYPE
           MOVE IN-TO-OPERATOR-ID TO GIVEN-TEXT
           PERFORM ADD-TEXT
           PERFORM ADD-DEPARTMENT-ID
           PERFORM ADD-TTL-SECONDS
           PERFORM ADD-ACTOR-AND-REASON
           PERFORM ADD-AFTER-OBJECT
           PERFORM ADD-MAX-ROWS
           PERFORM ADD-DRY-RUN-FL
           PERFORM CALL-FOR-ROWS
           GOBACK.

      * Releases one page of what IN-OPERATOR-ID holds. APPLOCK-FETCH
      * gets the rows.
       ENTRY "APPLOCK-RELEASE-ALL" USING APPLOCK.
           MOVE "release_appl_locks" TO ROUTINE
           PERFORM BEGIN-CALL
           PERFORM ADD-OPERATOR-ID
           PERFORM ADD-OBJECT-TYPE
           PERFORM ADD-ACTOR-AND-REASON
           PERFORM ADD-AFTER-OBJECT
           PERFORM ADD-MAX-ROWS
           PERFORM ADD-DRY-RUN-FL
           PERFORM CALL-FOR-ROWS
           GOBACK.

      * Leaves a note on why the operator holds an object, for everybody
      * to read; a NULL removes it.
       ENTRY "APPLOCK-NOTE" USING APPLOCK.
           MOVE "note_appl_lock_row" TO ROUTINE
           PERFORM BEGIN-CALL
           PERFORM ADD-OBJECT
           PERFORM ADD-OPERATOR-ID
           PERFORM ADD-FENCE
           MOVE IN-NOTE TO GIVEN-TEXT
           PERFORM ADD-TEXT
           PERFORM CALL-FOR-ONE-ROW
           GOBACK.

       ENTRY "APPLOCK-PURGE" USING APPLOCK.
           MOVE "purge_appl_locks_row" TO ROUTINE
           PERFORM BEGIN-CALL
           MOVE IN-OLDER-THAN-SECONDS TO GIVEN-NUMBER
           PERFORM ADD-NUMBER
           PERFORM ADD-MAX-ROWS
           PERFORM CALL-FOR-ONE-ROW
           GOBACK.

       ENTRY "APPLOCK-PURGE-HISTORY" USING APPLOCK.
           MOVE "purge_appl_lock_history_row" TO ROUTINE
           PERFORM BEGIN-CALL
           MOVE IN-OLDER-THAN-SECONDS TO GIVEN-NUMBER
           PERFORM ADD-NUMBER
           PERFORM ADD-MAX-ROWS
           PERFORM CALL-FOR-ONE-ROW
           GOBACK.

      * Fails with LK002 unless exactly this grant is live, and keeps it
      * so to the end of the transaction. LK001 outside of one.
       ENTRY "APPLOCK-ASSERT" USING APPLOCK.
           MOVE "assert_appl_lock_row" TO ROUTINE
           PERFORM BEGIN-CALL
           PERFORM NEED-TRANSACTION
           PERFORM ADD-OBJECT
           PERFORM ADD-OPERATOR-ID
           PERFORM ADD-FENCE
           PERFORM CALL-FOR-ONE-ROW
           GOBACK.

      * Lets one transaction at a time work on an object, until this one
      * ends. LK001 outside of one.
       ENTRY "APPLOCK-SERIALIZE" USING APPLOCK.
           MOVE "serialize_appl_lock_row" TO ROUTINE
           PERFORM BEGIN-CALL
           PERFORM NEED-TRANSACTION
           PERFORM ADD-OBJECT
           PERFORM CALL-FOR-ONE-ROW
           GOBACK.

      * Renews many grants in one call: call this for each grant, with
      * its fence and its ttl, then APPLOCK-RENEW, then APPLOCK-FETCH
      * for the rows.
       ENTRY "APPLOCK-RENEW-ADD" USING APPLOCK.
           MOVE ",{" TO JSON-TEXT
           MOVE 2 TO JSON-LENGTH
           PERFORM ADD-TO-GRANTS
           MOVE '"object_type":' TO JSON-NAME
           MOVE IN-OBJECT-TYPE TO GIVEN-TEXT
           PERFORM ADD-TEXT-TO-GRANTS
           MOVE ',"object_id":' TO JSON-NAME
           MOVE IN-OBJECT-ID TO GIVEN-TEXT
           PERFORM ADD-TEXT-TO-GRANTS
           MOVE ',"operator_id":' TO JSON-NAME
           MOVE IN-OPERATOR-ID TO GIVEN-TEXT
           PERFORM ADD-TEXT-TO-GRANTS
           MOVE ',"fence":' TO JSON-NAME
           MOVE IN-FENCE TO GIVEN-NUMBER
           PERFORM ADD-NUMBER-TO-GRANTS
           MOVE ',"ttl_seconds":' TO JSON-NAME
           MOVE IN-TTL-SECONDS TO GIVEN-NUMBER
           PERFORM ADD-NUMBER-TO-GRANTS
           MOVE "}" TO JSON-TEXT
           MOVE 1 TO JSON-LENGTH
           PERFORM ADD-TO-GRANTS
           MOVE 0 TO RETURN-CODE
           GOBACK.

       ENTRY "APPLOCK-RENEW" USING APPLOCK.
           MOVE "renew_appl_locks" TO ROUTINE
           PERFORM BEGIN-CALL
           IF GRANTS-LENGTH = 0
               MOVE 1 TO GRANTS-LENGTH
           END-IF
           MOVE "[" TO GRANTS(1:1)
           MOVE "]" TO JSON-TEXT
           MOVE 1 TO JSON-LENGTH
           PERFORM ADD-TO-GRANTS
           SET ADDRESS OF BYTES TO ADDRESS OF GRANTS
           MOVE GRANTS-LENGTH TO BYTES-LENGTH
           PERFORM ADD-COMMA
           PERFORM QUOTE-BYTES
           IF GRANTS-LENGTH = LENGTH OF GRANTS
               MOVE "54000" TO APPLOCK-SQLSTATE
               MOVE "too many grants" TO APPLOCK-MESSAGE
               PERFORM SET-RETURN-CODE
           ELSE
               PERFORM CALL-FOR-ROWS
           END-IF
           MOVE 0 TO GRANTS-LENGTH
           GOBACK.

       ENTRY "APPLOCK-ANNOUNCE" USING APPLOCK.
           MOVE "announce_appl_lock_waiter_row" TO ROUTINE
           PERFORM BEGIN-CALL
           PERFORM ADD-OBJECT
           PERFORM ADD-OPERATOR-ID
           PERFORM ADD-DEPARTMENT-ID
           PERFORM ADD-CLIENT-ID
           MOVE IN-WAIT-SECONDS TO GIVEN-NUMBER
           PERFORM ADD-NUMBER
           PERFORM CALL-FOR-ONE-ROW
           GOBACK.

       ENTRY "APPLOCK-RETRACT" USING APPLOCK.
           MOVE "retract_appl_lock_waiter_row" TO ROUTINE
           PERFORM BEGIN-CALL
           PERFORM ADD-OBJECT
           PERFORM ADD-OPERATOR-ID
           PERFORM ADD-CLIENT-ID
           PERFORM CALL-FOR-ONE-ROW
           GOBACK.

      * APPLOCK-FETCH gets the rows.
       ENTRY "APPLOCK-POLL" USING APPLOCK.
           MOVE "poll_appl_locks" TO ROUTINE
           PERFORM BEGIN-CALL
           PERFORM ADD-CLIENT-ID
           PERFORM ADD-MAX-ROWS
           PERFORM CALL-FOR-ROWS
           GOBACK.

      * Asks an object's holder for it, with IN-MESSAGE. The request is
      * listed for 60 s, or until IN-WAIT-SECONDS are over: repeat the
      * call in each heartbeat. 0 withdraws the request. GIVEN: the
      * operator has the object now.
       ENTRY "APPLOCK-ASK" USING APPLOCK.
           MOVE "ask_appl_lock_row" TO ROUTINE
           PERFORM BEGIN-CALL
           PERFORM ADD-OBJECT
           PERFORM ADD-OPERATOR-ID
           PERFORM ADD-DEPARTMENT-ID
           PERFORM ADD-CLIENT-ID
           MOVE IN-MESSAGE TO GIVEN-TEXT
           PERFORM ADD-TEXT
           MOVE IN-WAIT-SECONDS TO GIVEN-NUMBER
           PERFORM ADD-NUMBER
           PERFORM CALL-FOR-ONE-ROW
           GOBACK.

      * Answers IN-ASKER-ID, who asks in IN-CLIENT-ID (NULL: in any) for
      * the object that IN-OPERATOR-ID holds by IN-FENCE.
       ENTRY "APPLOCK-ANSWER" USING APPLOCK.
           MOVE "answer_appl_lock_row" TO ROUTINE
           PERFORM BEGIN-CALL
           PERFORM ADD-OBJECT
           PERFORM ADD-OPERATOR-ID
           PERFORM ADD-FENCE
           MOVE IN-ASKER-ID TO GIVEN-TEXT
           PERFORM ADD-TEXT
           PERFORM ADD-CLIENT-ID
           MOVE IN-ANSWER TO GIVEN-TEXT
           PERFORM ADD-TEXT
           MOVE IN-REASON TO GIVEN-TEXT
           PERFORM ADD-TEXT
           PERFORM CALL-FOR-ONE-ROW
           GOBACK.

      * Lists the operator as a viewer of an object, in the terminal or
      * the browser tab IN-CLIENT-ID. APPLOCK-FETCH gets the holder,
      * askers and other viewers. The operator is listed for IN-TTL-
      * SECONDS, 60 at most, and 45 when NULL: repeat the call in each
      * heartbeat of 15 s.
       ENTRY "APPLOCK-SEE" USING APPLOCK.
           MOVE "see_appl_lock" TO ROUTINE
           PERFORM BEGIN-CALL
           PERFORM ADD-OBJECT
           PERFORM ADD-OPERATOR-ID
           PERFORM ADD-DEPARTMENT-ID
           PERFORM ADD-CLIENT-ID
           MOVE IN-STATE TO GIVEN-TEXT
           PERFORM ADD-TEXT
           PERFORM ADD-TTL-SECONDS
           PERFORM CALL-FOR-ROWS
           GOBACK.

      * Sets the policy of IN-OBJECT-TYPE; a NULL setting is unset.
       ENTRY "APPLOCK-SET-POLICY" USING APPLOCK.
           MOVE "set_appl_lock_policy_row" TO ROUTINE
           PERFORM BEGIN-CALL
           PERFORM ADD-OBJECT-TYPE
           MOVE IN-DEFAULT-TTL-SECONDS TO GIVEN-NUMBER
           PERFORM ADD-NUMBER
           MOVE IN-LONGEST-TTL-SECONDS TO GIVEN-NUMBER
           PERFORM ADD-NUMBER
           MOVE IN-TAKE-REASON-FL TO GIVEN-TEXT
           PERFORM ADD-TEXT
           PERFORM ADD-ACTOR-AND-REASON
           MOVE IN-HISTORY-LEVEL TO GIVEN-TEXT
           PERFORM ADD-TEXT
           MOVE IN-PRESENCE-FL TO GIVEN-TEXT
           PERFORM ADD-TEXT
           MOVE IN-YIELD-AFTER-SECONDS TO GIVEN-NUMBER
           PERFORM ADD-NUMBER
           PERFORM CALL-FOR-ONE-ROW
           GOBACK.

       ENTRY "APPLOCK-DROP-POLICY" USING APPLOCK.
           MOVE "drop_appl_lock_policy_row" TO ROUTINE
           PERFORM BEGIN-CALL
           PERFORM ADD-OBJECT-TYPE
           PERFORM ADD-ACTOR-AND-REASON
           PERFORM CALL-FOR-ONE-ROW
           GOBACK.

      * The views: one page in the order of the key, of the rows with
      * the given values, after the row IN-AFTER-. APPLOCK-FETCH gets
      * them.
       ENTRY "APPLOCK-LIVE" USING APPLOCK.
           MOVE "appl_lock_live" TO ROUTINE
           PERFORM BEGIN-READ
           PERFORM FILTER-OBJECT-TYPE
           PERFORM FILTER-OPERATOR-ID
           PERFORM FILTER-DEPARTMENT-ID
           PERFORM KEY-OF-OBJECT
           PERFORM READ-PAGE
           GOBACK.

       ENTRY "APPLOCK-WAITING" USING APPLOCK.
           MOVE "appl_lock_waiting" TO ROUTINE
           PERFORM READ-PROGRAMS
           GOBACK.

       ENTRY "APPLOCK-ASKING" USING APPLOCK.
           MOVE "appl_lock_asking" TO ROUTINE
           PERFORM READ-PROGRAMS
           GOBACK.

       ENTRY "APPLOCK-VIEWERS" USING APPLOCK.
           MOVE "appl_lock_viewers" TO ROUTINE
           PERFORM READ-PROGRAMS
           GOBACK.

      * The events that IN-OPERATOR-ID caused or that name it, oldest
      * first.
       ENTRY "APPLOCK-HISTORY" USING APPLOCK.
           MOVE "appl_lock_history" TO ROUTINE
           PERFORM BEGIN-READ
           PERFORM FILTER-OBJECT-TYPE
           PERFORM FILTER-OBJECT-ID
           MOVE IN-OPERATOR-ID TO GIVEN-TEXT
           IF GIVEN-TEXT(1:1) NOT = LOW-VALUE
               PERFORM ADD-WHERE
               PERFORM QUOTE-TEXT
               STRING " IN (actor_id,from_operator_id,to_operator_id)"
                   DELIMITED BY SIZE
                   INTO STATEMENT WITH POINTER STATEMENT-END
           END-IF
           IF NOT IN-SINCE-SECONDS-NULL
               MOVE IN-SINCE-SECONDS TO EDITED-NUMBER
               PERFORM ADD-WHERE
               PERFORM ADD-SINCE
           END-IF
           MOVE "event_id" TO FILTER-COLUMN
           MOVE LOW-VALUES TO GIVEN-TEXT
           IF NOT IN-AFTER-EVENT-ID-NULL
               MOVE IN-AFTER-EVENT-ID TO EDITED-NUMBER
               MOVE FUNCTION TRIM(EDITED-NUMBER) TO GIVEN-TEXT
           END-IF
           PERFORM ADD-KEY
           PERFORM READ-PAGE
           GOBACK.

       ENTRY "APPLOCK-POLICIES" USING APPLOCK.
           MOVE "appl_lock_policies" TO ROUTINE
           PERFORM BEGIN-READ
           PERFORM FILTER-OBJECT-TYPE
           MOVE "object_type" TO FILTER-COLUMN
           MOVE IN-AFTER-TYPE TO GIVEN-TEXT
           PERFORM ADD-KEY
           PERFORM READ-PAGE
           GOBACK.

       ENTRY "APPLOCK-STATS" USING APPLOCK.
           MOVE "appl_lock_stats" TO ROUTINE
           PERFORM BEGIN-READ
           PERFORM FILTER-OBJECT-TYPE
           PERFORM FILTER-DEPARTMENT-ID
           MOVE "object_type" TO FILTER-COLUMN
           MOVE IN-AFTER-TYPE TO GIVEN-TEXT
           PERFORM ADD-KEY
           MOVE "department_id" TO FILTER-COLUMN
           MOVE IN-AFTER-DEPARTMENT-ID TO GIVEN-TEXT
           PERFORM ADD-KEY
           PERFORM READ-PAGE
           GOBACK.

      * APPLOCK-FETCH gets the rows.
       ENTRY "APPLOCK-INBOX" USING APPLOCK.
           MOVE "inbox_appl_locks" TO ROUTINE
           PERFORM BEGIN-CALL
           PERFORM ADD-OPERATOR-ID
           MOVE IN-AFTER-EVENT-ID TO GIVEN-NUMBER
           PERFORM ADD-NUMBER
           PERFORM ADD-MAX-ROWS
           PERFORM CALL-FOR-ROWS
           GOBACK.

      * The next row of the last call, or APPLOCK-NO-ROW.
       ENTRY "APPLOCK-FETCH" USING APPLOCK.
           INITIALIZE APPLOCK-OUT
           IF APPLOCK-ROW < APPLOCK-ROWS
               SET APPLOCK-OK TO TRUE
               PERFORM READ-ROW
           ELSE
               SET APPLOCK-NO-ROW TO TRUE
               PERFORM DROP-RESULT
           END-IF
           PERFORM SET-RETURN-CODE
           GOBACK.

       ADD-OBJECT.
           PERFORM ADD-OBJECT-TYPE
           MOVE IN-OBJECT-ID TO GIVEN-TEXT
           PERFORM ADD-TEXT.

       ADD-OBJECT-TYPE.
           MOVE IN-OBJECT-TYPE TO GIVEN-TEXT
           PERFORM ADD-TEXT.

       ADD-OPERATOR-ID.
           MOVE IN-OPERATOR-ID TO GIVEN-TEXT
           PERFORM ADD-TEXT.

       ADD-DEPARTMENT-ID.
           MOVE IN-DEPARTMENT-ID TO GIVEN-TEXT
           PERFORM ADD-TEXT.

       ADD-CLIENT-ID.
           MOVE IN-CLIENT-ID TO GIVEN-TEXT
           PERFORM ADD-TEXT.

       ADD-AFTER-OBJECT.
           MOVE IN-AFTER-TYPE TO GIVEN-TEXT
           PERFORM ADD-TEXT
           MOVE IN-AFTER-ID TO GIVEN-TEXT
           PERFORM ADD-TEXT.

       ADD-ACTOR-AND-REASON.
           MOVE IN-ACTOR-ID TO GIVEN-TEXT
           PERFORM ADD-TEXT
           MOVE IN-REASON TO GIVEN-TEXT
           PERFORM ADD-TEXT.

       ADD-DRY-RUN-FL.
           MOVE IN-DRY-RUN-FL TO GIVEN-TEXT
           PERFORM ADD-TEXT.

       ADD-FENCE.
           MOVE IN-FENCE TO GIVEN-NUMBER
           PERFORM ADD-NUMBER.

       ADD-TTL-SECONDS.
           MOVE IN-TTL-SECONDS TO GIVEN-NUMBER
           PERFORM ADD-NUMBER.

       ADD-MAX-ROWS.
           MOVE IN-MAX-ROWS TO GIVEN-NUMBER
           PERFORM ADD-NUMBER.

       FILTER-OBJECT-TYPE.
           MOVE "object_type" TO FILTER-COLUMN
           MOVE IN-OBJECT-TYPE TO GIVEN-TEXT
           PERFORM ADD-FILTER.

       FILTER-OBJECT-ID.
           MOVE "object_id" TO FILTER-COLUMN
           MOVE IN-OBJECT-ID TO GIVEN-TEXT
           PERFORM ADD-FILTER.

       FILTER-OPERATOR-ID.
           MOVE "operator_id" TO FILTER-COLUMN
           MOVE IN-OPERATOR-ID TO GIVEN-TEXT
           PERFORM ADD-FILTER.

       FILTER-DEPARTMENT-ID.
           MOVE "department_id" TO FILTER-COLUMN
           MOVE IN-DEPARTMENT-ID TO GIVEN-TEXT
           PERFORM ADD-FILTER.

      * A page of waiters, askers or viewers, each in a program.
       READ-PROGRAMS.
           PERFORM BEGIN-READ
           PERFORM FILTER-OBJECT-TYPE
           PERFORM FILTER-OBJECT-ID
           PERFORM FILTER-OPERATOR-ID
           PERFORM FILTER-DEPARTMENT-ID
           PERFORM KEY-OF-OBJECT
           MOVE "operator_id" TO FILTER-COLUMN
           MOVE IN-AFTER-OPERATOR-ID TO GIVEN-TEXT
           PERFORM ADD-KEY
           MOVE "client_id" TO FILTER-COLUMN
           MOVE IN-AFTER-CLIENT-ID TO GIVEN-TEXT
           PERFORM ADD-KEY
           PERFORM READ-PAGE.

       KEY-OF-OBJECT.
           MOVE "object_type" TO FILTER-COLUMN
           MOVE IN-AFTER-TYPE TO GIVEN-TEXT
           PERFORM ADD-KEY
           MOVE "object_id" TO FILTER-COLUMN
           MOVE IN-AFTER-ID TO GIVEN-TEXT
           PERFORM ADD-KEY.

       ADD-FILTER.
           IF GIVEN-TEXT(1:1) NOT = LOW-VALUE
               PERFORM ADD-WHERE
               STRING FILTER-COLUMN DELIMITED BY SPACE
                   "=" DELIMITED BY SIZE
                   INTO STATEMENT WITH POINTER STATEMENT-END
               PERFORM QUOTE-TEXT
           END-IF.

       ADD-WHERE.
           IF PARAMETERS = 0
               STRING " WHERE " DELIMITED BY SIZE
                   INTO STATEMENT WITH POINTER STATEMENT-END
           ELSE
               STRING " AND " DELIMITED BY SIZE
                   INTO STATEMENT WITH POINTER STATEMENT-END
           END-IF
           ADD 1 TO PARAMETERS.

       ADD-KEY.
           ADD 1 TO KEY-COLUMNS
           MOVE FILTER-COLUMN TO KEY-COLUMN(KEY-COLUMNS)
           MOVE GIVEN-TEXT TO KEY-VALUE(KEY-COLUMNS).

       ADD-KEY-COLUMN.
           STRING KEY-COLUMN(KEY-NUMBER) DELIMITED BY SPACE
               INTO STATEMENT WITH POINTER STATEMENT-END.

      * A NULL in a key comes before everything, like an empty text.
       ADD-KEY-VALUE.
           MOVE KEY-VALUE(KEY-NUMBER) TO GIVEN-TEXT
           IF GIVEN-TEXT(1:1) = LOW-VALUE
               MOVE SPACES TO GIVEN-TEXT
           END-IF
           PERFORM QUOTE-TEXT.

       ADD-KEY-COMMA.
           IF KEY-NUMBER < KEY-COLUMNS
               STRING "," DELIMITED BY SIZE
                   INTO STATEMENT WITH POINTER STATEMENT-END
           END-IF.

       READ-PAGE.
           IF KEY-VALUE(1)(1:1) NOT = LOW-VALUE
               PERFORM ADD-WHERE
               PERFORM ADD-BEHIND
           END-IF
           STRING " ORDER BY " DELIMITED BY SIZE
               INTO STATEMENT WITH POINTER STATEMENT-END
           PERFORM VARYING KEY-NUMBER FROM 1 BY 1
               UNTIL KEY-NUMBER > KEY-COLUMNS
               PERFORM ADD-KEY-COLUMN
               PERFORM ADD-KEY-COMMA
           END-PERFORM
           MOVE 1000 TO EDITED-NUMBER
           IF NOT IN-MAX-ROWS-NULL
               MOVE IN-MAX-ROWS TO EDITED-NUMBER
           END-IF
           STRING " LIMIT " FUNCTION TRIM(EDITED-NUMBER)
               DELIMITED BY SIZE
               INTO STATEMENT WITH POINTER STATEMENT-END
           PERFORM ASK-FOR-ROWS.

       BEGIN-CALL.
           MOVE CALL-VERB TO STATEMENT-VERB
           PERFORM BEGIN-STATEMENT
           STRING "(" DELIMITED BY SIZE
               INTO STATEMENT WITH POINTER STATEMENT-END.

       BEGIN-READ.
           MOVE "SELECT * FROM" TO STATEMENT-VERB
           MOVE 0 TO KEY-COLUMNS
           PERFORM BEGIN-STATEMENT.

       BEGIN-STATEMENT.
           SET APPLOCK-OK TO TRUE
           MOVE SPACES TO APPLOCK-MESSAGE
           INITIALIZE APPLOCK-OUT
           PERFORM DROP-RESULT
           MOVE 0 TO PARAMETERS
           MOVE 1 TO STATEMENT-END
           STRING STATEMENT-VERB DELIMITED BY "  "
               " " DELIMITED BY SIZE
               INTO STATEMENT WITH POINTER STATEMENT-END
           MOVE APPLOCK-SCHEMA TO SCHEMA
           IF SCHEMA = SPACES
               MOVE DEFAULT-SCHEMA TO SCHEMA
           END-IF
           IF SCHEMA NOT = SPACES
               STRING SCHEMA DELIMITED BY SPACE
                   "." DELIMITED BY SIZE
                   INTO STATEMENT WITH POINTER STATEMENT-END
           END-IF
           STRING ROUTINE DELIMITED BY SPACE
               INTO STATEMENT WITH POINTER STATEMENT-END.

       ADD-COMMA.
           IF PARAMETERS > 0
               STRING "," DELIMITED BY SIZE
                   INTO STATEMENT WITH POINTER STATEMENT-END
           END-IF
           ADD 1 TO PARAMETERS.

       ADD-NULL.
           PERFORM ADD-COMMA
           STRING "NULL" DELIMITED BY SIZE
               INTO STATEMENT WITH POINTER STATEMENT-END.

       ADD-NUMBER.
           IF GIVEN-NUMBER-NULL
               PERFORM ADD-NULL
           ELSE
               PERFORM ADD-COMMA
               MOVE GIVEN-NUMBER TO EDITED-NUMBER
               STRING FUNCTION TRIM(EDITED-NUMBER) DELIMITED BY SIZE
                   INTO STATEMENT WITH POINTER STATEMENT-END
           END-IF.

       ADD-TEXT.
           IF GIVEN-TEXT(1:1) = LOW-VALUE
               PERFORM ADD-NULL
           ELSE
               PERFORM ADD-COMMA
               PERFORM QUOTE-TEXT
           END-IF.

       QUOTE-TEXT.
           PERFORM MEASURE-TEXT
           SET ADDRESS OF BYTES TO ADDRESS OF GIVEN-TEXT
           MOVE TEXT-LENGTH TO BYTES-LENGTH
           PERFORM QUOTE-BYTES.

      * TEXT-LENGTH is the length of GIVEN-TEXT without its trailing
      * blanks.
       MEASURE-TEXT.
           MOVE LENGTH OF GIVEN-TEXT TO TEXT-LENGTH
           PERFORM UNTIL TEXT-LENGTH = 0
               OR GIVEN-TEXT(TEXT-LENGTH:1) NOT = SPACE
               SUBTRACT 1 FROM TEXT-LENGTH
           END-PERFORM.

       QUOTE-BYTES.
           STRING "'" DELIMITED BY SIZE
               INTO STATEMENT WITH POINTER STATEMENT-END
           IF BYTES-LENGTH > 0
               PERFORM ESCAPE-BYTES
           END-IF
           ADD BYTES-LENGTH TO STATEMENT-END
           STRING "'" DELIMITED BY SIZE
               INTO STATEMENT WITH POINTER STATEMENT-END.

       ADD-TEXT-TO-GRANTS.
           PERFORM ADD-NAME-TO-GRANTS
           IF GIVEN-TEXT(1:1) = LOW-VALUE
               MOVE "null" TO JSON-TEXT
               MOVE 4 TO JSON-LENGTH
               PERFORM ADD-TO-GRANTS
           ELSE
               PERFORM MEASURE-TEXT
               MOVE '"' TO JSON-TEXT
               MOVE 1 TO JSON-LENGTH
               PERFORM ADD-TO-GRANTS
               PERFORM ADD-BYTE-TO-GRANTS VARYING BYTE-NUMBER
                   FROM 1 BY 1 UNTIL BYTE-NUMBER > TEXT-LENGTH
               MOVE '"' TO JSON-TEXT
               MOVE 1 TO JSON-LENGTH
               PERFORM ADD-TO-GRANTS
           END-IF.

       ADD-BYTE-TO-GRANTS.
           MOVE GIVEN-TEXT(BYTE-NUMBER:1) TO JSON-TEXT
           MOVE 1 TO JSON-LENGTH
           EVALUATE TRUE
               WHEN JSON-TEXT(1:1) = '"' OR "\"
                   MOVE "\" TO JSON-TEXT(1:1)
                   MOVE GIVEN-TEXT(BYTE-NUMBER:1) TO JSON-TEXT(2:1)
                   MOVE 2 TO JSON-LENGTH
               WHEN JSON-TEXT(1:1) < SPACE
                   COMPUTE BYTE-VALUE = FUNCTION ORD(JSON-TEXT(1:1)) - 1
                   DIVIDE BYTE-VALUE BY 16 GIVING HIGH-HALF
                       REMAINDER LOW-HALF
                   MOVE "\u00" TO JSON-TEXT
                   MOVE HEX-DIGITS(HIGH-HALF + 1:1) TO JSON-TEXT(5:1)
                   MOVE HEX-DIGITS(LOW-HALF + 1:1) TO JSON-TEXT(6:1)
                   MOVE 6 TO JSON-LENGTH
           END-EVALUATE
           PERFORM ADD-TO-GRANTS.

       ADD-NUMBER-TO-GRANTS.
           PERFORM ADD-NAME-TO-GRANTS
           IF GIVEN-NUMBER-NULL
               MOVE "null" TO JSON-TEXT
               MOVE 4 TO JSON-LENGTH
           ELSE
               MOVE GIVEN-NUMBER TO EDITED-NUMBER
               MOVE FUNCTION TRIM(EDITED-NUMBER) TO JSON-TEXT
               MOVE FUNCTION LENGTH(FUNCTION TRIM(EDITED-NUMBER))
                   TO JSON-LENGTH
           END-IF
           PERFORM ADD-TO-GRANTS.

       ADD-NAME-TO-GRANTS.
           MOVE JSON-NAME TO JSON-TEXT
           MOVE FUNCTION LENGTH(FUNCTION TRIM(JSON-NAME))
               TO JSON-LENGTH
           PERFORM ADD-TO-GRANTS.

      * A document without enough room stays full.
       ADD-TO-GRANTS.
           IF GRANTS-LENGTH + JSON-LENGTH > LENGTH OF GRANTS
               MOVE LENGTH OF GRANTS TO GRANTS-LENGTH
           ELSE
               MOVE JSON-TEXT(1:JSON-LENGTH)
                   TO GRANTS(GRANTS-LENGTH + 1:JSON-LENGTH)
               ADD JSON-LENGTH TO GRANTS-LENGTH
           END-IF.

       CALL-FOR-ONE-ROW.
           PERFORM CALL-FOR-ROWS
           IF APPLOCK-OK
               PERFORM READ-ROW
               PERFORM DROP-RESULT
               PERFORM SET-RETURN-CODE
           END-IF.

       CALL-FOR-ROWS.
           STRING ")" DELIMITED BY SIZE
               INTO STATEMENT WITH POINTER STATEMENT-END
           PERFORM ASK-FOR-ROWS.

       ASK-FOR-ROWS.
           IF APPLOCK-OK
               PERFORM SEND-STATEMENT
           END-IF
           PERFORM SET-RETURN-CODE.

      * C functions leave their result in RETURN-CODE, which is the
      * program's answer to its job step. So it is set afterwards.
       SET-RETURN-CODE.
           EVALUATE TRUE
               WHEN APPLOCK-NO-ROW
                   MOVE 4 TO RETURN-CODE
               WHEN APPLOCK-OK AND (APPLOCK-REFUSED OR APPLOCK-FREE)
                   MOVE 4 TO RETURN-CODE
               WHEN APPLOCK-OK
                   MOVE 0 TO RETURN-CODE
               WHEN APPLOCK-MISTAKE OR APPLOCK-CALL-AGAIN
                   MOVE 8 TO RETURN-CODE
               WHEN OTHER
                   MOVE 12 TO RETURN-CODE
           END-EVALUATE.

       READ-ROW.
           PERFORM FIND-ROW
           PERFORM READ-COLUMN VARYING COLUMN-NUMBER
               FROM 0 BY 1 UNTIL COLUMN-NUMBER = COLUMNS-FOUND
           ADD 1 TO APPLOCK-ROW
           IF OUT-OUTCOME NOT = SPACES
               PERFORM JUDGE-OUTCOME
           END-IF.

       JUDGE-OUTCOME.
           MOVE ROUTINE TO OPERATION
           INSPECT OPERATION REPLACING ALL "_row" BY SPACES
           EVALUATE OPERATION ALSO OUT-OUTCOME
      * outcomes: made by `make generate`
               WHEN "get_appl_lock" ALSO "ACQUIRED"
                   SET APPLOCK-GRANTED TO TRUE
               WHEN "get_appl_lock" ALSO "RENEWED"
                   SET APPLOCK-GRANTED TO TRUE
               WHEN "get_appl_lock" ALSO "HELD"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "get_appl_lock_permit" ALSO "ACQUIRED"
                   SET APPLOCK-GRANTED TO TRUE
               WHEN "get_appl_lock_permit" ALSO "RENEWED"
                   SET APPLOCK-GRANTED TO TRUE
               WHEN "get_appl_lock_permit" ALSO "FULL"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "release_appl_lock" ALSO "RELEASED"
                   SET APPLOCK-GRANTED TO TRUE
               WHEN "release_appl_lock" ALSO "FREE"
                   SET APPLOCK-GRANTED TO TRUE
               WHEN "release_appl_lock" ALSO "HELD"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "release_appl_locks" ALSO "RELEASED"
                   SET APPLOCK-GRANTED TO TRUE
               WHEN "release_appl_locks" ALSO "BUSY"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "release_appl_locks" ALSO "HELD"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "release_appl_locks" ALSO "FREE"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "release_appl_locks" ALSO "WOULD_RELEASE"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "transfer_appl_lock" ALSO "TRANSFERRED"
                   SET APPLOCK-GRANTED TO TRUE
               WHEN "transfer_appl_lock" ALSO "HELD"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "transfer_appl_lock" ALSO "FREE"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "take_appl_lock" ALSO "TAKEN"
                   SET APPLOCK-GRANTED TO TRUE
               WHEN "take_appl_lock" ALSO "HELD"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "take_appl_lock" ALSO "FREE"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "transfer_appl_locks" ALSO "TRANSFERRED"
                   SET APPLOCK-GRANTED TO TRUE
               WHEN "transfer_appl_locks" ALSO "BUSY"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "transfer_appl_locks" ALSO "HELD"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "transfer_appl_locks" ALSO "FREE"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "transfer_appl_locks" ALSO "WOULD_TRANSFER"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "note_appl_lock" ALSO "NOTED"
                   SET APPLOCK-GRANTED TO TRUE
               WHEN "note_appl_lock" ALSO "FREE"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "note_appl_lock" ALSO "HELD"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "renew_appl_locks" ALSO "RENEWED"
                   SET APPLOCK-GRANTED TO TRUE
               WHEN "renew_appl_locks" ALSO "HELD"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "renew_appl_locks" ALSO "FREE"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "set_appl_lock_policy" ALSO "SET"
                   SET APPLOCK-GRANTED TO TRUE
               WHEN "drop_appl_lock_policy" ALSO "DROPPED"
                   SET APPLOCK-GRANTED TO TRUE
               WHEN "drop_appl_lock_policy" ALSO "NONE"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "ask_appl_lock" ALSO "ASKED"
                   SET APPLOCK-GRANTED TO TRUE
               WHEN "ask_appl_lock" ALSO "GIVEN"
                   SET APPLOCK-GRANTED TO TRUE
               WHEN "ask_appl_lock" ALSO "WITHDRAWN"
                   SET APPLOCK-GRANTED TO TRUE
               WHEN "ask_appl_lock" ALSO "FREE"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "ask_appl_lock" ALSO "OWN"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "answer_appl_lock" ALSO "GIVEN"
                   SET APPLOCK-GRANTED TO TRUE
               WHEN "answer_appl_lock" ALSO "TOLD"
                   SET APPLOCK-GRANTED TO TRUE
               WHEN "answer_appl_lock" ALSO "HELD"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "answer_appl_lock" ALSO "FREE"
                   SET APPLOCK-REFUSED TO TRUE
               WHEN "answer_appl_lock" ALSO "GONE"
                   SET APPLOCK-REFUSED TO TRUE
      * outcomes: end
               WHEN OTHER
                   MOVE "0A000" TO APPLOCK-SQLSTATE
                   MOVE "a new outcome: copy the library anew"
                       TO APPLOCK-MESSAGE
           END-EVALUATE
           EVALUATE OPERATION ALSO TRUE
               WHEN "take_appl_lock" ALSO APPLOCK-GRANTED
               WHEN "ask_appl_lock" ALSO OUT-OUTCOME = "GIVEN"
                   MOVE OUT-HOLDER-ID TO OUT-FORMER-ID
                   MOVE OUT-HOLDER-DEPARTMENT-ID
                       TO OUT-FORMER-DEPARTMENT-ID
                   MOVE SPACES TO OUT-HOLDER-ID
                   MOVE SPACES TO OUT-HOLDER-DEPARTMENT-ID
               WHEN "get_appl_lock_permit" ALSO APPLOCK-REFUSED
                   MOVE OUT-OPERATOR-ID TO OUT-HOLDER-ID
                   MOVE OUT-DEPARTMENT-ID TO OUT-HOLDER-DEPARTMENT-ID
           END-EVALUATE.

       REFUSE-OUTSIDE.
           MOVE "LK001" TO APPLOCK-SQLSTATE
           MOVE "begin a transaction first: it would end at once"
               TO APPLOCK-MESSAGE.

       READ-COLUMN.
           PERFORM FIND-COLUMN
           PERFORM FIND-NAME
           MOVE BYTES(1:NAME-LENGTH) TO COLUMN-NAME
           IF COLUMN-NAME(1:2) = "p_"
               MOVE BYTES(3:NAME-LENGTH - 2) TO COLUMN-NAME
           END-IF
           MOVE SPACES TO COLUMN-TEXT
           IF COLUMN-POINTER NOT = NULL AND COLUMN-LENGTH > 0
               SET ADDRESS OF BYTES TO COLUMN-POINTER
               MOVE BYTES(1:COLUMN-LENGTH) TO COLUMN-TEXT
               PERFORM KEEP-COLUMN
           END-IF.

       KEEP-COLUMN.
           EVALUATE COLUMN-NAME
               WHEN "ok_fl"
                   IF ROUTINE = "inquire_appl_lock_row"
                       MOVE COLUMN-TEXT TO OUT-HELD
                   END-IF
               WHEN "outcome"
                   MOVE COLUMN-TEXT TO OUT-OUTCOME
               WHEN "object_type"
                   MOVE COLUMN-TEXT TO OUT-OBJECT-TYPE
               WHEN "object_id"
               WHEN "slot_id"
                   MOVE COLUMN-TEXT TO OUT-OBJECT-ID
               WHEN "operator_id"
                   MOVE COLUMN-TEXT TO OUT-OPERATOR-ID
               WHEN "department_id"
                   MOVE COLUMN-TEXT TO OUT-DEPARTMENT-ID
               WHEN "client_id"
                   MOVE COLUMN-TEXT TO OUT-CLIENT-ID
               WHEN "holder_id"
               WHEN "old_operator_id"
                   MOVE COLUMN-TEXT TO OUT-HOLDER-ID
               WHEN "holder_department_id"
               WHEN "old_department_id"
                   MOVE COLUMN-TEXT TO OUT-HOLDER-DEPARTMENT-ID
               WHEN "waited_seconds"
                   MOVE FUNCTION NUMVAL(COLUMN-TEXT)
                       TO OUT-WAITED-SECONDS
               WHEN "note"
                   MOVE COLUMN-TEXT TO OUT-NOTE
               WHEN "message"
                   MOVE COLUMN-TEXT TO OUT-MESSAGE
               WHEN "fence"
                   MOVE FUNCTION NUMVAL(COLUMN-TEXT) TO OUT-FENCE
               WHEN "seconds_left"
                   MOVE FUNCTION NUMVAL(COLUMN-TEXT) TO OUT-SECONDS-LEFT
               WHEN "ttl_seconds"
                   MOVE FUNCTION NUMVAL(COLUMN-TEXT) TO OUT-TTL-SECONDS
               WHEN "free_in_us"
                   MOVE FUNCTION NUMVAL(COLUMN-TEXT) TO OUT-FREE-IN-US
               WHEN "purged"
                   MOVE FUNCTION NUMVAL(COLUMN-TEXT) TO OUT-PURGED
               WHEN "live"
                   MOVE FUNCTION NUMVAL(COLUMN-TEXT) TO OUT-LIVE
               WHEN "expired"
                   MOVE FUNCTION NUMVAL(COLUMN-TEXT) TO OUT-EXPIRED
               WHEN "oldest_seconds"
                   MOVE FUNCTION NUMVAL(COLUMN-TEXT)
                       TO OUT-OLDEST-SECONDS
               WHEN "next_expiry_seconds"
                   MOVE FUNCTION NUMVAL(COLUMN-TEXT)
                       TO OUT-NEXT-EXPIRY-SECONDS
               WHEN "waiters"
                   MOVE FUNCTION NUMVAL(COLUMN-TEXT) TO OUT-WAITERS
               WHEN "longest_wait_seconds"
                   MOVE FUNCTION NUMVAL(COLUMN-TEXT)
                       TO OUT-LONGEST-WAIT-SECONDS
               WHEN "acquired_ts"
               WHEN "lock_ts"
               WHEN "expires_ts"
               WHEN "since_ts"
               WHEN "until_ts"
               WHEN "event_ts"
                   PERFORM KEEP-TIMESTAMP
               WHEN OTHER
                   PERFORM KEEP-RARE-COLUMN
           END-EVALUATE.

       KEEP-RARE-COLUMN.
           EVALUATE COLUMN-NAME
               WHEN "default_ttl_seconds"
                   MOVE FUNCTION NUMVAL(COLUMN-TEXT)
                       TO OUT-DEFAULT-TTL-SECONDS
               WHEN "longest_ttl_seconds"
                   MOVE FUNCTION NUMVAL(COLUMN-TEXT)
                       TO OUT-LONGEST-TTL-SECONDS
               WHEN "take_reason_fl"
                   MOVE COLUMN-TEXT TO OUT-TAKE-REASON-FL
               WHEN "history_level"
                   MOVE COLUMN-TEXT TO OUT-HISTORY-LEVEL
               WHEN "presence_fl"
                   MOVE COLUMN-TEXT TO OUT-PRESENCE-FL
               WHEN "yield_after_seconds"
                   MOVE FUNCTION NUMVAL(COLUMN-TEXT)
                       TO OUT-YIELD-AFTER-SECONDS
               WHEN "appl_lock_version"
               WHEN "version"
                   MOVE FUNCTION NUMVAL(COLUMN-TEXT) TO OUT-VERSION
               WHEN "event_id"
                   MOVE FUNCTION NUMVAL(COLUMN-TEXT) TO OUT-EVENT-ID
               WHEN "safe_event_id"
                   MOVE FUNCTION NUMVAL(COLUMN-TEXT)
                       TO OUT-SAFE-EVENT-ID
               WHEN "event"
                   MOVE COLUMN-TEXT TO OUT-EVENT
               WHEN "actor_id"
                   MOVE COLUMN-TEXT TO OUT-ACTOR-ID
               WHEN "db_user"
                   MOVE COLUMN-TEXT TO OUT-DB-USER
               WHEN "program"
                   MOVE COLUMN-TEXT TO OUT-PROGRAM
               WHEN "kind"
                   MOVE COLUMN-TEXT TO OUT-KIND
               WHEN "state"
                   MOVE COLUMN-TEXT TO OUT-STATE
               WHEN "answer"
                   MOVE COLUMN-TEXT TO OUT-ANSWER
               WHEN "answer_reason"
                   MOVE COLUMN-TEXT TO OUT-ANSWER-REASON
               WHEN "other_operator_id"
                   MOVE COLUMN-TEXT TO OUT-OTHER-OPERATOR-ID
               WHEN "other_department_id"
                   MOVE COLUMN-TEXT TO OUT-OTHER-DEPARTMENT-ID
               WHEN "from_operator_id"
                   MOVE COLUMN-TEXT TO OUT-FROM-OPERATOR-ID
               WHEN "from_department_id"
                   MOVE COLUMN-TEXT TO OUT-FROM-DEPARTMENT-ID
               WHEN "to_operator_id"
                   MOVE COLUMN-TEXT TO OUT-TO-OPERATOR-ID
               WHEN "to_department_id"
                   MOVE COLUMN-TEXT TO OUT-TO-DEPARTMENT-ID
               WHEN "from_fence"
                   MOVE FUNCTION NUMVAL(COLUMN-TEXT) TO OUT-FROM-FENCE
               WHEN "to_fence"
                   MOVE FUNCTION NUMVAL(COLUMN-TEXT) TO OUT-TO-FENCE
               WHEN "reason"
                   MOVE COLUMN-TEXT TO OUT-REASON
           END-EVALUATE.

       KEEP-TIMESTAMP.
           PERFORM MAKE-TIMESTAMP
           EVALUATE COLUMN-NAME
               WHEN "acquired_ts"
                   MOVE COLUMN-TEXT TO OUT-ACQUIRED-TS
               WHEN "lock_ts"
                   MOVE COLUMN-TEXT TO OUT-LOCK-TS
               WHEN "expires_ts"
                   MOVE COLUMN-TEXT TO OUT-EXPIRES-TS
               WHEN "since_ts"
                   MOVE COLUMN-TEXT TO OUT-SINCE-TS
               WHEN "until_ts"
                   MOVE COLUMN-TEXT TO OUT-UNTIL-TS
               WHEN "event_ts"
                   MOVE COLUMN-TEXT TO OUT-EVENT-TS
           END-EVALUATE.

      * PostgreSQL adds the zone to a time, mostly without minutes.
      * MySQL and MariaDB answer in UTC without a zone.
       MAKE-TIMESTAMP.
           MOVE "T" TO COLUMN-TEXT(11:1)
           IF COLUMN-TEXT(COLUMN-LENGTH - 2:1) = "+" OR "-"
               MOVE ":00" TO COLUMN-TEXT(COLUMN-LENGTH + 1:3)
           ELSE
               IF COLUMN-TEXT(COLUMN-LENGTH - 5:1) NOT = "+" AND "-"
                   MOVE "Z" TO COLUMN-TEXT(COLUMN-LENGTH + 1:1)
               END-IF
           END-IF.

      * The text that a C function returns, if any.
       KEEP-MESSAGE.
           IF NAME-POINTER NOT = NULL
               PERFORM FIND-NAME
               IF NAME-LENGTH > 0
                   MOVE BYTES(1:NAME-LENGTH) TO APPLOCK-MESSAGE
               END-IF
           END-IF.

      * A C text ends before its first LOW-VALUE.
       FIND-NAME.
           SET ADDRESS OF BYTES TO NAME-POINTER
           MOVE 0 TO NAME-LENGTH
           PERFORM UNTIL BYTES(NAME-LENGTH + 1:1) = LOW-VALUE
               ADD 1 TO NAME-LENGTH
           END-PERFORM.
