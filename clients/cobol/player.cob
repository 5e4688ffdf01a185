      * Plays the scenarios for clients/player_test.go. PLAYER-CONNECT
      * and what else is a product's is in player-libpq.cob and
      * player-libmariadb.cob.
       IDENTIFICATION DIVISION.
       PROGRAM-ID. PLAYER.
       ENVIRONMENT DIVISION.
       INPUT-OUTPUT SECTION.
       FILE-CONTROL.
           SELECT CALLS ASSIGN TO KEYBOARD
               ORGANIZATION LINE SEQUENTIAL
               FILE STATUS CALLS-STATUS.
       DATA DIVISION.
       FILE SECTION.
       FD  CALLS RECORD VARYING FROM 1 TO 65536 CHARACTERS
           DEPENDING ON LINE-LENGTH.
       01  CALL-LINE               PIC X(65536).
       WORKING-STORAGE SECTION.
       01  CALLS-STATUS            PIC XX.
           88  CALL-READ           VALUE "00".
       01  LINE-LENGTH             PIC 9(9) COMP-5.

      * The fields of a line; a NULL is LOW-VALUES, as in APPLOCK-IN.
       01  FIELDS.
           05  FIELD               PIC X(2048) OCCURS 64.
       01  FIELD-COUNT             PIC 9(9) COMP-5.
       01  FIELD-LENGTH            PIC 9(9) COMP-5.
       01  FIELD-NUMBER            PIC 9(9) COMP-5.
       01  LINE-POSITION           PIC 9(9) COMP-5.
       01  LINE-BYTE               PIC X.

       01  ANSWER                  PIC X(65536).
       01  ANSWER-END              PIC 9(9) COMP-5.
       01  PUT-VALUE               PIC X(2048).
       01  PUT-LENGTH              PIC 9(9) COMP-5.
       01  PUT-POSITION            PIC 9(9) COMP-5.
       01  PUT-NUMBER              PIC S9(18) COMP-5.
       01  EDITED-NUMBER           PIC -(19)9.

       01  HT                     PIC X VALUE X"09".
       01  LINE-FEED               PIC X VALUE X"0A".
       01  RETURN-CHARACTER        PIC X VALUE X"0D".
       01  TEN-MILLISECONDS        PIC 9(18) COMP-5 VALUE 10000000.
       01  BEGIN-COMMAND           PIC X(9) VALUE Z"BEGIN".
       01  END-COMMAND             PIC X(9) VALUE Z"ROLLBACK".
       01  COUNTED                 PIC S9(9) COMP-5.
       01  DRIVER-VERSION          PIC X(64).
      * A name that is not a literal is looked up when it is called.
       01  VERSION-FUNCTION        PIC X(16) VALUE "libcob_version".
       01  VERSION-POINTER         POINTER.
       COPY "applock.cpy".
       LINKAGE SECTION.
       01  VERSION-TEXT            PIC X(5).
       PROCEDURE DIVISION.
           CALL "PLAYER-CONNECT" USING APPLOCK-CONNECTION
           OPEN INPUT CALLS
           READ CALLS
           PERFORM UNTIL NOT CALL-READ
               PERFORM SPLIT-LINE
               INITIALIZE APPLOCK-IN ALL TO VALUE
               PERFORM PLAY-CALL
               READ CALLS
           END-PERFORM
           CLOSE CALLS
           MOVE 0 TO RETURN-CODE
           STOP RUN.

       PLAY-CALL.
           EVALUATE FIELD(1)
               WHEN "versions"
                   PERFORM SAY-VERSIONS
               WHEN "increment"
                   PERFORM INCREMENT-COUNTER
               WHEN "get_appl_lock"
                   PERFORM PLAY-GET
               WHEN "get_appl_lock_permit"
                   PERFORM PLAY-PERMIT
               WHEN "release_appl_lock"
                   PERFORM PLAY-RELEASE
               WHEN "inquire_appl_lock"
                   PERFORM PLAY-INQUIRE
               WHEN "transfer_appl_lock"
                   PERFORM PLAY-TRANSFER
               WHEN "take_appl_lock"
                   PERFORM PLAY-TAKE
               WHEN "note_appl_lock"
                   PERFORM PLAY-NOTE
               WHEN "purge_appl_locks"
               WHEN "purge_appl_lock_history"
                   PERFORM PLAY-PURGE
               WHEN "assert_appl_lock"
                   PERFORM PLAY-ASSERT
               WHEN "serialize_appl_lock"
                   PERFORM PLAY-SERIALIZE
               WHEN "transfer_appl_locks"
                   PERFORM PLAY-TRANSFER-ALL
               WHEN "release_appl_locks"
                   PERFORM PLAY-RELEASE-ALL
               WHEN "renew_appl_locks"
                   PERFORM PLAY-RENEW
               WHEN "announce_appl_lock_waiter"
                   PERFORM PLAY-ANNOUNCE
               WHEN "retract_appl_lock_waiter"
                   PERFORM PLAY-RETRACT
               WHEN "poll_appl_locks"
                   PERFORM PLAY-POLL
               WHEN "ask_appl_lock"
                   PERFORM PLAY-ASK
               WHEN "answer_appl_lock"
                   PERFORM PLAY-ANSWER
               WHEN "see_appl_lock"
                   PERFORM PLAY-SEE
               WHEN "set_appl_lock_policy"
                   PERFORM PLAY-SET-POLICY
               WHEN "drop_appl_lock_policy"
                   PERFORM PLAY-DROP-POLICY
               WHEN "inbox_appl_locks"
                   PERFORM PLAY-INBOX
               WHEN "appl_lock_live"
                   PERFORM TAKE-FILTERS
                   CALL "APPLOCK-LIVE" USING APPLOCK
                   PERFORM PUT-LIVE-LOCKS
               WHEN "appl_lock_waiting"
                   PERFORM TAKE-FILTERS
                   CALL "APPLOCK-WAITING" USING APPLOCK
                   PERFORM PUT-WAITERS
               WHEN "appl_lock_asking"
                   PERFORM TAKE-FILTERS
                   CALL "APPLOCK-ASKING" USING APPLOCK
                   PERFORM PUT-ASKERS
               WHEN "appl_lock_viewers"
                   PERFORM TAKE-FILTERS
                   CALL "APPLOCK-VIEWERS" USING APPLOCK
                   PERFORM PUT-VIEWERS
               WHEN "appl_lock_history"
                   PERFORM TAKE-FILTERS
                   CALL "APPLOCK-HISTORY" USING APPLOCK
                   PERFORM PUT-EVENTS
               WHEN "appl_lock_policies"
                   PERFORM TAKE-FILTERS
                   CALL "APPLOCK-POLICIES" USING APPLOCK
                   PERFORM PUT-POLICIES
               WHEN "appl_lock_stats"
                   PERFORM TAKE-FILTERS
                   CALL "APPLOCK-STATS" USING APPLOCK
                   PERFORM PUT-STATS
               WHEN OTHER
                   DISPLAY "unknown operation" UPON SYSERR
                   MOVE 1 TO RETURN-CODE
                   STOP RUN
           END-EVALUATE.

       PLAY-GET.
           PERFORM TAKE-OBJECT
           MOVE FIELD(4) TO IN-OPERATOR-ID
           MOVE FIELD(5) TO IN-DEPARTMENT-ID
           PERFORM TAKE-TTL-SECONDS-FROM-6
           MOVE FIELD(7) TO IN-NEW-FL
           CALL "APPLOCK-GET" USING APPLOCK
           IF APPLOCK-OK
               PERFORM BEGIN-ROW
               PERFORM PUT-FLAG-AND-OUTCOME
               PERFORM PUT-OLD-OWNER
               PERFORM PUT-FENCE
               PERFORM PUT-EXPIRES-TS
               PERFORM PUT-SECONDS-LEFT
               PERFORM PUT-NOTE
               PERFORM END-ROW
           END-IF
           PERFORM END-ANSWER.

       PLAY-PERMIT.
           PERFORM TAKE-OBJECT
           IF FIELD(4) NOT = LOW-VALUES
               MOVE FUNCTION NUMVAL(FIELD(4)) TO IN-PERMITS
           END-IF
           MOVE FIELD(5) TO IN-OPERATOR-ID
           MOVE FIELD(6) TO IN-DEPARTMENT-ID
           IF FIELD(7) NOT = LOW-VALUES
               MOVE FUNCTION NUMVAL(FIELD(7)) TO IN-TTL-SECONDS
           END-IF
           CALL "APPLOCK-PERMIT" USING APPLOCK
           PERFORM UNTIL NOT APPLOCK-OK
               PERFORM BEGIN-ROW
               PERFORM PUT-GRANTED
               MOVE OUT-OUTCOME TO PUT-VALUE
               PERFORM PUT-TEXT
               MOVE OUT-OBJECT-ID TO PUT-VALUE
               PERFORM PUT-TEXT
               PERFORM PUT-OWNER
               PERFORM PUT-FENCE
               PERFORM PUT-EXPIRES-TS
               PERFORM PUT-SECONDS-LEFT
               PERFORM PUT-NOTE
               PERFORM END-ROW
               PERFORM FETCH-ROW
           END-PERFORM
           PERFORM END-ANSWER.

       PLAY-RELEASE.
           PERFORM TAKE-OBJECT
           MOVE FIELD(4) TO IN-OPERATOR-ID
           PERFORM TAKE-FENCE-FROM-5
           MOVE FIELD(6) TO IN-ACTOR-ID
           MOVE FIELD(7) TO IN-REASON
           CALL "APPLOCK-RELEASE" USING APPLOCK
           IF APPLOCK-OK
               PERFORM BEGIN-ROW
               PERFORM PUT-FLAG-AND-OUTCOME
               PERFORM PUT-OLD-OWNER
               PERFORM END-ROW
           END-IF
           PERFORM END-ANSWER.

       PLAY-INQUIRE.
           PERFORM TAKE-OBJECT
           CALL "APPLOCK-INQUIRE" USING APPLOCK
           IF APPLOCK-OK
               PERFORM BEGIN-ROW
               MOVE OUT-HELD TO PUT-VALUE
               PERFORM PUT-TEXT
               PERFORM PUT-OWNER
               PERFORM PUT-FENCE
               PERFORM PUT-LOCK-TIMES
               PERFORM PUT-SECONDS-LEFT
               PERFORM PUT-NOTE
               PERFORM END-ROW
           END-IF
           PERFORM END-ANSWER.

       PLAY-TRANSFER.
           PERFORM TAKE-OBJECT
           MOVE FIELD(4) TO IN-OPERATOR-ID
           MOVE FIELD(5) TO IN-TO-OPERATOR-ID
           MOVE FIELD(6) TO IN-DEPARTMENT-ID
           IF FIELD(7) NOT = LOW-VALUES
               MOVE FUNCTION NUMVAL(FIELD(7)) TO IN-TTL-SECONDS
           END-IF
           MOVE FIELD(8) TO IN-ACTOR-ID
           MOVE FIELD(9) TO IN-REASON
           CALL "APPLOCK-TRANSFER" USING APPLOCK
           IF APPLOCK-OK
               PERFORM BEGIN-ROW
               PERFORM PUT-FLAG-AND-OUTCOME
               PERFORM PUT-OLD-OWNER
               PERFORM PUT-FENCE
               PERFORM PUT-EXPIRES-TS
               PERFORM PUT-SECONDS-LEFT
               PERFORM END-ROW
           END-IF
           PERFORM END-ANSWER.

       PLAY-TAKE.
           PERFORM TAKE-OBJECT
           MOVE FIELD(4) TO IN-OPERATOR-ID
           MOVE FIELD(5) TO IN-DEPARTMENT-ID
           MOVE FIELD(6) TO IN-REASON
           IF FIELD(7) NOT = LOW-VALUES
               MOVE FUNCTION NUMVAL(FIELD(7)) TO IN-FENCE
           END-IF
           IF FIELD(8) NOT = LOW-VALUES
               MOVE FUNCTION NUMVAL(FIELD(8)) TO IN-TTL-SECONDS
           END-IF
           CALL "APPLOCK-TAKE" USING APPLOCK
           IF APPLOCK-OK
               PERFORM BEGIN-ROW
               PERFORM PUT-FLAG-AND-OUTCOME
               PERFORM PUT-OLD-OWNER
               PERFORM PUT-FENCE
               PERFORM PUT-EXPIRES-TS
               PERFORM PUT-SECONDS-LEFT
               PERFORM END-ROW
           END-IF
           PERFORM END-ANSWER.

       PLAY-TRANSFER-ALL.
           MOVE FIELD(2) TO IN-OPERATOR-ID
           MOVE FIELD(3) TO IN-OBJECT-TYPE
           MOVE FIELD(4) TO IN-TO-OPERATOR-ID
           MOVE FIELD(5) TO IN-DEPARTMENT-ID
           IF FIELD(6) NOT = LOW-VALUES
               MOVE FUNCTION NUMVAL(FIELD(6)) TO IN-TTL-SECONDS
           END-IF
           MOVE FIELD(7) TO IN-ACTOR-ID
           MOVE FIELD(8) TO IN-REASON
           MOVE FIELD(9) TO IN-AFTER-TYPE
           MOVE FIELD(10) TO IN-AFTER-ID
           IF FIELD(11) NOT = LOW-VALUES
               MOVE FUNCTION NUMVAL(FIELD(11)) TO IN-MAX-ROWS
           END-IF
           MOVE FIELD(12) TO IN-DRY-RUN-FL
           CALL "APPLOCK-TRANSFER-ALL" USING APPLOCK
           PERFORM PUT-CHANGED-LOCKS.

       PLAY-RELEASE-ALL.
           MOVE FIELD(2) TO IN-OPERATOR-ID
           MOVE FIELD(3) TO IN-OBJECT-TYPE
           MOVE FIELD(4) TO IN-ACTOR-ID
           MOVE FIELD(5) TO IN-REASON
           MOVE FIELD(6) TO IN-AFTER-TYPE
           MOVE FIELD(7) TO IN-AFTER-ID
           IF FIELD(8) NOT = LOW-VALUES
               MOVE FUNCTION NUMVAL(FIELD(8)) TO IN-MAX-ROWS
           END-IF
           MOVE FIELD(9) TO IN-DRY-RUN-FL
           CALL "APPLOCK-RELEASE-ALL" USING APPLOCK
           PERFORM PUT-CHANGED-LOCKS.

       PUT-CHANGED-LOCKS.
           PERFORM FETCH-ROW
           PERFORM UNTIL NOT APPLOCK-OK
               PERFORM BEGIN-ROW
               PERFORM PUT-GRANTED
               PERFORM PUT-OBJECT
               MOVE OUT-OUTCOME TO PUT-VALUE
               PERFORM PUT-TEXT
               PERFORM PUT-OLD-OWNER
               PERFORM PUT-FENCE
               PERFORM PUT-EXPIRES-TS
               PERFORM PUT-SECONDS-LEFT
               PERFORM END-ROW
               PERFORM FETCH-ROW
           END-PERFORM
           PERFORM END-ANSWER.

       PLAY-NOTE.
           PERFORM TAKE-OBJECT
           MOVE FIELD(4) TO IN-OPERATOR-ID
           PERFORM TAKE-FENCE-FROM-5
           MOVE FIELD(6) TO IN-NOTE
           CALL "APPLOCK-NOTE" USING APPLOCK
           IF APPLOCK-OK
               PERFORM BEGIN-ROW
               PERFORM PUT-FLAG-AND-OUTCOME
               PERFORM PUT-OLD-OWNER
               PERFORM END-ROW
           END-IF
           PERFORM END-ANSWER.

      * Names and values in turn.
       TAKE-FILTERS.
           PERFORM TAKE-FILTER VARYING FIELD-NUMBER FROM 2 BY 2
               UNTIL FIELD-NUMBER > FIELD-COUNT.

       TAKE-FILTER.
           MOVE FIELD(FIELD-NUMBER + 1) TO PUT-VALUE
           EVALUATE FIELD(FIELD-NUMBER)
               WHEN "object_type"
                   MOVE PUT-VALUE TO IN-OBJECT-TYPE
               WHEN "object_id"
                   MOVE PUT-VALUE TO IN-OBJECT-ID
               WHEN "operator_id"
                   MOVE PUT-VALUE TO IN-OPERATOR-ID
               WHEN "department_id"
                   MOVE PUT-VALUE TO IN-DEPARTMENT-ID
               WHEN "since_seconds"
                   MOVE FUNCTION NUMVAL(PUT-VALUE) TO IN-SINCE-SECONDS
               WHEN "max_rows"
                   MOVE FUNCTION NUMVAL(PUT-VALUE) TO IN-MAX-ROWS
               WHEN "after_object_type"
                   MOVE PUT-VALUE TO IN-AFTER-TYPE
               WHEN "after_object_id"
                   MOVE PUT-VALUE TO IN-AFTER-ID
               WHEN "after_operator_id"
                   MOVE PUT-VALUE TO IN-AFTER-OPERATOR-ID
               WHEN "after_client_id"
                   MOVE PUT-VALUE TO IN-AFTER-CLIENT-ID
               WHEN "after_event_id"
                   MOVE FUNCTION NUMVAL(PUT-VALUE) TO IN-AFTER-EVENT-ID
               WHEN OTHER
                   DISPLAY "unknown filter" UPON SYSERR
                   MOVE 1 TO RETURN-CODE
                   STOP RUN
           END-EVALUATE.

       PUT-LIVE-LOCKS.
           PERFORM FETCH-ROW
           PERFORM UNTIL NOT APPLOCK-OK
               PERFORM BEGIN-ROW
               PERFORM PUT-OBJECT
               PERFORM PUT-OWNER
               PERFORM PUT-FENCE
               PERFORM PUT-LOCK-TIMES
               PERFORM PUT-SECONDS-LEFT
               MOVE OUT-TTL-SECONDS TO PUT-NUMBER
               PERFORM PUT-A-NUMBER
               PERFORM PUT-NOTE
               PERFORM END-ROW
               PERFORM FETCH-ROW
           END-PERFORM
           PERFORM END-ANSWER.

       PLAY-PURGE.
           IF FIELD(2) NOT = LOW-VALUES
               MOVE FUNCTION NUMVAL(FIELD(2)) TO IN-OLDER-THAN-SECONDS
           END-IF
           IF FIELD(3) NOT = LOW-VALUES
               MOVE FUNCTION NUMVAL(FIELD(3)) TO IN-MAX-ROWS
           END-IF
           IF FIELD(1) = "purge_appl_locks"
               CALL "APPLOCK-PURGE" USING APPLOCK
           ELSE
               CALL "APPLOCK-PURGE-HISTORY" USING APPLOCK
           END-IF
           IF APPLOCK-OK
               PERFORM BEGIN-ROW
               MOVE OUT-PURGED TO PUT-NUMBER
               PERFORM PUT-A-NUMBER
               PERFORM END-ROW
           END-IF
           PERFORM END-ANSWER.

       PLAY-ASSERT.
           PERFORM TAKE-OBJECT
           MOVE FIELD(4) TO IN-OPERATOR-ID
           PERFORM TAKE-FENCE-FROM-5
           CALL "PLAYER-RUN" USING APPLOCK-CONNECTION BEGIN-COMMAND
           CALL "APPLOCK-ASSERT" USING APPLOCK
           CALL "PLAYER-RUN" USING APPLOCK-CONNECTION END-COMMAND
           PERFORM END-ANSWER.

       PLAY-SERIALIZE.
           PERFORM TAKE-OBJECT
           CALL "PLAYER-RUN" USING APPLOCK-CONNECTION BEGIN-COMMAND
           CALL "APPLOCK-SERIALIZE" USING APPLOCK
           CALL "PLAYER-RUN" USING APPLOCK-CONNECTION END-COMMAND
           PERFORM END-ANSWER.

      * Five fields for each grant.
       PLAY-RENEW.
           PERFORM VARYING FIELD-NUMBER FROM 2 BY 5
               UNTIL FIELD-NUMBER > FIELD-COUNT
               INITIALIZE APPLOCK-IN ALL TO VALUE
               MOVE FIELD(FIELD-NUMBER) TO IN-OBJECT-TYPE
               MOVE FIELD(FIELD-NUMBER + 1) TO IN-OBJECT-ID
               MOVE FIELD(FIELD-NUMBER + 2) TO IN-OPERATOR-ID
               IF FIELD(FIELD-NUMBER + 3) NOT = LOW-VALUES
                   MOVE FUNCTION NUMVAL(FIELD(FIELD-NUMBER + 3))
                       TO IN-FENCE
               END-IF
               IF FIELD(FIELD-NUMBER + 4) NOT = LOW-VALUES
                   MOVE FUNCTION NUMVAL(FIELD(FIELD-NUMBER + 4))
                       TO IN-TTL-SECONDS
               END-IF
               CALL "APPLOCK-RENEW-ADD" USING APPLOCK
           END-PERFORM
           CALL "APPLOCK-RENEW" USING APPLOCK
           PERFORM FETCH-ROW
           PERFORM UNTIL NOT APPLOCK-OK
               PERFORM BEGIN-ROW
               PERFORM PUT-GRANTED
               PERFORM PUT-OBJECT
               MOVE OUT-OUTCOME TO PUT-VALUE
               PERFORM PUT-TEXT
               PERFORM PUT-OLD-OWNER
               PERFORM PUT-EXPIRES-TS
               PERFORM PUT-SECONDS-LEFT
               PERFORM END-ROW
               PERFORM FETCH-ROW
           END-PERFORM
           PERFORM END-ANSWER.

       PLAY-ANNOUNCE.
           PERFORM TAKE-OBJECT
           MOVE FIELD(4) TO IN-OPERATOR-ID
           MOVE FIELD(5) TO IN-DEPARTMENT-ID
           MOVE FIELD(6) TO IN-CLIENT-ID
           IF FIELD(7) NOT = LOW-VALUES
               MOVE FUNCTION NUMVAL(FIELD(7)) TO IN-WAIT-SECONDS
           END-IF
           CALL "APPLOCK-ANNOUNCE" USING APPLOCK
           PERFORM END-ANSWER.

       PLAY-RETRACT.
           PERFORM TAKE-OBJECT
           MOVE FIELD(4) TO IN-OPERATOR-ID
           MOVE FIELD(5) TO IN-CLIENT-ID
           CALL "APPLOCK-RETRACT" USING APPLOCK
           PERFORM END-ANSWER.

       PLAY-POLL.
           MOVE FIELD(2) TO IN-CLIENT-ID
           IF FIELD(3) NOT = LOW-VALUES
               MOVE FUNCTION NUMVAL(FIELD(3)) TO IN-MAX-ROWS
           END-IF
           CALL "APPLOCK-POLL" USING APPLOCK
           PERFORM FETCH-ROW
           PERFORM UNTIL NOT APPLOCK-OK
               PERFORM BEGIN-ROW
               PERFORM PUT-OBJECT
               MOVE OUT-FREE-IN-US TO PUT-NUMBER
               PERFORM PUT-A-NUMBER
               PERFORM END-ROW
               PERFORM FETCH-ROW
           END-PERFORM
           PERFORM END-ANSWER.

       PLAY-ASK.
           PERFORM TAKE-OBJECT
           MOVE FIELD(4) TO IN-OPERATOR-ID
           MOVE FIELD(5) TO IN-DEPARTMENT-ID
           MOVE FIELD(6) TO IN-CLIENT-ID
           MOVE FIELD(7) TO IN-MESSAGE
           IF FIELD(8) NOT = LOW-VALUES
               MOVE FUNCTION NUMVAL(FIELD(8)) TO IN-WAIT-SECONDS
           END-IF
           CALL "APPLOCK-ASK" USING APPLOCK
           IF APPLOCK-OK
               PERFORM BEGIN-ROW
               PERFORM PUT-FLAG-AND-OUTCOME
               PERFORM PUT-OLD-OWNER
               PERFORM PUT-FENCE
               PERFORM PUT-EXPIRES-TS
               PERFORM PUT-SECONDS-LEFT
               PERFORM END-ROW
           END-IF
           PERFORM END-ANSWER.

       PLAY-ANSWER.
           PERFORM TAKE-OBJECT
           MOVE FIELD(4) TO IN-OPERATOR-ID
           PERFORM TAKE-FENCE-FROM-5
           MOVE FIELD(6) TO IN-ASKER-ID
           MOVE FIELD(7) TO IN-CLIENT-ID
           MOVE FIELD(8) TO IN-ANSWER
           MOVE FIELD(9) TO IN-REASON
           CALL "APPLOCK-ANSWER" USING APPLOCK
           IF APPLOCK-OK
               PERFORM BEGIN-ROW
               PERFORM PUT-FLAG-AND-OUTCOME
               PERFORM PUT-OLD-OWNER
               PERFORM PUT-EXPIRES-TS
               PERFORM PUT-SECONDS-LEFT
               PERFORM END-ROW
           END-IF
           PERFORM END-ANSWER.

       PLAY-SEE.
           PERFORM TAKE-OBJECT
           MOVE FIELD(4) TO IN-OPERATOR-ID
           MOVE FIELD(5) TO IN-DEPARTMENT-ID
           MOVE FIELD(6) TO IN-CLIENT-ID
           MOVE FIELD(7) TO IN-STATE
           IF FIELD(8) NOT = LOW-VALUES
               MOVE FUNCTION NUMVAL(FIELD(8)) TO IN-TTL-SECONDS
           END-IF
           CALL "APPLOCK-SEE" USING APPLOCK
           PERFORM FETCH-ROW
           PERFORM UNTIL NOT APPLOCK-OK
               PERFORM BEGIN-ROW
               MOVE OUT-KIND TO PUT-VALUE
               PERFORM PUT-TEXT
               PERFORM PUT-VIEWER
               MOVE OUT-MESSAGE TO PUT-VALUE
               PERFORM PUT-TEXT
               PERFORM END-ROW
               PERFORM FETCH-ROW
           END-PERFORM
           PERFORM END-ANSWER.

       PUT-VIEWERS.
           PERFORM FETCH-ROW
           PERFORM UNTIL NOT APPLOCK-OK
               PERFORM BEGIN-ROW
               PERFORM PUT-OBJECT
               PERFORM PUT-VIEWER
               PERFORM END-ROW
               PERFORM FETCH-ROW
           END-PERFORM
           PERFORM END-ANSWER.

       PUT-VIEWER.
           PERFORM PUT-OWNER
           MOVE OUT-CLIENT-ID TO PUT-VALUE
           PERFORM PUT-TEXT
           MOVE OUT-STATE TO PUT-VALUE
           PERFORM PUT-TEXT
           MOVE OUT-SINCE-TS TO PUT-VALUE
           PERFORM PUT-TIMESTAMP
           PERFORM PUT-SECONDS-LEFT.

       PUT-ASKERS.
           PERFORM FETCH-ROW
           PERFORM UNTIL NOT APPLOCK-OK
               PERFORM BEGIN-ROW
               PERFORM PUT-OBJECT
               PERFORM PUT-OWNER
               MOVE OUT-CLIENT-ID TO PUT-VALUE
               PERFORM PUT-TEXT
               MOVE OUT-MESSAGE TO PUT-VALUE
               PERFORM PUT-TEXT
               PERFORM PUT-WAIT
               MOVE OUT-ANSWER TO PUT-VALUE
               PERFORM PUT-TEXT
               MOVE OUT-ANSWER-REASON TO PUT-VALUE
               PERFORM PUT-TEXT
               PERFORM PUT-HOLDER
               PERFORM PUT-SECONDS-LEFT
               PERFORM END-ROW
               PERFORM FETCH-ROW
           END-PERFORM
           PERFORM END-ANSWER.

       PUT-WAIT.
           MOVE OUT-SINCE-TS TO PUT-VALUE
           PERFORM PUT-TIMESTAMP
           MOVE OUT-UNTIL-TS TO PUT-VALUE
           PERFORM PUT-TIMESTAMP
           MOVE OUT-WAITED-SECONDS TO PUT-NUMBER
           PERFORM PUT-A-NUMBER.

       PUT-HOLDER.
           MOVE OUT-HOLDER-ID TO PUT-VALUE
           PERFORM PUT-TEXT
           MOVE OUT-HOLDER-DEPARTMENT-ID TO PUT-VALUE
           PERFORM PUT-TEXT.

       PUT-WAITERS.
           PERFORM FETCH-ROW
           PERFORM UNTIL NOT APPLOCK-OK
               PERFORM BEGIN-ROW
               PERFORM PUT-OBJECT
               PERFORM PUT-OWNER
               MOVE OUT-CLIENT-ID TO PUT-VALUE
               PERFORM PUT-TEXT
               PERFORM PUT-WAIT
               PERFORM PUT-HOLDER
               PERFORM PUT-SECONDS-LEFT
               PERFORM END-ROW
               PERFORM FETCH-ROW
           END-PERFORM
           PERFORM END-ANSWER.

       PUT-STATS.
           PERFORM FETCH-ROW
           PERFORM UNTIL NOT APPLOCK-OK
               PERFORM BEGIN-ROW
               MOVE OUT-OBJECT-TYPE TO PUT-VALUE
               PERFORM PUT-TEXT
               MOVE OUT-DEPARTMENT-ID TO PUT-VALUE
               PERFORM PUT-TEXT
               MOVE OUT-LIVE TO PUT-NUMBER
               PERFORM PUT-A-NUMBER
               MOVE OUT-EXPIRED TO PUT-NUMBER
               PERFORM PUT-A-NUMBER
               MOVE OUT-OLDEST-SECONDS TO PUT-NUMBER
               PERFORM PUT-A-NUMBER
               MOVE OUT-NEXT-EXPIRY-SECONDS TO PUT-NUMBER
               PERFORM PUT-A-NUMBER
               MOVE OUT-WAITERS TO PUT-NUMBER
               PERFORM PUT-A-NUMBER
               MOVE OUT-LONGEST-WAIT-SECONDS TO PUT-NUMBER
               PERFORM PUT-A-NUMBER
               PERFORM END-ROW
               PERFORM FETCH-ROW
           END-PERFORM
           PERFORM END-ANSWER.

       PLAY-SET-POLICY.
           MOVE FIELD(2) TO IN-OBJECT-TYPE
           IF FIELD(3) NOT = LOW-VALUES
               MOVE FUNCTION NUMVAL(FIELD(3)) TO IN-DEFAULT-TTL-SECONDS
           END-IF
           IF FIELD(4) NOT = LOW-VALUES
               MOVE FUNCTION NUMVAL(FIELD(4)) TO IN-LONGEST-TTL-SECONDS
           END-IF
           MOVE FIELD(5) TO IN-TAKE-REASON-FL
           MOVE FIELD(6) TO IN-ACTOR-ID
           MOVE FIELD(7) TO IN-REASON
           MOVE FIELD(8) TO IN-HISTORY-LEVEL
           MOVE FIELD(9) TO IN-PRESENCE-FL
           IF FIELD(10) NOT = LOW-VALUES
               MOVE FUNCTION NUMVAL(FIELD(10)) TO IN-YIELD-AFTER-SECONDS
           END-IF
           CALL "APPLOCK-SET-POLICY" USING APPLOCK
           PERFORM ANSWER-FLAG-AND-OUTCOME.

       PLAY-DROP-POLICY.
           MOVE FIELD(2) TO IN-OBJECT-TYPE
           MOVE FIELD(3) TO IN-ACTOR-ID
           MOVE FIELD(4) TO IN-REASON
           CALL "APPLOCK-DROP-POLICY" USING APPLOCK
           PERFORM ANSWER-FLAG-AND-OUTCOME.

       ANSWER-FLAG-AND-OUTCOME.
           IF APPLOCK-OK
               PERFORM BEGIN-ROW
               PERFORM PUT-FLAG-AND-OUTCOME
               PERFORM END-ROW
           END-IF
           PERFORM END-ANSWER.

       PUT-POLICIES.
           PERFORM FETCH-ROW
           PERFORM UNTIL NOT APPLOCK-OK
               PERFORM BEGIN-ROW
               MOVE OUT-OBJECT-TYPE TO PUT-VALUE
               PERFORM PUT-TEXT
               MOVE OUT-DEFAULT-TTL-SECONDS TO PUT-NUMBER
               PERFORM PUT-A-TTL
               MOVE OUT-LONGEST-TTL-SECONDS TO PUT-NUMBER
               PERFORM PUT-A-TTL
               MOVE OUT-TAKE-REASON-FL TO PUT-VALUE
               PERFORM PUT-TEXT
               MOVE OUT-HISTORY-LEVEL TO PUT-VALUE
               PERFORM PUT-TEXT
               MOVE OUT-PRESENCE-FL TO PUT-VALUE
               PERFORM PUT-TEXT
               MOVE OUT-YIELD-AFTER-SECONDS TO PUT-NUMBER
               PERFORM PUT-A-TTL
               PERFORM END-ROW
               PERFORM FETCH-ROW
           END-PERFORM
           PERFORM END-ANSWER.

       PUT-EVENTS.
           PERFORM FETCH-ROW
           PERFORM UNTIL NOT APPLOCK-OK
               PERFORM BEGIN-ROW
               PERFORM PUT-EVENT
               PERFORM END-ROW
               PERFORM FETCH-ROW
           END-PERFORM
           PERFORM END-ANSWER.

       PLAY-INBOX.
           MOVE FIELD(2) TO IN-OPERATOR-ID
           IF FIELD(3) NOT = LOW-VALUES
               MOVE FUNCTION NUMVAL(FIELD(3)) TO IN-AFTER-EVENT-ID
           END-IF
           IF FIELD(4) NOT = LOW-VALUES
               MOVE FUNCTION NUMVAL(FIELD(4)) TO IN-MAX-ROWS
           END-IF
           CALL "APPLOCK-INBOX" USING APPLOCK
           PERFORM FETCH-ROW
           PERFORM UNTIL NOT APPLOCK-OK
               PERFORM BEGIN-ROW
               PERFORM PUT-NOTICE
               PERFORM END-ROW
               PERFORM FETCH-ROW
           END-PERFORM
           PERFORM END-ANSWER.

       PUT-NOTICE.
           MOVE OUT-KIND TO PUT-VALUE
           PERFORM PUT-TEXT
           MOVE OUT-EVENT-ID TO PUT-NUMBER
           PERFORM PUT-A-NUMBER
           PERFORM PUT-OBJECT
           MOVE OUT-OTHER-OPERATOR-ID TO PUT-VALUE
           PERFORM PUT-TEXT
           MOVE OUT-OTHER-DEPARTMENT-ID TO PUT-VALUE
           PERFORM PUT-TEXT
           MOVE OUT-EVENT-TS TO PUT-VALUE
           PERFORM PUT-TIMESTAMP
           PERFORM PUT-SECONDS-LEFT
           MOVE OUT-REASON TO PUT-VALUE
           PERFORM PUT-TEXT
           MOVE OUT-SAFE-EVENT-ID TO PUT-NUMBER
           PERFORM PUT-A-NUMBER
           MOVE OUT-MESSAGE TO PUT-VALUE
           PERFORM PUT-TEXT
           MOVE OUT-CLIENT-ID TO PUT-VALUE
           PERFORM PUT-TEXT
           PERFORM PUT-FENCE.

       PUT-EVENT.
           MOVE OUT-EVENT-ID TO PUT-NUMBER
           PERFORM PUT-A-NUMBER
           MOVE OUT-EVENT-TS TO PUT-VALUE
           PERFORM PUT-TIMESTAMP
           PERFORM PUT-OBJECT
           MOVE OUT-EVENT TO PUT-VALUE
           PERFORM PUT-TEXT
           MOVE OUT-ACTOR-ID TO PUT-VALUE
           PERFORM PUT-TEXT
           MOVE OUT-DB-USER TO PUT-VALUE
           PERFORM PUT-TEXT
           MOVE OUT-PROGRAM TO PUT-VALUE
           PERFORM PUT-TEXT
           MOVE OUT-FROM-OPERATOR-ID TO PUT-VALUE
           PERFORM PUT-TEXT
           MOVE OUT-FROM-DEPARTMENT-ID TO PUT-VALUE
           PERFORM PUT-TEXT
           MOVE OUT-TO-OPERATOR-ID TO PUT-VALUE
           PERFORM PUT-TEXT
           MOVE OUT-TO-DEPARTMENT-ID TO PUT-VALUE
           PERFORM PUT-TEXT
           MOVE OUT-FROM-FENCE TO PUT-NUMBER
           PERFORM PUT-A-NUMBER
           MOVE OUT-TO-FENCE TO PUT-NUMBER
           PERFORM PUT-A-NUMBER
           MOVE OUT-REASON TO PUT-VALUE
           PERFORM PUT-TEXT.

       SAY-VERSIONS.
           CALL VERSION-FUNCTION RETURNING VERSION-POINTER
           SET ADDRESS OF VERSION-TEXT TO VERSION-POINTER
           CALL "PLAYER-VERSION" USING DRIVER-VERSION
           PERFORM BEGIN-ROW
           STRING "GnuCOBOL " VERSION-TEXT DELIMITED BY SIZE
               INTO PUT-VALUE
           PERFORM PUT-TEXT
           MOVE DRIVER-VERSION TO PUT-VALUE
           PERFORM PUT-TEXT
           PERFORM END-ROW
           DISPLAY "end".

      * The counter, between whose read and write the runner decides
      * how long it takes.
       INCREMENT-COUNTER.
           MOVE "counter" TO IN-OBJECT-TYPE
           MOVE "1" TO IN-OBJECT-ID
           MOVE FIELD(2) TO IN-OPERATOR-ID
           MOVE 60 TO IN-TTL-SECONDS
           IF NOT IN-OPERATOR-ID-NULL
               CALL "APPLOCK-GET" USING APPLOCK
               PERFORM UNTIL NOT APPLOCK-OK OR APPLOCK-GRANTED
                   CALL "CBL_GC_NANOSLEEP" USING TEN-MILLISECONDS
                   CALL "APPLOCK-GET" USING APPLOCK
               END-PERFORM
           END-IF
           CALL "PLAYER-READ" USING APPLOCK-CONNECTION COUNTED
           MOVE COUNTED TO EDITED-NUMBER
           DISPLAY "read" HT FUNCTION TRIM(EDITED-NUMBER)
           READ CALLS
           ADD 1 TO COUNTED
           CALL "PLAYER-WRITE" USING APPLOCK-CONNECTION COUNTED
           IF NOT IN-OPERATOR-ID-NULL AND APPLOCK-OK
               CALL "APPLOCK-RELEASE" USING APPLOCK
           ELSE
               SET APPLOCK-OK TO TRUE
           END-IF
           PERFORM END-ANSWER.

       SPLIT-LINE.
           MOVE SPACES TO FIELDS
           MOVE 1 TO FIELD-COUNT
           MOVE 0 TO FIELD-LENGTH
           PERFORM VARYING LINE-POSITION FROM 1 BY 1
               UNTIL LINE-POSITION > LINE-LENGTH
               MOVE CALL-LINE(LINE-POSITION:1) TO LINE-BYTE
               EVALUATE LINE-BYTE
                   WHEN HT
                       ADD 1 TO FIELD-COUNT
                       MOVE 0 TO FIELD-LENGTH
                   WHEN "\"
                       ADD 1 TO LINE-POSITION
                       MOVE CALL-LINE(LINE-POSITION:1) TO LINE-BYTE
                       PERFORM TAKE-ESCAPED-BYTE
                   WHEN OTHER
                       PERFORM TAKE-BYTE
               END-EVALUATE
           END-PERFORM.

       TAKE-ESCAPED-BYTE.
           EVALUATE LINE-BYTE
               WHEN "N"
                   MOVE LOW-VALUES TO FIELD(FIELD-COUNT)
               WHEN "t"
                   MOVE HT TO LINE-BYTE
                   PERFORM TAKE-BYTE
               WHEN "n"
                   MOVE LINE-FEED TO LINE-BYTE
                   PERFORM TAKE-BYTE
               WHEN "r"
                   MOVE RETURN-CHARACTER TO LINE-BYTE
                   PERFORM TAKE-BYTE
               WHEN OTHER
                   PERFORM TAKE-BYTE
           END-EVALUATE.

       TAKE-BYTE.
           ADD 1 TO FIELD-LENGTH
           MOVE LINE-BYTE TO FIELD(FIELD-COUNT)(FIELD-LENGTH:1).

       TAKE-OBJECT.
           MOVE FIELD(2) TO IN-OBJECT-TYPE
           MOVE FIELD(3) TO IN-OBJECT-ID.

       TAKE-FENCE-FROM-5.
           IF FIELD(5) NOT = LOW-VALUES
               MOVE FUNCTION NUMVAL(FIELD(5)) TO IN-FENCE
           END-IF.

       TAKE-TTL-SECONDS-FROM-6.
           IF FIELD(6) NOT = LOW-VALUES
               MOVE FUNCTION NUMVAL(FIELD(6)) TO IN-TTL-SECONDS
           END-IF.

       FETCH-ROW.
           IF APPLOCK-OK
               CALL "APPLOCK-FETCH" USING APPLOCK
           END-IF.

       BEGIN-ROW.
           MOVE SPACES TO PUT-VALUE
           MOVE 1 TO ANSWER-END
           STRING "row" DELIMITED BY SIZE
               INTO ANSWER WITH POINTER ANSWER-END.

       PUT-OBJECT.
           MOVE OUT-OBJECT-TYPE TO PUT-VALUE
           PERFORM PUT-TEXT
           MOVE OUT-OBJECT-ID TO PUT-VALUE
           PERFORM PUT-TEXT.

       PUT-OWNER.
           MOVE OUT-OPERATOR-ID TO PUT-VALUE
           PERFORM PUT-TEXT
           MOVE OUT-DEPARTMENT-ID TO PUT-VALUE
           PERFORM PUT-TEXT.

      * Who has it, or has lost it.
       PUT-OLD-OWNER.
           IF OUT-FORMER-ID NOT = SPACES
               MOVE OUT-FORMER-ID TO OUT-HOLDER-ID
               MOVE OUT-FORMER-DEPARTMENT-ID TO OUT-HOLDER-DEPARTMENT-ID
           END-IF
           MOVE OUT-HOLDER-ID TO PUT-VALUE
           PERFORM PUT-TEXT
           MOVE OUT-HOLDER-DEPARTMENT-ID TO PUT-VALUE
           PERFORM PUT-TEXT.

       PUT-GRANTED.
           IF APPLOCK-GRANTED
               MOVE "true" TO PUT-VALUE
           ELSE
               MOVE "false" TO PUT-VALUE
           END-IF
           PERFORM PUT-TEXT.

       PUT-FLAG-AND-OUTCOME.
           PERFORM PUT-GRANTED
           MOVE OUT-GRANTED TO PUT-VALUE
           PERFORM PUT-TEXT
           MOVE OUT-OUTCOME TO PUT-VALUE
           PERFORM PUT-TEXT.

       PUT-FENCE.
           MOVE OUT-FENCE TO PUT-NUMBER
           PERFORM PUT-A-NUMBER.

       PUT-NOTE.
           MOVE OUT-NOTE TO PUT-VALUE
           PERFORM PUT-TEXT.

       PUT-SECONDS-LEFT.
           MOVE OUT-SECONDS-LEFT TO PUT-NUMBER
           PERFORM PUT-A-NUMBER.

       PUT-LOCK-TIMES.
           MOVE OUT-ACQUIRED-TS TO PUT-VALUE
           PERFORM PUT-TIMESTAMP
           MOVE OUT-LOCK-TS TO PUT-VALUE
           PERFORM PUT-TIMESTAMP
           PERFORM PUT-EXPIRES-TS.

       PUT-EXPIRES-TS.
           MOVE OUT-EXPIRES-TS TO PUT-VALUE
           PERFORM PUT-TIMESTAMP.

       PUT-TIMESTAMP.
           IF PUT-VALUE = SPACES
               STRING HT "\N" DELIMITED BY SIZE
                   INTO ANSWER WITH POINTER ANSWER-END
           ELSE
               PERFORM PUT-TEXT
           END-IF.

       PUT-A-NUMBER.
           MOVE PUT-NUMBER TO EDITED-NUMBER
           MOVE FUNCTION TRIM(EDITED-NUMBER) TO PUT-VALUE
           PERFORM PUT-TEXT.

      * 0 is none.
       PUT-A-TTL.
           IF PUT-NUMBER = 0
               STRING HT "\N" DELIMITED BY SIZE
                   INTO ANSWER WITH POINTER ANSWER-END
           ELSE
               PERFORM PUT-A-NUMBER
           END-IF.

       PUT-TEXT.
           MOVE LENGTH OF PUT-VALUE TO PUT-LENGTH
           PERFORM UNTIL PUT-LENGTH = 0
               OR PUT-VALUE(PUT-LENGTH:1) NOT = SPACE
               SUBTRACT 1 FROM PUT-LENGTH
           END-PERFORM
           STRING HT DELIMITED BY SIZE
               INTO ANSWER WITH POINTER ANSWER-END
           PERFORM PUT-BYTE VARYING PUT-POSITION FROM 1 BY 1
               UNTIL PUT-POSITION > PUT-LENGTH.

       PUT-BYTE.
           MOVE PUT-VALUE(PUT-POSITION:1) TO LINE-BYTE
           EVALUATE LINE-BYTE
               WHEN "\"
                   STRING "\\" DELIMITED BY SIZE
                       INTO ANSWER WITH POINTER ANSWER-END
               WHEN HT
                   STRING "\t" DELIMITED BY SIZE
                       INTO ANSWER WITH POINTER ANSWER-END
               WHEN LINE-FEED
                   STRING "\n" DELIMITED BY SIZE
                       INTO ANSWER WITH POINTER ANSWER-END
               WHEN RETURN-CHARACTER
                   STRING "\r" DELIMITED BY SIZE
                       INTO ANSWER WITH POINTER ANSWER-END
               WHEN OTHER
                   MOVE LINE-BYTE TO ANSWER(ANSWER-END:1)
                   ADD 1 TO ANSWER-END
           END-EVALUATE.

       END-ROW.
           DISPLAY ANSWER(1:ANSWER-END - 1).

       END-ANSWER.
           EVALUATE TRUE
               WHEN APPLOCK-OK
               WHEN APPLOCK-NO-ROW
                   DISPLAY "end"
               WHEN APPLOCK-MISTAKE
               WHEN APPLOCK-CALL-AGAIN
                   MOVE 1 TO ANSWER-END
                   STRING "error" HT APPLOCK-SQLSTATE DELIMITED BY SIZE
                       INTO ANSWER WITH POINTER ANSWER-END
                   MOVE APPLOCK-MESSAGE TO PUT-VALUE
                   PERFORM PUT-TEXT
                   PERFORM END-ROW
               WHEN OTHER
                   DISPLAY APPLOCK-SQLSTATE " "
                       FUNCTION TRIM(APPLOCK-MESSAGE) UPON SYSERR
                   MOVE 1 TO RETURN-CODE
                   STOP RUN
           END-EVALUATE.
