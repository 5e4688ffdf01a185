# Application locks for bash, with psql, mariadb or mysql: copy this file, and source it.
#
#   applock_client=(psql)                                  # its environment says where
#   applock_client=(mariadb --user=app --host=db1 appdb)   # or mysql
#   if applock_get customer 42 JDOE CS 3600; then echo "${lock[fence]}"; else echo "${lock[old_operator_id]}"; fi
#
# Each function is one session of the client and one call of one procedure, or reads one view, and final when it returns. It returns
# 0 for yes, 1 for no, 2 for a mistake of yours, and 4 if the database could not be asked; the client's message is on stderr then,
# and the SQLSTATE in applock_sqlstate. Arguments are in the order of procedures/README.md; one that is left out, or is \N, is
# NULL. An answer of one row is in the associative array lock, with the names from there without "p_"; the functions
# of many rows print them: tabs between columns, and in the columns \t, \n, \\ and \N as PostgreSQL's COPY has them. Times are UTC.

applock_get() { _applock_one "ok_fl outcome old_operator_id old_department_id fence expires_ts seconds_left note" get_appl_lock_row 6 "$@"; }
applock_release() { _applock_one "ok_fl outcome old_operator_id old_department_id" release_appl_lock_row 6 "$@"; }
applock_inquire() { _applock_one "ok_fl operator_id department_id fence acquired_ts lock_ts expires_ts seconds_left note" inquire_appl_lock_row 2 "$@"; }
applock_transfer() { _applock_one "ok_fl outcome old_operator_id old_department_id fence expires_ts seconds_left" transfer_appl_lock_row 8 "$@"; }
applock_take() { _applock_one "ok_fl outcome old_operator_id old_department_id fence expires_ts seconds_left" take_appl_lock_row 7 "$@"; }
applock_note() { _applock_one "ok_fl outcome old_operator_id old_department_id" note_appl_lock_row 5 "$@"; }
applock_set_policy() { _applock_one "ok_fl outcome" set_appl_lock_policy_row 7 "$@"; }
applock_drop_policy() { _applock_one "ok_fl outcome" drop_appl_lock_policy_row 3 "$@"; }
applock_purge() { _applock_one "purged" purge_appl_locks_row 2 "$@"; }
applock_purge_history() { _applock_one "purged" purge_appl_lock_history_row 2 "$@"; }
applock_announce() { _applock_one "ok_fl" announce_appl_lock_waiter_row 6 "$@"; }
applock_retract() { _applock_one "ok_fl" retract_appl_lock_waiter_row 4 "$@"; }

# What these two keep until the end of the transaction ends with the session: use them in a script of SQL.
applock_assert() { _applock_one "ok_fl" assert_appl_lock_row 4 "$@"; }
applock_serialize() { _applock_one "ok_fl" serialize_appl_lock_row 2 "$@"; }

# One row with the slot of the permit, or one for each slot, whose outcome is FULL.
applock_permit() { _applock_rows "- - - - - ts - -" get_appl_lock_permit 6 "$@"; }
# One page of what an operator holds: a row for each lock. Fewer than max_rows are the last page.
applock_transfer_all() { _applock_rows "- - - - - - ts -" transfer_appl_locks 11 "$@"; }
applock_release_all() { _applock_rows "- - - - - - ts -" release_appl_locks 8 "$@"; }
applock_renew() { _applock_rows "- - - - - ts -" renew_appl_locks 1 "$@"; }
applock_poll() { _applock_rows "- - -" poll_appl_locks 2 "$@"; }
applock_inbox() { _applock_rows "- - - - - - ts - - -" inbox_appl_locks 3 "$@"; }

# applock_read VIEW [NAME VALUE]... prints one page of a view in the order of its key: the rows that have these values in these
# columns. after_COLUMN is the key of the row behind which it begins, and max_rows how many there are at most. appl_lock_history also has
# operator_id, who did, lost or got it, and since_seconds, how long ago it was at most.
applock_read() {
    local view=$1 key=${_applock_key[$1]} limit=1000 conditions=() values=() ago
    local -A after=()
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

# The views: which columns tell a row from all others, and which are times or may be NULL.
declare -gA _applock_key=(
    [appl_lock_live]="object_type object_id" [appl_lock_waiting]="object_type object_id operator_id client_id"
    [appl_lock_history]=event_id [appl_lock_policies]=object_type [appl_lock_stats]="object_type department_id"
)
declare -gA _applock_kinds=(
    [appl_lock_live]="- - - - - ts ts ts - - -" [appl_lock_waiting]="- - - - - ts ts - - - -"
    [appl_lock_history]="- ts - - - - - - - - - - - - -" [appl_lock_policies]="- null null - -" [appl_lock_stats]="- - - - - - - -"
)

declare -gA lock=()

_applock_is_psql() { [[ ${applock_client[0]##*/} == psql* ]]; }

# _applock_behind COLUMN... adds what comes after a row. MySQL and MariaDB read a range of the key only if it is written out.
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
    local answer field flag rest name
    lock=()
    answer=$(_applock_rows "$@") || {
        local status=$?
        applock_sqlstate=${answer##*$'\n'}
        return $status
    }
    applock_sqlstate=00000
    # A tab is a blank to read, which takes many for one: fields may be empty.
    rest=$answer$'\t'
    for name in $1; do
        field=${rest%%$'\t'*}
        rest=${rest#*$'\t'}
        [[ $field == '\N' ]] && field=
        printf -v field %b "$field"
        lock[$name]=$field
    done
    flag=${lock[ok_fl]-Y}
    [[ $flag == Y ]]
}

# _applock_rows KINDS ROUTINE COUNT [ARGUMENT]... prints the rows, or the SQLSTATE of what went wrong.
_applock_rows() {
    local kinds=$1 routine=$2 places=?,?,?,?,?,?,?,?,?,?,? verb="CALL "
    _applock_is_psql && verb="SELECT * FROM "
    _applock_ask "$kinds" "$verb" "$routine(${places:0:2*$3-1})" "${@:4}"
}

# _applock_ask KINDS VERB WHAT [ARGUMENT]... does so for a statement with a question mark for each argument.
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
    PGTZ=UTC PGCLIENTENCODING=UTF8 "${applock_client[@]}" --no-psqlrc --quiet --set ON_ERROR_STOP=1 --set VERBOSITY=verbose "${variables[@]}" \
        <<<"COPY ($verb${applock_schema:-applock}.$what) TO STDOUT;"
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
    # Without NO_BACKSLASH_ESCAPES a back slash is what it is above.
    "${applock_client[@]}" --batch --skip-column-names --default-character-set=utf8mb4 \
        <<<"SET sql_mode = 'STRICT_TRANS_TABLES'; $verb${applock_schema:+$applock_schema.}$what;"
}

# _applock_print prints rows with their times in UTC, and says so: MySQL and MariaDB do not. Their NULL has no back slash.
_applock_print() {
    local line kind field rest printed
    while IFS= read -r line; do
        rest=$line$'\t'
        printed=
        for kind in $1; do
            field=${rest%%$'\t'*}
            rest=${rest#*$'\t'}
            case $kind:$field in
            *ts:NULL | null:NULL | *ts:'\N') field='\N' ;;
            *ts:*) field=${field/ /T} field=${field%+00}Z ;;
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
    [[ ${BASH_REMATCH[1]} == LK* ]] && return 2
    return 4
}
