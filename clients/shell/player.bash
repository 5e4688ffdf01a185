# Plays the scenarios for clients/player_test.go through applock.bash: player.bash CLIENT

source ./applock.bash
export LC_ALL=C.UTF-8

if [[ $1 == psql ]]; then
    applock_client=(psql)
else
    applock_client=("$1" --protocol=tcp --user="$MYSQL_USER" "$MYSQL_DATABASE")
fi

# encode VALUE sets encoded, because starting a process for each would take most of the time.
encode() {
    encoded=${1//\\/\\\\} encoded=${encoded//$'\t'/\\t} encoded=${encoded//$'\n'/\\n} encoded=${encoded//$'\r'/\\r}
}

# one COLUMNS FUNCTION [ARGUMENT]... answers with one row.
one() {
    "${@:2}" 2>messages
    tell "$1" $?
}

# tell COLUMNS STATUS answers with lock. The flag of the contract is what the function returned.
tell() {
    local name line=row flags=(Y N)
    (($2 < 2)) || { failed; return; }
    for name in $1; do
        case $name in
        ok_fl) encoded=${flags[$2]} ;;
        fence | seconds_left) encoded=${lock[$name]:-0} ;;
        holder | holder_department) encode "${lock[$name]:-${lock[${name/holder/former}]-}}" ;;
        *) encode "${lock[$name]-}" ;;
        esac
        [[ $name == *_at && ! $encoded ]] && encoded='\N'
        line+=$'\t'$encoded
    done
    printf '%s\nend\n' "$line"
}

# many FUNCTION [ARGUMENT]... answers with the rows that it prints, which are in the form of the player already.
many() {
    local rows
    rows=$("$@" 2>messages)
    if (($? > 1)); then
        applock_sqlstate=${rows##*$'\n'}
        failed
        return
    fi
    [[ $rows ]] && while IFS= read -r line; do printf 'row\t%s\n' "$line"; done <<<"$rows"
    echo end
}

# inside FUNCTION [ARGUMENT]... answers with no row, after a transaction that selects 1.
inside() {
    if "$@" "SELECT 1" >output 2>messages && [[ $(<output) == 1 ]]; then echo end; else failed; fi
}

failed() {
    if [[ $applock_sqlstate != LK* ]]; then
        cat messages >&2
        exit 1
    fi
    encode "$(<messages)"
    printf 'error\t%s\t%s\n' "$applock_sqlstate" "$encoded"
}

# permit [ARGUMENT]... answers with one row, or one for each holder.
permit() {
    local holder status
    applock_permit "$@" 2>messages
    status=$?
    if ((status != 1)); then
        tell "granted outcome slot_id operator department fence expires_at seconds_left note" $status
        return
    fi
    for holder in "${holders[@]}"; do printf 'row\t%s\t%s\t%s\n' "${lock[granted]}" "${lock[outcome]}" "$holder"; done
    echo end
}

sql() {
    if [[ ${applock_client[0]} == psql ]]; then
        psql --no-psqlrc --quiet --tuples-only --no-align --command "$1"
    else
        "${applock_client[@]}" --batch --skip-column-names --execute "$1" 2>/dev/null
    fi
}

# The counter, between whose read and write the runner decides how long it takes.
increment() {
    local n
    if [[ $1 != '\N' ]]; then
        until applock_get counter 1 "$1" '\N' 60; do sleep 0.01; done
    fi
    n=$(sql "SELECT n FROM counter")
    printf 'read\t%s\n' "$n"
    read -r
    sql "UPDATE counter SET n = $((n + 1))"
    [[ $1 != '\N' ]] && applock_release counter 1 "$1"
    echo end
}

versions() {
    local version
    version=$("${applock_client[0]}" --version)
    version=${version#*Ver } version=${version#*\(PostgreSQL\) }
    [[ $version =~ ([0-9.]+)-MariaDB || $version =~ ([0-9.]+) ]]
    printf 'row\tbash %s\t%s %s\nend\n' "${BASH_VERSION%%(*}" "${applock_client[0]}" "${BASH_REMATCH[1]}"
}

play() {
    local operation=$1
    shift
    case $operation in
    versions) versions ;;
    increment) increment "$@" ;;
    get_appl_lock) one "granted ok_fl outcome holder holder_department fence expires_at seconds_left note" applock_get "$@" ;;
    get_appl_lock_permit) permit "$@" ;;
    release_appl_lock) one "granted ok_fl outcome holder holder_department" applock_release "$@" ;;
    inquire_appl_lock) one "ok_fl operator department fence acquired_at locked_at expires_at seconds_left note" applock_inquire "$@" ;;
    transfer_appl_lock) one "granted ok_fl outcome holder holder_department fence expires_at seconds_left" applock_transfer "$@" ;;
    take_appl_lock) one "granted ok_fl outcome holder holder_department fence expires_at seconds_left" applock_take "$@" ;;
    note_appl_lock) one "granted ok_fl outcome holder holder_department" applock_note "$@" ;;
    purge_appl_locks) one purged applock_purge "$@" ;;
    purge_appl_lock_history) one purged applock_purge_history "$@" ;;
    assert_appl_lock) inside applock_assert "$@" ;;
    serialize_appl_lock) inside applock_serialize "$@" ;;
    transfer_appl_locks) many applock_transfer_all "$@" ;;
    release_appl_locks) many applock_release_all "$@" ;;
    renew_appl_locks) many applock_renew "$@" ;;
    announce_appl_lock_waiter) one ok_fl applock_announce "$@" ;;
    retract_appl_lock_waiter) one ok_fl applock_retract "$@" ;;
    poll_appl_locks) many applock_poll "$@" ;;
    ask_appl_lock) one "granted ok_fl outcome holder holder_department fence expires_at seconds_left" applock_ask "$@" ;;
    answer_appl_lock) one "granted ok_fl outcome holder holder_department expires_at seconds_left" applock_answer "$@" ;;
    see_appl_lock) many applock_see "$@" ;;
    set_appl_lock_policy) one "granted ok_fl outcome" applock_set_policy "$@" ;;
    drop_appl_lock_policy) one "granted ok_fl outcome" applock_drop_policy "$@" ;;
    inbox_appl_locks) many applock_inbox "$@" ;;
    appl_lock_*) many applock_read "$operation" "$@" ;;
    *) echo "unknown operation $operation" >&2 && exit 1 ;;
    esac
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
while IFS= read -r line; do
    arguments=()
    rest=$line$'\t'
    while [[ $rest ]]; do
        field=${rest%%$'\t'*}
        rest=${rest#*$'\t'}
        [[ $field == '\N' ]] || printf -v field %b "$field"
        arguments+=("$field")
    done
    play "${arguments[@]}"
done
