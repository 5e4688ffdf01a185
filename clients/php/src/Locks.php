<?php

declare(strict_types=1);

namespace Applock;

/**
 * The operations, on one PDO with the driver pgsql or mysql and any attributes. The connection and the transaction are yours: a method's
 * effect is final when you commit, or at once outside of a transaction, also where the server has autocommit off, but not PDO.
 *
 * Types, ids and operators travel as text. A ttl is a whole number of seconds or a DateInterval. null has the meaning of NULL in
 * procedures/README.md. A refusal is an answer whose ->granted is false. Exceptions are InvalidArgumentException, LostException, ContentionException,
 * and what PDO throws.
 */
final class Locks
{
    /** The oldest contract that the database may have. */
    private const CONTRACT = 1;

    /** The views, and the columns that identify a row. */
    private const KEYS = [
        'appl_lock_live' => ['object_type', 'object_id'],
        'appl_lock_waiting' => ['object_type', 'object_id', 'operator_id', 'client_id'],
        'appl_lock_asking' => ['object_type', 'object_id', 'operator_id', 'client_id'],
        'appl_lock_viewers' => ['object_type', 'object_id', 'operator_id', 'client_id'],
        'appl_lock_history' => ['event_id'],
        'appl_lock_policies' => ['object_type'],
        'appl_lock_stats' => ['object_type', 'department_id'],
    ];

    /** The outcomes whose other operator is the former holder. */
    private const CHANGED_HANDS = ['TAKEN', 'GIVEN'];

    /** @internal */
    public readonly Connection $connection;
    /** @internal the channel of PostgreSQL's messages about releases */
    public readonly string $channel;
    private readonly string $prefix;
    private bool $checked = false;

    /** @param ?string $schema where applock is installed; on MySQL and MariaDB that is a database, null for the connection's own */
    public function __construct(\PDO $pdo, ?string $schema = null)
    {
        $this->connection = new Connection($pdo);
        $schema ??= $this->connection->isPostgres ? 'applock' : '';
        $this->prefix = $schema === '' ? '' : "$schema.";
        $this->channel = "{$schema}_appl_lock";
    }

    /**
     * Takes or renews the lock on an object until it expires. new: true also refuses to renew the operator's own live lock.
     *
     * @param ?bool $new
     */
    public function get(
        string|int|\Stringable|null $type,
        string|int|\Stringable|null $id,
        string|int|\Stringable|null $operator,
        string|\Stringable|null $department = null,
        int|float|\DateInterval|null $ttl = null,
        bool|string|null $new = null,
    ): Grant {
        $row = $this->one('get_appl_lock_row', $type, $id, $operator, $department, $this->seconds('ttl', $ttl), $this->flag('new', $new));
        return $this->answered(Grant::class, 'get_appl_lock', $row);
    }

    /** Takes or renews one of the permits of an object until it expires. */
    public function permit(
        string|int|\Stringable|null $type,
        string|int|\Stringable|null $id,
        ?int $permits,
        string|int|\Stringable|null $operator,
        string|\Stringable|null $department = null,
        int|float|\DateInterval|null $ttl = null,
    ): Permit {
        $rows = $this->call('get_appl_lock_permit', $type, $id, $permits, $operator, $department, $this->seconds('ttl', $ttl));
        $slots = array_map(
            fn (array $r) => new Slot(
                $r['slot_id'], $r['operator_id'], $r['department_id'], $r['fence'], $r['acquired_ts'], $r['expires_ts'], $r['seconds_left'], $r['note'],
            ),
            $rows,
        );
        [$slot, $outcome] = [$slots[0], $rows[0]['outcome']];
        if (Outcomes::granted('get_appl_lock_permit', $outcome)) {
            return new Permit(
                true, $outcome, $slot->slotId, $slot->fence, $slot->acquiredAt, $slot->expiresAt, $slot->secondsLeft, $slot->note, [],
            );
        }
        return new Permit(false, $outcome, null, 0, $slot->acquiredAt, $slot->expiresAt, $slot->secondsLeft, '', $slots);
    }

    /** Ends the operator's grant, or only the one with this fence. The answer is granted as well if the object is free. */
    public function release(
        string|int|\Stringable|null $type,
        string|int|\Stringable|null $id,
        string|int|\Stringable|null $operator,
        ?int $fence = null,
        ?string $actor = null,
        ?string $reason = null,
    ): Change {
        $row = $this->one('release_appl_lock_row', $type, $id, $operator, $fence, $actor, $reason);
        return $this->answered(Change::class, 'release_appl_lock', $row);
    }

    /** Shows who holds an object, since when and until when; null if it is free. */
    public function inquire(string|int|\Stringable|null $type, string|int|\Stringable|null $id): ?Lock
    {
        $r = $this->one('inquire_appl_lock_row', $type, $id);
        if ($r['ok_fl'] !== 'Y') {
            return null;
        }
        return new Lock(
            $r['operator_id'], $r['department_id'], $r['fence'], $r['acquired_ts'], $r['lock_ts'], $r['expires_ts'], $r['seconds_left'], $r['note'],
        );
    }

    /** Hands a held object from one operator to another. */
    public function transfer(
        string|int|\Stringable|null $type,
        string|int|\Stringable|null $id,
        string|int|\Stringable|null $from,
        string|int|\Stringable|null $to,
        string|\Stringable|null $department = null,
        int|float|\DateInterval|null $ttl = null,
        ?string $actor = null,
        ?string $reason = null,
    ): Handover {
        $row = $this->one('transfer_appl_lock_row', $type, $id, $from, $to, $department, $this->seconds('ttl', $ttl), $actor, $reason);
        return $this->answered(Handover::class, 'transfer_appl_lock', $row);
    }

    /** Takes a held object from its holder, or only from the grant $expectedFence. The former holder finds the reason in its inbox. */
    public function take(
        string|int|\Stringable|null $type,
        string|int|\Stringable|null $id,
        string|int|\Stringable|null $operator,
        ?string $reason,
        string|\Stringable|null $department = null,
        ?int $expectedFence = null,
        int|float|\DateInterval|null $ttl = null,
    ): Handover {
        $row = $this->one('take_appl_lock_row', $type, $id, $operator, $department, $reason, $expectedFence, $this->seconds('ttl', $ttl));
        return $this->answered(Handover::class, 'take_appl_lock', $row);
    }

    /**
     * Hands over one page of what an operator holds, with an answer for each lock. The last page has fewer than $maxRows. dryRun: true
     * changes nothing.
     *
     * @param ?bool $dryRun
     * @return list<Changed>
     */
    public function transferAll(
        string|int|\Stringable|null $from,
        string|int|\Stringable|null $to,
        string|\Stringable|null $department = null,
        int|float|\DateInterval|null $ttl = null,
        ?string $actor = null,
        ?string $reason = null,
        ?string $type = null,
        ?string $afterType = null,
        string|int|\Stringable|null $afterId = null,
        ?int $maxRows = null,
        bool|string|null $dryRun = null,
    ): array {
        $rows = $this->call(
            'transfer_appl_locks', $from, $type, $to, $department, $this->seconds('ttl', $ttl), $actor, $reason, $afterType, $afterId, $maxRows,
            $this->flag('dryRun', $dryRun),
        );
        return array_map(fn (array $row) => $this->answered(Changed::class, 'transfer_appl_locks', $row), $rows);
    }

    /**
     * Releases one page of what an operator holds, in the same way.
     *
     * @param ?bool $dryRun
     * @return list<Changed>
     */
    public function releaseAll(
        string|int|\Stringable|null $operator,
        ?string $actor = null,
        ?string $reason = null,
        ?string $type = null,
        ?string $afterType = null,
        string|int|\Stringable|null $afterId = null,
        ?int $maxRows = null,
        bool|string|null $dryRun = null,
    ): array {
        $rows = $this->call(
            'release_appl_locks', $operator, $type, $actor, $reason, $afterType, $afterId, $maxRows, $this->flag('dryRun', $dryRun),
        );
        return array_map(fn (array $row) => $this->answered(Changed::class, 'release_appl_locks', $row), $rows);
    }

    /** Leaves a note on why the operator holds an object, for everybody to read. Without a note it is removed. */
    public function note(
        string|int|\Stringable|null $type,
        string|int|\Stringable|null $id,
        string|int|\Stringable|null $operator,
        ?string $note,
        ?int $fence = null,
    ): Change {
        return $this->answered(Change::class, 'note_appl_lock', $this->one('note_appl_lock_row', $type, $id, $operator, $fence, $note));
    }

    /** Removes the rows of objects that have been free for that long, and returns their number. */
    public function purge(int|float|\DateInterval|null $olderThan = null, ?int $maxRows = null): int
    {
        return $this->one('purge_appl_locks_row', $this->seconds('olderThan', $olderThan), $maxRows)['purged'];
    }

    /** Removes events of that age from the history, and returns their number. */
    public function purgeHistory(int|float|\DateInterval|null $olderThan = null, ?int $maxRows = null): int
    {
        return $this->one('purge_appl_lock_history_row', $this->seconds('olderThan', $olderThan), $maxRows)['purged'];
    }

    /** Throws a LostException unless exactly this grant is live, and keeps it so until the end of the transaction, which must be open. */
    public function assert(
        string|int|\Stringable|null $type,
        string|int|\Stringable|null $id,
        string|int|\Stringable|null $operator,
        ?int $fence,
    ): void {
        $this->wantTransaction('assert');
        $this->one('assert_appl_lock_row', $type, $id, $operator, $fence);
    }

    /** Lets one transaction at a time work on an object, until the end of this one, which must be open. */
    public function serialize(string|int|\Stringable|null $type, string|int|\Stringable|null $id): void
    {
        $this->wantTransaction('serialize');
        $this->one('serialize_appl_lock_row', $type, $id);
    }

    /**
     * Renews many grants in one call, each by its fence. A grant without an answer is locked by another transaction: retry it.
     *
     * @param list<array{type: mixed, id: mixed, operator: mixed, fence: ?int, ttl: mixed}> $grants
     * @return list<Renewal>
     */
    public function renew(array $grants): array
    {
        $rows = $this->call(
            'renew_appl_locks', json_encode(array_map(fn (array $grant) => $this->document(...$grant), $grants), JSON_THROW_ON_ERROR),
        );
        return array_map(fn (array $row) => $this->answered(Renewal::class, 'renew_appl_locks', $row), $rows);
    }

    /** Lists an operator of the program $client as a waiter for an object. */
    public function announce(
        string|int|\Stringable|null $type,
        string|int|\Stringable|null $id,
        string|int|\Stringable|null $operator,
        ?string $client,
        string|\Stringable|null $department = null,
        int|float|\DateInterval|null $wait = null,
    ): void {
        $this->one('announce_appl_lock_waiter_row', $type, $id, $operator, $department, $client, $this->seconds('wait', $wait));
    }

    public function retract(
        string|int|\Stringable|null $type,
        string|int|\Stringable|null $id,
        string|int|\Stringable|null $operator,
        ?string $client,
    ): void {
        $this->one('retract_appl_lock_waiter_row', $type, $id, $operator, $client);
    }

    /**
     * The objects that a program waits for, the earliest to be free first: rows with object_type, object_id, free_in_us, and first_fl,
     * which is Y when it is free and the turn of the program, whose waiter has been listed longest. It keeps the waiters listed.
     *
     * @return list<array<string, mixed>>
     */
    public function poll(?string $client, ?int $maxRows = null): array
    {
        return $this->call('poll_appl_locks', $client, $maxRows);
    }

    /**
     * Sets a type's policy: how long its locks last, whether a take needs a reason, what the history records, and who sees whom. A null
     * setting is unset.
     *
     * @param ?bool $takeReason
     * @param ?bool $presence whether the viewers of an object are listed and shown
     */
    public function setPolicy(
        ?string $type,
        ?string $actor,
        int|float|\DateInterval|null $defaultTtl = null,
        int|float|\DateInterval|null $longestTtl = null,
        bool|string|null $takeReason = null,
        ?string $reason = null,
        ?string $history = null,
        bool|string|null $presence = null,
        int|float|\DateInterval|null $yieldAfter = null,
    ): Policy {
        $row = $this->one(
            'set_appl_lock_policy_row', $type, $this->seconds('defaultTtl', $defaultTtl), $this->seconds('longestTtl', $longestTtl),
            $this->flag('takeReason', $takeReason), $actor, $reason, $history,
            $this->flag('presence', $presence), $this->seconds('yieldAfter', $yieldAfter),
        );
        return $this->answered(Policy::class, 'set_appl_lock_policy', $row);
    }

    public function dropPolicy(?string $type, ?string $actor, ?string $reason = null): Policy
    {
        return $this->answered(Policy::class, 'drop_appl_lock_policy', $this->one('drop_appl_lock_policy_row', $type, $actor, $reason));
    }

    /**
     * Asks an object's holder for it. $client is the asking program or browser tab. The request is listed for 60 s, or until $wait is over:
     * repeat the call in each heartbeat. wait: 0 withdraws the request. The outcome is ASKED, and ->holder has the object; WITHDRAWN; or
     * GIVEN: the operator has it now, and ->former had it before. The answer is not granted for FREE, and for OWN: the operator has the
     * object already.
     */
    public function ask(
        string|int|\Stringable|null $type,
        string|int|\Stringable|null $id,
        string|int|\Stringable|null $operator,
        ?string $client,
        ?string $message = null,
        string|\Stringable|null $department = null,
        int|float|\DateInterval|null $wait = null,
    ): Handover {
        $row = $this->one('ask_appl_lock_row', $type, $id, $operator, $department, $client, $message, $this->seconds('wait', $wait));
        return $this->answered(Handover::class, 'ask_appl_lock', $row);
    }

    /**
     * Answers an operator who asks for an object that $operator holds. The inbox's AWAITED has $fence, $asker and $client. GIVE hands the
     * object over: GIVEN. LATER and NO are for the asker to read: TOLD. The answer is not granted for HELD, FREE, and for GONE: the asker no
     * longer asks. A null $client is any client of the asker.
     */
    public function answer(
        string|int|\Stringable|null $type,
        string|int|\Stringable|null $id,
        string|int|\Stringable|null $operator,
        ?int $fence,
        string|int|\Stringable|null $asker,
        ?string $answer,
        ?string $client = null,
        ?string $reason = null,
    ): Told {
        $row = $this->one('answer_appl_lock_row', $type, $id, $operator, $fence, $asker, $client, $answer, $reason);
        return $this->answered(Told::class, 'answer_appl_lock', $row);
    }

    /**
     * Lists an operator as a viewer of an object in the browser tab $client: VIEWING, EDITING or IDLE. null removes it. It returns the
     * object's holder, askers and other viewers: rows with kind, which is HOLDER, ASKER or VIEWER, operator_id, department_id, client_id,
     * state, since_ts, seconds_left and message. The operator is listed for 45 s, or $ttl, at most 300 s: repeat the call in each heartbeat
     * of 15 s. It locks nothing, and the history does not record it.
     *
     * @return list<array<string, mixed>>
     */
    public function see(
        string|int|\Stringable|null $type,
        string|int|\Stringable|null $id,
        string|int|\Stringable|null $operator,
        ?string $client,
        ?string $state,
        string|\Stringable|null $department = null,
        int|float|\DateInterval|null $ttl = null,
    ): array {
        return $this->call('see_appl_lock', $type, $id, $operator, $department, $client, $state, $this->seconds('ttl', $ttl));
    }

    /**
     * Reports what others did with an operator's locks, who waits or asks for them, and how its requests were answered: rows with kind,
     * which is TAKEN, HANDED, RELEASED, GIVEN or YIELDED for an event, and AWAITED, LATER or DECLINED for the present state. AWAITED of a
     * request has the message, and the client_id and fence for answer(). Pass the next_position of any row to the next call, or the
     * same position where there was no row: no event is left out.
     *
     * @return list<array<string, mixed>>
     */
    public function inbox(string|int|\Stringable|null $operator, ?string $position = null, ?int $maxRows = null): array
    {
        return $this->call('inbox_appl_locks', $operator, $position, $maxRows);
    }

    /**
     * One page of a view in the order of its key, after the row $after: the rows that have the values of $filters in these columns.
     * appl_lock_history has two more filters: operator_id, who caused an event or is named in it, and since_seconds, its greatest age.
     *
     * @param array<string, string|int|null> $filters
     * @param ?array<string, mixed> $after
     * @return list<array<string, mixed>>
     */
    public function read(string $view, array $filters = [], ?array $after = null, int $maxRows = 1000): array
    {
        $key = self::KEYS[$view] ?? throw new InvalidArgumentException("there is no view $view");
        [$conditions, $values] = [[], []];
        foreach (array_filter($filters, fn ($value) => $value !== null) as $name => $value) {
            if (preg_match('/^\w+\z/', $name) !== 1) {
                throw new InvalidArgumentException("not a column: $name");
            }
            if ($name === 'since_seconds') {
                $ago = (int) $value;
                $conditions[] = 'event_ts >= ' . ($this->connection->isPostgres
                    ? "statement_timestamp() - $ago * interval '1 second'" : "UTC_TIMESTAMP(6) - INTERVAL $ago SECOND");
                continue;
            }
            $ofEvent = $view === 'appl_lock_history' && $name === 'operator_id';
            $conditions[] = $ofEvent ? '? IN (actor_id, from_operator_id, to_operator_id)' : "$name = ?";
            $values[] = $value;
        }
        if ($after !== null) {
            $conditions[] = $this->behind($key, $after, $values);
        }
        $where = $conditions === [] ? '' : 'WHERE ' . implode(' AND ', $conditions);
        return $this->rows("$this->prefix$view", $values, "$where ORDER BY " . implode(', ', $key) . " LIMIT $maxRows");
    }

    /** @return array<string, mixed> */
    private function one(string $routine, string|int|\Stringable|null ...$values): array
    {
        return $this->call($routine, ...$values)[0];
    }

    /** @return list<array<string, mixed>> */
    private function call(string $routine, string|int|\Stringable|null ...$values): array
    {
        return $this->rows("$this->prefix$routine(" . implode(', ', array_fill(0, count($values), '?')) . ')', array_values($values));
    }

    /**
     * @param list<string|int|\Stringable|null> $values
     * @return list<array<string, mixed>>
     */
    private function rows(string $source, array $values, string $rest = ''): array
    {
        if (!$this->checked) {
            $installed = array_values($this->connection->rows("{$this->prefix}appl_lock_version()", [])[0])[0];
            if ($installed < self::CONTRACT) {
                throw new WrongVersionException(
                    "the database has contract $installed of applock, and this package needs " . self::CONTRACT . ': run `applockctl migrate up`',
                );
            }
            $this->checked = true;
        }
        return $this->connection->rows($source, $values, $rest);
    }

    /** @return array<string, string|int|null> */
    private function document(
        string|int|\Stringable|null $type,
        string|int|\Stringable|null $id,
        string|int|\Stringable|null $operator,
        ?int $fence,
        int|float|\DateInterval|null $ttl,
    ): array {
        [$type, $id, $operator] = array_map(fn ($text) => $text === null ? null : (string) $text, [$type, $id, $operator]);
        return [
            'object_type' => $type, 'object_id' => $id, 'operator_id' => $operator, 'fence' => $fence,
            'ttl_seconds' => $this->seconds('ttl', $ttl),
        ];
    }

    /**
     * The condition for the rows after a row. MySQL and MariaDB read a range of the key only if each column is compared.
     *
     * @param non-empty-list<string> $key
     * @param array<string, mixed> $after
     * @param list<mixed> $values
     */
    private function behind(array $key, array $after, array &$values): string
    {
        if ($this->connection->isPostgres) {
            array_push($values, ...array_map(fn ($name) => $after[$name], $key));
            return '(' . implode(', ', $key) . ') > (' . implode(', ', array_fill(0, count($key), '?')) . ')';
        }
        $name = array_shift($key);
        $values[] = $after[$name];
        if ($key === []) {
            return "$name > ?";
        }
        $values[] = $after[$name];
        return "($name > ? OR $name = ? AND " . $this->behind($key, $after, $values) . ')';
    }

    /**
     * @template T of Answer
     * @param class-string<T> $kind
     * @param array<string, mixed> $row
     * @return T
     */
    private function answered(string $kind, string $operation, array $row): Answer
    {
        $holder = ($row['old_operator_id'] ?? '') === '' ? null : new Holder($row['old_operator_id'], $row['old_department_id']);
        $isFormer = in_array($row['outcome'], self::CHANGED_HANDS, true);
        $all = [
            'granted' => Outcomes::granted($operation, $row['outcome']),
            'outcome' => $row['outcome'],
            'type' => $row['object_type'] ?? null,
            'id' => $row['object_id'] ?? null,
            'holder' => $isFormer ? null : $holder,
            'former' => $isFormer ? $holder : null,
            'fence' => $row['fence'] ?? null,
            'acquiredAt' => $row['acquired_ts'] ?? null,
            'expiresAt' => $row['expires_ts'] ?? null,
            'secondsLeft' => $row['seconds_left'] ?? null,
            'note' => $row['note'] ?? null,
        ];
        $names = array_map(fn (\ReflectionParameter $p) => $p->name, (new \ReflectionMethod($kind, '__construct'))->getParameters());
        return new $kind(...array_intersect_key($all, array_flip($names)));
    }

    private function wantTransaction(string $method): void
    {
        if (!$this->connection->inTransaction()) {
            throw new InvalidArgumentException("$method protects until the transaction ends, and there is none: begin one");
        }
    }

    private function seconds(string $name, int|float|\DateInterval|null $value): ?int
    {
        if ($value instanceof \DateInterval) {
            $value = (float) (new \DateTimeImmutable('@0'))->add($value)->format('U.u');
        }
        if (is_float($value) && floor($value) !== $value) {
            throw new InvalidArgumentException("$name must be a whole number of seconds, and is $value");
        }
        return $value === null ? null : (int) $value;
    }

    /** Refuses a text, which PHP without strict types would take for true, even 'N'. */
    private function flag(string $name, bool|string|null $value): ?string
    {
        if (is_string($value)) {
            throw new InvalidArgumentException("$name must be true or false, and is '$value'");
        }
        return $value === null ? null : ($value ? 'Y' : 'N');
    }
}
