# Application locks for bash, with psql, mariadb or mysql: copy this file, and source it.
#
#   applock_client=(psql)                                  # its environment says where
#   applock_client=(mariadb --user=app --host=db1 appdb)   # or mysql
#   if applock_get customer 42 JDOE CS 3600; then echo "${lock[fence]}"; else echo "${lock[holder]} has it"; fi
#
# Each function is one session of the client and one call of one procedure, or reads one view, and final when it returns. It returns
# 0 when the caller got what it asked for, and 1 when not. After an error it returns 2 for a mistake of the caller (LK001), 5 for a failed
# assertion (LK002), 75 if a retry may work (LK003), and 4 for any other. Then the client's message is on stderr, and the SQLSTATE in
# applock_sqlstate. Arguments are in the order of procedures/README.md. An absent one, or \N, is NULL.
#
# An answer of one row is in the associative array lock: granted is true or false, outcome a word, holder and holder_department the
# operator who has the object instead. Functions with many rows print them: tabs between columns, and \t, \n, \\ and \N in them as in
# PostgreSQL's COPY. Times are UTC.

applock_get() { _applock_one "ok_fl outcome holder holder_department fence expires_at seconds_left note" get_appl_lock_row 6 "$@"; }
applock_release() { _applock_one "ok_fl outcome holder holder_department" release_appl_lock_row 6 "$@"; }
applock_transfer() { _applock_one "ok_fl outcome holder holder_department fence expires_at seconds_left" transfer_appl_lock_row 8 "$@"; }
applock_note() { _applock_one "ok_fl outcome holder holder_department" note_appl_lock_row 5 "$@"; }
applock_set_policy() { _applock_one "ok_fl outcome" set_appl_lock_policy_row 9 "$@"; }
applock_drop_policy() { _applock_one "ok_fl outcome" drop_appl_lock_policy_row 3 "$@"; }
applock_purge() { _applock_one "purged" purge_appl_locks_row 2 "$@"; }
applock_purge_history() { _applock_one "purged" purge_appl_lock_history_row 2 "$@"; }
applock_announce() { _applock_one "ok_fl" announce_appl_lock_waiter_row 6 "$@"; }
applock_retract() { _applock_one "ok_fl" retract_appl_lock_waiter_row 4 "$@"; }

applock_answer() { _applock_one "ok_fl outcome holder holder_department expires_at seconds_left" answer_appl_lock_row 8 "$@"; }

# Asks an object's holder for it. The request is listed for 60 s, or until the seconds of the last argument are over: repeat the call in
# each heartbeat. 0 withdraws it. For ASKED, holder has the object. For GIVEN, the operator has it now, and former and former_department
# had it before.
applock_ask() {
    _applock_one "ok_fl outcome holder holder_department fence expires_at seconds_left" ask_appl_lock_row 7 "$@" || return
    [[ ${lock[outcome]} != GIVEN ]] || _applock_former
}

# Takes a held object from its holder, for a reason: former and former_department have lost it.
applock_take() {
    _applock_one "ok_fl outcome holder holder_department fence expires_at seconds_left" take_appl_lock_row 7 "$@" || return
    _applock_former
}

# Shows who holds an object, since when and until when. It returns 0 and lock has operator and department if the object is held, and 1
# and lock is empty if it is free.
applock_inquire() {
    _applock_one "ok_fl operator department fence acquired_at locked_at expires_at seconds_left note" inquire_appl_lock_row 2 "$@" || return
    [[ ${lock[fence]} != 0 ]] || { lock=() && return 1; }
}

# Takes or renews one of the permits of an object until it expires. slot_id is the permit's id for all other functions. For FULL, the array
# holders has a line for each slot: slot_id, operator,
# department, fence, expires_at, seconds_left, note.
applock_permit() {
    local rows
    holders=()
    _applock_keep "outcome slot_id operator department fence expires_at seconds_left note" get_appl_lock_permit 6 "$@" || {
        local status=$?
        ((status == 1)) && mapfile -t holders < <(cut -f 2- <<<"$rows") && lock=([granted]=false [outcome]="${lock[outcome]}")
        return $status
    }
}

# Hands over or releases one page of what an operator holds: a row for each lock, which begins with true if that was done, else false. It
# returns 1 after a false. The last page has fewer rows than max_rows.
applock_transfer_all() { _applock_list transfer_appl_locks "- - - - - - ts -" 11 "$@"; }
applock_release_all() { _applock_list release_appl_locks "- - - - - - ts -" 8 "$@"; }

# applock_renew [OBJECT_TYPE OBJECT_ID OPERATOR FENCE TTL]... renews many grants, each by its fence, and prints such rows. It also returns 1
# if a row is missing, because another transaction has locked it.
applock_renew() {
    local document='' count=0 value i record rows status names=(object_type object_id operator_id fence ttl_seconds)
    (($# % 5 == 0)) || { echo "applock_renew: each grant has five arguments" >&2 && return 2; }
    for (( ; $#; count++)); do
        record=
        for i in 0 1 2 3 4; do
            value=$1
            shift
            if [[ $value == '\N' ]]; then
                value=null
            elif ((i < 3)); then
                value=${value//\\/\\\\} value=${value//\"/\\\"} value=${value//$'\t'/\\t}
                value=\"${value//$'\n'/\\n}\" value=${value//$'\r'/\\r}
            elif [[ ! $value =~ ^-?[0-9]+$ ]]; then
                echo "applock_renew: ${names[i]} must be a whole number, not $value" >&2
                return 2
            fi
            record+=,\"${names[i]}\":$value
        done
        document+=,{${record#,}}
    done
    rows=$(_applock_list renew_appl_locks "- - - - - ts -" 1 "[${document#,}]")
    status=$?
    [[ $rows ]] && printf '%s\n' "$rows"
    ((status == 0 && $(grep -c . <<<"$rows") < count)) && status=1
    return $status
}

applock_poll() { _applock_rows "- - -" poll_appl_locks 2 "$@"; }

# Lists an operator as a viewer of an object: VIEWING, EDITING or IDLE; \N removes it. It prints the object's holder, askers and other
# viewers: kind, which is HOLDER, ASKER or VIEWER, operator_id, department_id, client_id, state, since_ts, seconds_left, message. The
# operator is listed for 45 s, or the last argument, at most 60: repeat the call in each heartbeat of 15 s. It locks nothing.
applock_see() { _applock_rows "- - - - - ts - -" see_appl_lock 7 "$@"; }

# Reports what others did with an operator's locks, who waits or asks for them, and how its requests were answered. The first column is TAKEN,
# HANDED, RELEASED, GIVEN or YIELDED for an event, and AWAITED, LATER or DECLINED for the present state. The last three are of a request: its
# message, and the client_id and the fence for applock_answer.
applock_inbox() { _applock_rows "- - - - - - ts - - - - - -" inbox_appl_locks 3 "$@"; }

# applock_assert OBJECT_TYPE OBJECT_ID OPERATOR FENCE SQL runs the SQL in a transaction in which exactly this grant stays live, and fails
# if the grant has ended. applock_serialize OBJECT_TYPE OBJECT_ID SQL runs it in a transaction that works on the object alone. Both print
# the answer of the SQL, and commit it or roll it back as a whole. Both need SQL: without it their transaction would end at once.
applock_assert() { _applock_inside assert_appl_lock_row 4 "$@"; }
applock_serialize() { _applock_inside serialize_appl_lock_row 2 "$@"; }

# Says what to do when the database has an older contract than these functions need.
applock_check() {
    local version
    version=$(_applock_rows - appl_lock_version 0) || return
    ((version >= 1)) && return
    echo "applock: the database has contract $version, and applock.bash needs 1: applockctl migrate up" >&2
    return 4
}

# Whether the caller got what it asked for, by operation and outcome.
declare -gA _applock_outcomes=(
    # outcomes: made by `make generate`
    [get_appl_lock]="ACQUIRED=true RENEWED=true HELD=false"
    [get_appl_lock_permit]="ACQUIRED=true RENEWED=true FULL=false"
    [release_appl_lock]="RELEASED=true FREE=true HELD=false"
    [release_appl_locks]="RELEASED=true BUSY=false HELD=false FREE=false WOULD_RELEASE=false"
    [transfer_appl_lock]="TRANSFERRED=true HELD=false FREE=false"
    [take_appl_lock]="TAKEN=true HELD=false FREE=false"
    [transfer_appl_locks]="TRANSFERRED=true BUSY=false HELD=false FREE=false WOULD_TRANSFER=false"
    [note_appl_lock]="NOTED=true FREE=false HELD=false"
    [renew_appl_locks]="RENEWED=true HELD=false FREE=false"
    [set_appl_lock_policy]="SET=true"
    [drop_appl_lock_policy]="DROPPED=true NONE=false"
    [ask_appl_lock]="ASKED=true GIVEN=true WITHDRAWN=true FREE=false OWN=false"
    [answer_appl_lock]="GIVEN=true TOLD=true HELD=false FREE=false GONE=false"
    # outcomes: end
)

# applock_read VIEW [NAME VALUE]... prints one page of a view in the order of its key: the rows that have these values in these
# columns. after_COLUMN is the key of the row behind which it begins, and max_rows how many there are at most. appl_lock_history also has
# operator_id, who did, lost or got it, and since_seconds, how long ago it was at most.
applock_read() {
    local view=$1 key=${_applock_key[$1]-} limit=1000 conditions=() values=() ago
    local -A after=()
    [[ $key ]] || { echo "applock_read: there is no view $1" >&2 && return 2; }
    shift
    for (( ; $#; )); do
        if [[ ! $1 =~ ^[a-z_]+$ || $1 == *_seconds && ! $2 =~ ^(\\N|[0-9]+)$ ]]; then
            echo "applock_read: $1 cannot be $2" >&2
            return 2
        fi
        case $2:$view:$1 in
        '\N':*) ;;
        *:max_rows) limit=$((10#$2)) ;;
        *:after_*) after[${1#after_}]=$2 ;;
        *:since_seconds)
            ago="UTC_TIMESTAMP(6) - INTERVAL $2 SECOND"
            _applock_is_psql && ago="statement_timestamp() - $2 * interval '1 second'"
            conditions+=("event_ts >= $ago")
            ;;
        *:appl_lock_history:operator_id) conditions+=("? IN (actor_id, from_operator_id, to_operator_id)") values+=("$2") ;;
        *) conditions+=("$1 = ?") values+=("$2") ;;
        esac
        shift 2
    done
    ((${#after[@]})) && _applock_behind $key
    local where="${conditions[*]/%/ AND}"
    _applock_ask "${_applock_kinds[$view]}" "SELECT * FROM " "$view ${where:+WHERE ${where% AND}} ORDER BY ${key// /, } LIMIT $limit" "${values[@]}"
}

# The views: the columns that identify a row, and those that are times or may be NULL.
declare -gA _applock_key=(
    [appl_lock_live]="object_type object_id" [appl_lock_waiting]="object_type object_id operator_id client_id"
    [appl_lock_asking]="object_type object_id operator_id client_id" [appl_lock_viewers]="object_type object_id operator_id client_id"
    [appl_lock_history]=event_id [appl_lock_policies]=object_type [appl_lock_stats]="object_type department_id"
)
declare -gA _applock_kinds=(
    [appl_lock_live]="- - - - - ts ts ts - - -" [appl_lock_waiting]="- - - - - ts ts - - - -" [appl_lock_viewers]="- - - - - - ts -"
    [appl_lock_asking]="- - - - - - ts ts - - - - - -"
    [appl_lock_history]="- ts - - - - - - - - - - - - -" [appl_lock_policies]="- null null - - - null" [appl_lock_stats]="- - - - - - - -"
)

declare -gA lock=()
declare -ga holders=()

# The answer's holder is the former one.
_applock_former() { lock[former]=${lock[holder]} lock[former_department]=${lock[holder_department]} lock[holder]= lock[holder_department]=; }

_applock_is_psql() { [[ ${applock_client[0]##*/} == psql* ]]; }

# _applock_behind COLUMN... adds the condition for the rows after a row. MySQL and MariaDB read a range of the key only if each column is
# compared.
_applock_behind() {
    local condition=' > ' closing='' name
    if _applock_is_psql; then
        local IFS=,
        condition="($*) > (${*//*/?})"
        for name; do values+=("${after[$name]}"); done
    else
        condition=
        for name in "${@:1:$#-1}"; do
            condition+="($name > ? OR $name = ? AND " closing+=')'
            values+=("${after[$name]}" "${after[$name]}")
        done
        condition+="${!#} > ?$closing"
        values+=("${after[${!#}]}")
    fi
    conditions+=("$condition")
}

# _applock_one NAMES ROUTINE COUNT [ARGUMENT]...
_applock_one() {
    local rows
    _applock_keep "$@"
}

# _applock_keep NAMES ROUTINE COUNT [ARGUMENT]... keeps the first of the rows in lock, and all in rows.
_applock_keep() {
    local field rest name granted status
    lock=()
    rows=$(_applock_rows "$@")
    status=$?
    _applock_heard $status "$rows" || return
    # A tab is a blank to read, which takes many for one: fields may be empty.
    rest=${rows%%$'\n'*}$'\t'
    for name in $1; do
        field=${rest%%$'\t'*}
        rest=${rest#*$'\t'}
        [[ $field == '\N' ]] && field=
        printf -v field %b "$field"
        [[ $name == ok_fl ]] || lock[$name]=$field
    done
    [[ ${lock[outcome]-} ]] || return 0
    _applock_judge "${2%_row}" "${lock[outcome]}" || return
    lock[granted]=$granted
    $granted
}

# _applock_heard STATUS OUTPUT keeps the SQLSTATE, and returns the status.
_applock_heard() {
    applock_sqlstate=00000
    (($1 == 0)) || applock_sqlstate=${2##*$'\n'}
    return "$1"
}

# _applock_judge OPERATION OUTCOME sets granted.
_applock_judge() {
    local pair
    for pair in ${_applock_outcomes[$1]}; do
        [[ $pair == "$2="* ]] && granted=${pair#*=} && return
    done
    lock=()
    echo "applock: $1 answers $2, which is new: copy the applock.bash of the version in the database" >&2
    return 4
}

# _applock_list OPERATION KINDS COUNT [ARGUMENT]... prints the rows, with what their third column says before them.
_applock_list() {
    local rows row rest granted all=0
    rows=$(_applock_rows "$2" "$1" "${@:3}") || {
        local status=$?
        printf '%s\n' "$rows"
        return $status
    }
    [[ $rows ]] || return 0
    while IFS= read -r row; do
        rest=${row#*$'\t'} rest=${rest#*$'\t'}
        _applock_judge "$1" "${rest%%$'\t'*}" || return
        printf '%s\t%s\n' "$granted" "$row"
        $granted || all=1
    done <<<"$rows"
    return $all
}

# _applock_inside ROUTINE COUNT [ARGUMENT]... SQL
_applock_inside() {
    local sql output status
    if (($# < $2 + 3)) || [[ ! ${*: -1} =~ [^[:space:]\;] ]]; then
        echo "${FUNCNAME[1]}: the SQL for the same transaction is missing" >&2
        applock_sqlstate=LK001
        return 2
    fi
    sql=${*: -1} sql=${sql%"${sql##*[![:space:]\;]}"}
    output=$(_applock_rows "" "${@:1:$#-1}")
    status=$?
    _applock_heard $status "$output" || return
    # The first line is the routine's.
    [[ $output == *$'\n'* ]] && printf '%s\n' "${output#*$'\n'}"
    return 0
}

# _applock_rows KINDS ROUTINE COUNT [ARGUMENT]... prints the rows, or the SQLSTATE of an error.
_applock_rows() {
    local kinds=$1 routine=$2 places=,?,?,?,?,?,?,?,?,?,?,? verb="CALL "
    _applock_is_psql && verb="SELECT * FROM "
    places=${places:0:2*$3}
    _applock_ask "$kinds" "$verb" "$routine(${places#,})" "${@:4}"
}

# _applock_ask KINDS VERB WHAT [ARGUMENT]... does so for a statement with a question mark for each argument. The variable sql, if not
# empty, runs after it in the same transaction.
_applock_ask() {
    local kinds=$1 ask=_applock_mysql messages output status
    messages=$(mktemp) || return 4
    _applock_is_psql && ask=_applock_psql
    output=$($ask "${@:2}" 2>"$messages")
    status=$?
    if ((status)); then
        _applock_status "$(<"$messages")"
        status=$?
    elif [[ $output ]]; then
        _applock_print "$kinds" <<<"$output"
    fi
    rm -f "$messages"
    return $status
}

_applock_psql() {
    local verb=$1 rest=$2 what='' i variables=()
    shift 2
    for ((i = 1; ; i++)); do
        what+=${rest%%\?*}
        [[ $rest == *\?* ]] || break
        rest=${rest#*\?}
        if (($# < i)) || [[ ${!i} == '\N' ]]; then
            what+=NULL
        else
            variables+=(--set "a$i=${!i}")
            what+=":'a$i'"
        fi
    done
    what=$verb${applock_schema:-applock}.$what
    if [[ ${sql-} ]]; then what="BEGIN; $what; $sql"$'\n; COMMIT;'; else what="COPY ($what) TO STDOUT;"; fi
    PGTZ=UTC PGDATESTYLE=ISO PGCLIENTENCODING=UTF8 "${applock_client[@]}" --no-psqlrc --quiet --tuples-only --no-align --field-separator=$'\t' \
        --set ON_ERROR_STOP=1 --set VERBOSITY=verbose "${variables[@]}" <<<"$what"
}

_applock_mysql() {
    local verb=$1 rest=$2 what='' i value
    shift 2
    for ((i = 1; ; i++)); do
        what+=${rest%%\?*}
        [[ $rest == *\?* ]] || break
        rest=${rest#*\?}
        if (($# < i)) || [[ ${!i} == '\N' ]]; then
            what+=NULL
        else
            value=${!i//\\/\\\\}
            what+="'${value//\'/\\\'}'"
        fi
    done
    what=$verb${applock_schema:+$applock_schema.}$what
    [[ ${sql-} ]] && what="START TRANSACTION; $what; $sql"$'\n; COMMIT'
    # Without NO_BACKSLASH_ESCAPES a backslash escapes, as above. --skip-force, since the client's own file may say to go on after an error.
    "${applock_client[@]}" --batch --skip-column-names --skip-force --default-character-set=utf8mb4 \
        <<<"SET autocommit = 1, sql_mode = 'STRICT_TRANS_TABLES'; $what;"
}

# _applock_print prints rows with their times in UTC, and says so: MySQL and MariaDB do not. Their NULL has no back slash.
_applock_print() {
    local line kind field rest printed
    [[ $1 ]] || { cat && return; }
    while IFS= read -r line; do
        rest=$line$'\t'
        printed=
        for kind in $1; do
            field=${rest%%$'\t'*}
            rest=${rest#*$'\t'}
            case $kind:$field in
            ts:NULL | *_at:NULL | null:NULL | ts:'\N' | *_at:'\N') field='\N' ;;
            ts:* | *_at:*) field=${field/ /T} field=${field%+00}Z ;;
            esac
            printed+=$field$'\t'
        done
        printf '%s\n' "${printed%$'\t'}"
    done
}

# _applock_status repeats a client's message, prints the SQLSTATE in it, and returns what a function returns for that.
_applock_status() {
    printf '%s\n' "$1" >&2
    [[ $1 =~ ERROR:\ +([0-9A-Z]{5}): || $1 =~ \(([0-9A-Z]{5})\) ]] || return 4
    printf '%s\n' "${BASH_REMATCH[1]}"
    case ${BASH_REMATCH[1]} in
    LK001) return 2 ;;
    LK002) return 5 ;;
    LK003) return 75 ;;
    esac
    return 4
}
