      * The arguments and answers of the programs APPLOCK-... The names
      * are those of procedures/README.md, with IN- and OUT- for the
      * "p_".
      *
      * A text ends at its trailing blanks. Lengths of names are in
      * characters there and in bytes here; a character in UTF-8 has up
      * to four. The texts of APPLOCK-IN have room for one character
      * more than is allowed, so that a long text is refused, not cut.
      *
      * All of APPLOCK-IN is NULL at first, and again after
      *     INITIALIZE APPLOCK-IN ALL TO VALUE
       01  APPLOCK.
      *    Yours: a PGconn of libpq, a MYSQL of libmariadb.
           05  APPLOCK-CONNECTION          POINTER VALUE NULL.
      *    Blank is "applock" on PostgreSQL, and the connection's own
      *    database on MySQL and MariaDB.
           05  APPLOCK-SCHEMA              PIC X(64) VALUE SPACES.

           05  APPLOCK-IN.
               10  IN-OBJECT-TYPE          PIC X(260) VALUE LOW-VALUES.
                   88  IN-OBJECT-TYPE-NULL VALUE LOW-VALUES.
               10  IN-OBJECT-ID            PIC X(1024) VALUE LOW-VALUES.
                   88  IN-OBJECT-ID-NULL   VALUE LOW-VALUES.
               10  IN-OPERATOR-ID          PIC X(260) VALUE LOW-VALUES.
                   88  IN-OPERATOR-ID-NULL VALUE LOW-VALUES.
               10  IN-DEPARTMENT-ID        PIC X(260) VALUE LOW-VALUES.
                   88  IN-DEPARTMENT-ID-NULL VALUE LOW-VALUES.
               10  IN-TO-OPERATOR-ID       PIC X(260) VALUE LOW-VALUES.
                   88  IN-TO-OPERATOR-ID-NULL VALUE LOW-VALUES.
               10  IN-CLIENT-ID            PIC X(260) VALUE LOW-VALUES.
                   88  IN-CLIENT-ID-NULL   VALUE LOW-VALUES.
      *        An asker for an object of IN-OPERATOR-ID, and the answer:
      *        GIVE, LATER or NO.
               10  IN-ASKER-ID             PIC X(260) VALUE LOW-VALUES.
                   88  IN-ASKER-ID-NULL    VALUE LOW-VALUES.
               10  IN-ANSWER               PIC X(16) VALUE LOW-VALUES.
                   88  IN-ANSWER-NULL      VALUE LOW-VALUES.
      *        The message for the holder.
               10  IN-MESSAGE              PIC X(1024) VALUE LOW-VALUES.
                   88  IN-MESSAGE-NULL     VALUE LOW-VALUES.
      *        VIEWING, EDITING or IDLE; NULL when it leaves.
               10  IN-STATE                PIC X(20) VALUE LOW-VALUES.
                   88  IN-STATE-NULL       VALUE LOW-VALUES.
               10  IN-NOTE                 PIC X(1024) VALUE LOW-VALUES.
                   88  IN-NOTE-NULL        VALUE LOW-VALUES.
      *        Who does it, and why, for the history.
               10  IN-ACTOR-ID             PIC X(260) VALUE LOW-VALUES.
                   88  IN-ACTOR-ID-NULL    VALUE LOW-VALUES.
               10  IN-REASON               PIC X(1024) VALUE LOW-VALUES.
                   88  IN-REASON-NULL      VALUE LOW-VALUES.
      *        The policy of a type.
               10  IN-TAKE-REASON-FL       PIC X(4) VALUE LOW-VALUES.
                   88  IN-TAKE-REASON-FL-NULL VALUE LOW-VALUES.
               10  IN-HISTORY-LEVEL        PIC X(12) VALUE LOW-VALUES.
                   88  IN-HISTORY-LEVEL-NULL VALUE LOW-VALUES.
               10  IN-PRESENCE-FL          PIC X(4) VALUE LOW-VALUES.
                   88  IN-PRESENCE-FL-NULL VALUE LOW-VALUES.
               10  IN-YIELD-AFTER-SECONDS  PIC S9(18) COMP-5
                                           VALUE -999999999999999999.
                   88  IN-YIELD-AFTER-SECONDS-NULL
                                           VALUE -999999999999999999.
               10  IN-DEFAULT-TTL-SECONDS  PIC S9(18) COMP-5
                                           VALUE -999999999999999999.
                   88  IN-DEFAULT-TTL-SECONDS-NULL
                                           VALUE -999999999999999999.
               10  IN-LONGEST-TTL-SECONDS  PIC S9(18) COMP-5
                                           VALUE -999999999999999999.
                   88  IN-LONGEST-TTL-SECONDS-NULL
                                           VALUE -999999999999999999.
               10  IN-FENCE                PIC S9(18) COMP-5
                                           VALUE -999999999999999999.
                   88  IN-FENCE-NULL       VALUE -999999999999999999.
               10  IN-TTL-SECONDS          PIC S9(18) COMP-5
                                           VALUE -999999999999999999.
                   88  IN-TTL-SECONDS-NULL VALUE -999999999999999999.
      *        Y to refuse the operator's own live lock, too.
               10  IN-NEW-FL               PIC X(4) VALUE LOW-VALUES.
                   88  IN-NEW-FL-NULL      VALUE LOW-VALUES.
               10  IN-PERMITS              PIC S9(18) COMP-5
                                           VALUE -999999999999999999.
                   88  IN-PERMITS-NULL     VALUE -999999999999999999.
               10  IN-WAIT-SECONDS         PIC S9(18) COMP-5
                                           VALUE -999999999999999999.
                   88  IN-WAIT-SECONDS-NULL VALUE -999999999999999999.
               10  IN-OLDER-THAN-SECONDS   PIC S9(18) COMP-5
                                           VALUE -999999999999999999.
                   88  IN-OLDER-THAN-NULL  VALUE -999999999999999999.
               10  IN-SINCE-SECONDS        PIC S9(18) COMP-5
                                           VALUE -999999999999999999.
                   88  IN-SINCE-SECONDS-NULL
                                           VALUE -999999999999999999.
               10  IN-MAX-ROWS             PIC S9(18) COMP-5
                                           VALUE -999999999999999999.
                   88  IN-MAX-ROWS-NULL    VALUE -999999999999999999.
      *        Y for a dry run, which changes nothing.
               10  IN-DRY-RUN-FL           PIC X(4) VALUE LOW-VALUES.
                   88  IN-DRY-RUN-FL-NULL  VALUE LOW-VALUES.
      *        The last row of the page before, or OUT-SAFE-EVENT-ID.
               10  IN-AFTER-TYPE           PIC X(260) VALUE LOW-VALUES.
                   88  IN-AFTER-TYPE-NULL  VALUE LOW-VALUES.
               10  IN-AFTER-ID             PIC X(1024) VALUE LOW-VALUES.
                   88  IN-AFTER-ID-NULL    VALUE LOW-VALUES.
               10  IN-AFTER-DEPARTMENT-ID  PIC X(260) VALUE LOW-VALUES.
                   88  IN-AFTER-DEPARTMENT-ID-NULL VALUE LOW-VALUES.
               10  IN-AFTER-OPERATOR-ID    PIC X(260) VALUE LOW-VALUES.
                   88  IN-AFTER-OPERATOR-ID-NULL VALUE LOW-VALUES.
               10  IN-AFTER-CLIENT-ID      PIC X(260) VALUE LOW-VALUES.
                   88  IN-AFTER-CLIENT-ID-NULL VALUE LOW-VALUES.
               10  IN-AFTER-EVENT-ID       PIC S9(18) COMP-5
                                           VALUE -999999999999999999.
                   88  IN-AFTER-EVENT-ID-NULL
                                           VALUE -999999999999999999.

      *    Fields without an answer are blank or 0. A timestamp
      *    is text like 2026-11-22T12:41:07.123456Z.
           05  APPLOCK-OUT.
      *        Has the caller got what it asked for? It is blank after
      *        an error, and where an operation has no outcomes.
               10  OUT-GRANTED             PIC X.
                   88  APPLOCK-GRANTED     VALUE "Y".
                   88  APPLOCK-REFUSED     VALUE "N".
      *        Of APPLOCK-INQUIRE: the object is held or free.
               10  OUT-HELD                PIC X.
                   88  APPLOCK-HELD        VALUE "Y".
                   88  APPLOCK-FREE        VALUE "N".
               10  OUT-OUTCOME             PIC X(16).
               10  OUT-OBJECT-TYPE         PIC X(256).
      *        OBJECT_ID and SLOT_ID.
               10  OUT-OBJECT-ID           PIC X(1020).
               10  OUT-OPERATOR-ID         PIC X(256).
               10  OUT-DEPARTMENT-ID       PIC X(256).
               10  OUT-CLIENT-ID           PIC X(256).
      *        The holder when it is refused or ASKED; of a waiter or a
      *        request, the holder of its object.
               10  OUT-HOLDER-ID           PIC X(256).
               10  OUT-HOLDER-DEPARTMENT-ID PIC X(256).
      *        The former holder, after APPLOCK-TAKE or GIVEN.
               10  OUT-FORMER-ID           PIC X(256).
               10  OUT-FORMER-DEPARTMENT-ID PIC X(256).
               10  OUT-WAITED-SECONDS      PIC S9(18) COMP-5.
               10  OUT-FENCE               PIC S9(18) COMP-5.
               10  OUT-SECONDS-LEFT        PIC S9(18) COMP-5.
               10  OUT-TTL-SECONDS         PIC S9(18) COMP-5.
               10  OUT-FREE-IN-US          PIC S9(18) COMP-5.
      *        Of the contract in the database.
               10  OUT-VERSION             PIC S9(18) COMP-5.
               10  OUT-PURGED              PIC S9(18) COMP-5.
               10  OUT-LIVE                PIC S9(18) COMP-5.
               10  OUT-EXPIRED             PIC S9(18) COMP-5.
               10  OUT-OLDEST-SECONDS      PIC S9(18) COMP-5.
               10  OUT-NEXT-EXPIRY-SECONDS PIC S9(18) COMP-5.
               10  OUT-WAITERS             PIC S9(18) COMP-5.
               10  OUT-LONGEST-WAIT-SECONDS PIC S9(18) COMP-5.
               10  OUT-ACQUIRED-TS         PIC X(32).
               10  OUT-LOCK-TS             PIC X(32).
               10  OUT-EXPIRES-TS          PIC X(32).
               10  OUT-SINCE-TS            PIC X(32).
               10  OUT-UNTIL-TS            PIC X(32).
               10  OUT-NOTE                PIC X(1020).
      *        Those of a policy, and OUT-OBJECT-TYPE.
               10  OUT-DEFAULT-TTL-SECONDS PIC S9(18) COMP-5.
               10  OUT-LONGEST-TTL-SECONDS PIC S9(18) COMP-5.
               10  OUT-TAKE-REASON-FL      PIC X.
               10  OUT-HISTORY-LEVEL       PIC X(8).
               10  OUT-PRESENCE-FL         PIC X.
               10  OUT-YIELD-AFTER-SECONDS PIC S9(18) COMP-5.
      *        Those of an event, and OUT-OBJECT-TYPE and -ID.
               10  OUT-EVENT-ID            PIC S9(18) COMP-5.
               10  OUT-EVENT-TS            PIC X(32).
               10  OUT-EVENT               PIC X(16).
               10  OUT-ACTOR-ID            PIC X(256).
               10  OUT-DB-USER             PIC X(256).
               10  OUT-PROGRAM             PIC X(1020).
               10  OUT-FROM-OPERATOR-ID    PIC X(256).
               10  OUT-FROM-DEPARTMENT-ID  PIC X(256).
               10  OUT-TO-OPERATOR-ID      PIC X(256).
               10  OUT-TO-DEPARTMENT-ID    PIC X(256).
               10  OUT-FROM-FENCE          PIC S9(18) COMP-5.
               10  OUT-TO-FENCE            PIC S9(18) COMP-5.
               10  OUT-REASON              PIC X(1020).
      *        Those of a notice, and of the event and the object.
      *        TAKEN, HANDED, RELEASED, GIVEN and YIELDED are events;
      *        AWAITED, LATER and DECLINED are the present state. Of
      *        APPLOCK-SEE: HOLDER, ASKER or VIEWER.
               10  OUT-KIND                PIC X(8).
               10  OUT-OTHER-OPERATOR-ID   PIC X(256).
               10  OUT-OTHER-DEPARTMENT-ID PIC X(256).
               10  OUT-SAFE-EVENT-ID       PIC S9(18) COMP-5.
      *        Of a request; OUT-CLIENT-ID and OUT-FENCE are for
      *        APPLOCK-ANSWER.
               10  OUT-MESSAGE             PIC X(1020).
               10  OUT-ANSWER              PIC X(8).
               10  OUT-ANSWER-REASON       PIC X(1020).
      *        What a viewer does: VIEWING, EDITING or IDLE.
               10  OUT-STATE               PIC X(8).

           05  APPLOCK-SQLSTATE            PIC X(5).
               88  APPLOCK-OK              VALUE "00000".
               88  APPLOCK-NO-ROW          VALUE "02000".
      *        A mistake of the program: the same call fails again.
               88  APPLOCK-MISTAKE         VALUE "LK001" "LK002".
      *        Too much contention: the same call again.
               88  APPLOCK-CALL-AGAIN      VALUE "LK003".
           05  APPLOCK-MESSAGE             PIC X(2048).

      *    The rows that are not fetched yet; internal.
           05  APPLOCK-RESULT              POINTER VALUE NULL.
           05  APPLOCK-ROWS                PIC S9(9) COMP-5 VALUE 0.
           05  APPLOCK-ROW                 PIC S9(9) COMP-5 VALUE 0.
