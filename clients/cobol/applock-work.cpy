      * What the operations work with: a part of applock-libpq.cob and
      * applock-libmariadb.cob.
       01  ROUTINE                 PIC X(32).
       01  OPERATION               PIC X(32).
       01  SCHEMA                  PIC X(64).
       01  STATEMENT-VERB          PIC X(16).
       01  PARAMETERS              PIC S9(9) COMP-5.
       01  GIVEN-TEXT              PIC X(1024).
       01  TEXT-LENGTH             PIC S9(9) COMP-5.
       01  GIVEN-NUMBER            PIC S9(18) COMP-5.
           88  GIVEN-NUMBER-NULL   VALUE -999999999999999999.
       01  EDITED-NUMBER           PIC -(19)9.

      * The key of a view, and of the row behind which a page begins.
       01  FILTER-COLUMN           PIC X(16).
       01  KEY-COLUMNS             PIC S9(9) COMP-5.
       01  KEY-NUMBER              PIC S9(9) COMP-5.
       01  VIEW-KEY.
           05  KEY-PART            OCCURS 4.
               10  KEY-COLUMN      PIC X(16).
               10  KEY-VALUE       PIC X(1024).

      * The document of a renewal, which has room for 160 grants with
      * the longest names, and for thousands with usual ones.
       01  GRANTS                  PIC X(1000000).
       01  GRANTS-LENGTH           PIC S9(9) COMP-5 VALUE 0.
       01  JSON-NAME               PIC X(16).
       01  JSON-TEXT               PIC X(20).
       01  JSON-LENGTH             PIC S9(9) COMP-5.
       01  HEX-DIGITS              PIC X(16) VALUE "0123456789abcdef".
       01  BYTE-NUMBER             PIC S9(9) COMP-5.
       01  BYTE-VALUE              PIC S9(9) COMP-5.
       01  HIGH-HALF               PIC S9(9) COMP-5.
       01  LOW-HALF                PIC S9(9) COMP-5.

      * Quoting makes of each byte at most two.
       01  STATEMENT               PIC X(2010000).
       01  STATEMENT-END           PIC S9(18) COMP-5.
       01  BYTES-LENGTH            PIC S9(18) COMP-5.

       01  COLUMNS-FOUND           PIC S9(9) COMP-5.
       01  COLUMN-NUMBER           PIC S9(9) COMP-5.
       01  COLUMN-NAME             PIC X(32).
       01  COLUMN-TEXT             PIC X(1024).
       01  COLUMN-LENGTH           PIC S9(18) COMP-5.
       01  COLUMN-POINTER          POINTER.
       01  NAME-POINTER            POINTER.
       01  NAME-LENGTH             PIC S9(9) COMP-5.
