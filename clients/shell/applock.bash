# Application locks for bash, with psql, mariadb or mysql: copy this file, and source it.
#
#   applock_client=(psql)                                  # its environment says where
#   applock_client=(mariadb --user=app --host=db1 appdb)   # or mysql
#   if applock_get customer 42 JDOE CS 3600; then echo "${lock[fence]}"; else echo "${lock[old_operator_id]}"; fi
#
# Each function is one session of the client and one call of one procedure, and final when it returns. It returns 0 for yes,
# 1 for no, 2 for a mistake of yours, and 4 if the database could not be asked; the client's message is on stderr then,
# and the SQLSTATE in applock_sqlstate. Arguments are in the order of procedures/README.md; one that is left out, or is \N, is
# NULL. An answer of one row is in the associative array lock, with the names from there without "p_"; the functions
# of many rows print them: tabs between columns, and in the columns \t, \n, \\ and \N as PostgreSQL's COPY has them. Times are UTC.

applock_get() { _applock_one "lock_fl outcome old_operator_id old_department_id fence expires_ts seconds_left note" get_appl_lock_row 5 "$@"; }
applock_release() { _applock_one "return_cd outcome old_operator_id old_department_id" release_appl_lock_row 6 "$@"; }
applock_inquire() { _applock_one "return_cd operator_id department_id fence acquired_ts lock_ts expires_ts seconds_left note" inquire_appl_lock_row 2 "$@"; }
applock_transfer() { _applock_one "return_cd outcome old_operator_id old_department_id fence expires_ts seconds_left" transfer_appl_lock_row 8 "$@"; }
applock_take() { _applock_one "return_cd outcome old_operator_id old_department_id fence expires_ts seconds_left" take_appl_lock_row 7 "$@"; }
applock_note() { _applock_one "return_cd outcome old_operator_id old_department_id" note_appl_lock_row 5 "$@"; }
applock_set_policy() { _applock_one "return_cd outcome" set_appl_lock_policy_row 7 "$@"; }
applock_drop_policy() { _applock_one "return_cd outcome" drop_appl_lock_policy_row 3 "$@"; }
applock_purge() { _applock_one "purged" purge_appl_locks_row 2 "$@"; }
applock_announce() { _applock_one "return_cd" announce_appl_lock_waiter_row 6 "$@"; }
applock_retract() { _applock_one "return_cd" retract_appl_lock_waiter_row 4 "$@"; }

# What these two keep until the end of the transaction ends with the session: use them in a script of SQL.
applock_assert() { _applock_one "return_cd" assert_appl_lock_row 4 "$@"; }
applock_serialize() { _applock_one "return_cd" serialize_appl_lock_row 2 "$@"; }

# One row with the slot of the permit, or one for each slot, whose outcome is FULL.
applock_permit() { _applock_rows "- - - - - ts - -" get_appl_lock_permit 6 "$@"; }
# One page of what an operator holds: a row for each lock. Fewer than max_rows are the last page.
applock_transfer_all() { _applock_rows "- - - - - - ts -" transfer_appl_locks 11 "$@"; }
applock_release_all() { _applock_rows "- - - - - - ts -" release_appl_locks 8 "$@"; }
applock_list() { _applock_rows "- - - - - ts ts ts - -" list_appl_locks 6 "$@"; }
applock_renew() { _applock_rows "- - - - - ts -" renew_appl_locks 1 "$@"; }
applock_poll() { _applock_rows "- - -" poll_appl_locks 2 "$@"; }
applock_waiters() { _applock_rows "- - - - - ts ts ts -" list_appl_lock_waiters 9 "$@"; }
applock_stats() { _applock_rows "- - - - - - - -" stats_appl_locks 2 "$@"; }
applock_policies() { _applock_rows "- - - - -" list_appl_lock_policies 1 "$@"; }
applock_events() { _applock_rows "- ts - - - - - - - - - - - - -" list_appl_lock_events 6 "$@"; }
applock_inbox() { _applock_rows "- - - - - - ts - -" inbox_appl_locks 3 "$@"; }

declare -gA lock=()

# _applock_one COLUMNS ROUTINE COUNT [ARGUMENT]...
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
    flag=${lock[lock_fl]-${lock[return_cd]-Y}}
    [[ $flag == Y ]]
}

# _applock_rows COLUMNS ROUTINE COUNT [ARGUMENT]... prints the rows, or the SQLSTATE of what went wrong.
_applock_rows() {
    local columns=$1 routine=$2 count=$3 messages output status
    shift 3
    messages=$(mktemp) || return 4
    if [[ ${applock_client[0]##*/} == psql* ]]; then
        output=$(_applock_psql "$routine" "$count" "$@" 2>"$messages")
    else
        output=$(_applock_mysql "$routine" "$count" "$@" 2>"$messages")
    fi
    status=$?
    if ((status)); then
        _applock_status "$(<"$messages")"
        status=$?
    elif [[ $output ]]; then
        _applock_print "$columns" <<<"$output"
    fi
    rm -f "$messages"
    return $status
}

_applock_psql() {
    local routine=$1 count=$2 i variables=() places=()
    shift 2
    for ((i = 1; i <= count; i++)); do
        if (($# < i)) || [[ ${!i} == '\N' ]]; then
            places+=(NULL)
        else
            variables+=(--set "a$i=${!i}")
            places+=(":'a$i'")
        fi
    done
    local IFS=,
    PGTZ=UTC PGCLIENTENCODING=UTF8 "${applock_client[@]}" --no-psqlrc --quiet --set ON_ERROR_STOP=1 --set VERBOSITY=verbose "${variables[@]}" \
        <<<"COPY (SELECT * FROM ${applock_schema:-applock}.$routine(${places[*]})) TO STDOUT;"
}

_applock_mysql() {
    local routine=$1 count=$2 i value places=()
    shift 2
    for ((i = 1; i <= count; i++)); do
        if (($# < i)) || [[ ${!i} == '\N' ]]; then
            places+=(NULL)
        else
            value=${!i//\\/\\\\}
            places+=("'${value//\'/\\\'}'")
        fi
    done
    local IFS=,
    # Without NO_BACKSLASH_ESCAPES a back slash is what it is above.
    "${applock_client[@]}" --batch --skip-column-names --default-character-set=utf8mb4 \
        <<<"SET sql_mode = 'STRICT_TRANS_TABLES'; CALL ${applock_schema:+$applock_schema.}$routine(${places[*]});"
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
            *ts:NULL | *ts:'\N') field='\N' ;;
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
