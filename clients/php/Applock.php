<?php

/**
 * Application locks for PDO, with PostgreSQL, MariaDB and MySQL: copy this file into your program.
 *
 * The database decides; each method is one call of one procedure, or reads one view. The connection is yours, and so is the
 * transaction: what a method has done is final when you commit, or at once outside of a transaction.
 */

declare(strict_types=1);

namespace Applock;

/** A mistake of the caller, LK001 or LK002, or too much contention, LK003: call again then, and only then. */
final class LockError extends \RuntimeException
{
    public function __construct(public readonly string $sqlstate, \PDOException $error)
    {
        parent::__construct($error->errorInfo[2] ?? $error->getMessage(), 0, $error);
    }
}

/**
 * The operations, on one connection, whose errors must be exceptions, as they are by default. Ids may be of any type: they
 * travel as text. An answer is an array with the names of procedures/README.md without "p_". Its timestamps are in UTC.
 */
final class Locks
{
    /** The views, and which columns tell a row from all others. */
    private const KEYS = [
        'appl_lock_live' => ['object_type', 'object_id'],
        'appl_lock_waiting' => ['object_type', 'object_id', 'operator_id', 'client_id'],
        'appl_lock_history' => ['event_id'],
        'appl_lock_policies' => ['object_type'],
        'appl_lock_stats' => ['object_type', 'department_id'],
    ];

    private const WHOLE = '/(^|_)(fence|seconds|seconds_left|event_id)$|^(purged|free_in_us|live|expired|waiters)$/';

    private readonly bool $postgres;
    private readonly string $prefix;

    public function __construct(private readonly \PDO $pdo, ?string $schema = null)
    {
        $this->postgres = $pdo->getAttribute(\PDO::ATTR_DRIVER_NAME) === 'pgsql';
        // On MySQL and MariaDB a schema is a database, and the connection's own one needs no name.
        $schema ??= $this->postgres ? 'applock' : '';
        $this->prefix = $schema === '' ? '' : "$schema.";
    }

    /**
     * Takes or renews a lock for $ttl seconds. A refusal is an answer, whose ok_fl is N and which has the holder. With $new 'Y' the
     * operator's own live lock is refused, too.
     */
    public function get(
        $type, $id, ?string $operator, ?string $department = null, ?int $ttl = null, ?string $new = null,
    ): array {
        return $this->one('get_appl_lock_row', $type, $id, $operator, $department, $ttl, $new);
    }

    /** Takes or renews one of so many permits: one row with its slot, or one for each slot, whose outcome is FULL. */
    public function permit($type, $id, ?int $permits, ?string $operator, ?string $department = null, ?int $ttl = null): array
    {
        return $this->call('get_appl_lock_permit', $type, $id, $permits, $operator, $department, $ttl);
    }

    public function release($type, $id, ?string $operator, ?int $fence = null, ?string $actor = null, ?string $reason = null): array
    {
        return $this->one('release_appl_lock_row', $type, $id, $operator, $fence, $actor, $reason);
    }

    public function inquire($type, $id): array
    {
        return $this->one('inquire_appl_lock_row', $type, $id);
    }

    public function transfer(
        $type, $id, ?string $from, ?string $to, ?string $toDepartment = null, ?int $ttl = null, ?string $actor = null,
        ?string $reason = null,
    ): array {
        return $this->one('transfer_appl_lock_row', $type, $id, $from, $to, $toDepartment, $ttl, $actor, $reason);
    }

    /** Take it from whoever holds it, or from the grant $expectedFence only; the former holder reads why in its inbox. */
    public function take(
        $type, $id, ?string $operator, ?string $reason, ?string $department = null, ?int $expectedFence = null, ?int $ttl = null,
    ): array {
        return $this->one('take_appl_lock_row', $type, $id, $operator, $department, $reason, $expectedFence, $ttl);
    }

    /**
     * Hands over one page of what an operator holds: a row for each lock. Fewer than $maxRows are the last page. $dryRun is 'Y' to
     * only tell what would be done.
     */
    public function transferAll(
        ?string $from, ?string $to, ?string $toDepartment = null, ?int $ttl = null, ?string $actor = null, ?string $reason = null,
        ?string $type = null, ?string $afterType = null, $afterId = null, ?int $maxRows = null, ?string $dryRun = null,
    ): array {
        return $this->call(
            'transfer_appl_locks', $from, $type, $to, $toDepartment, $ttl, $actor, $reason, $afterType, $afterId, $maxRows, $dryRun,
        );
    }

    /** Releases one page of what an operator holds, likewise. */
    public function releaseAll(
        ?string $operator, ?string $actor = null, ?string $reason = null,
        ?string $type = null, ?string $afterType = null, $afterId = null, ?int $maxRows = null, ?string $dryRun = null,
    ): array {
        return $this->call('release_appl_locks', $operator, $type, $actor, $reason, $afterType, $afterId, $maxRows, $dryRun);
    }

    /** Says why the operator holds it, for whoever asks; no note takes that back. */
    public function note($type, $id, ?string $operator, ?string $note, ?int $fence = null): array
    {
        return $this->one('note_appl_lock_row', $type, $id, $operator, $fence, $note);
    }

    /** Removes what has been free for so many seconds, and returns how many rows that were. */
    public function purge(?int $olderThan = null, ?int $maxRows = null): int
    {
        return $this->one('purge_appl_locks_row', $olderThan, $maxRows)['purged'];
    }

    /** Removes events that are so many seconds old, and returns how many that were. */
    public function purgeHistory(?int $olderThan = null, ?int $maxRows = null): int
    {
        return $this->one('purge_appl_lock_history_row', $olderThan, $maxRows)['purged'];
    }

    /** Throws a LockError with LK002 unless this grant is live; it stays so until the transaction ends. */
    public function assert($type, $id, ?string $operator, ?int $fence): void
    {
        $this->one('assert_appl_lock_row', $type, $id, $operator, $fence);
    }

    /** Waits until no other transaction is inside, and stays inside until this one ends. */
    public function serialize($type, $id): void
    {
        $this->one('serialize_appl_lock_row', $type, $id);
    }

    /** Renews many: each is an array with object_type, object_id, operator_id, fence and ttl_seconds. */
    public function renew(array $grants): array
    {
        return $this->call('renew_appl_locks', json_encode($grants, JSON_THROW_ON_ERROR));
    }

    public function announce($type, $id, ?string $operator, ?string $department, ?string $client, ?int $wait = null): void
    {
        $this->one('announce_appl_lock_waiter_row', $type, $id, $operator, $department, $client, $wait);
    }

    public function retract($type, $id, ?string $operator, ?string $client): void
    {
        $this->one('retract_appl_lock_waiter_row', $type, $id, $operator, $client);
    }

    public function poll(?string $client, ?int $maxRows = null): array
    {
        return $this->call('poll_appl_locks', $client, $maxRows);
    }

    /** Lays down for a type how long its locks last, at first and at most, in seconds; what is null is none. */
    public function setPolicy(
        ?string $type, ?string $actor, ?int $defaultTtl = null, ?int $longestTtl = null,
        ?string $takeReason = null, ?string $reason = null, ?string $history = null,
    ): array {
        return $this->one('set_appl_lock_policy_row', $type, $defaultTtl, $longestTtl, $takeReason, $actor, $reason, $history);
    }

    public function dropPolicy(?string $type, ?string $actor, ?string $reason = null): array
    {
        return $this->one('drop_appl_lock_policy_row', $type, $actor, $reason);
    }

    /**
     * What others did with an operator's locks, and who waits for them. The next call passes the safe_event_id of any row: it may
     * tell of an event twice, and never of none.
     */
    public function inbox(?string $operator, ?int $afterEventId = null, ?int $maxRows = null): array
    {
        return $this->call('inbox_appl_locks', $operator, $afterEventId, $maxRows);
    }

    /**
     * One page of a view in the order of its key, behind the row $after: the rows that have the values of $filters in these columns.
     * appl_lock_history also has operator_id, who did, lost or got it, and since_seconds, how long ago it was at most.
     */
    public function read(string $view, array $filters = [], ?array $after = null, int $maxRows = 1000): array
    {
        [$conditions, $values] = [[], []];
        foreach (array_filter($filters, fn ($value) => $value !== null) as $name => $value) {
            if (preg_match('/^\w+\z/', $name) !== 1) {
                throw new \InvalidArgumentException("not a column: $name");
            }
            if ($name === 'since_seconds') {
                $ago = (int) $value;
                $conditions[] = 'event_ts >= '
                    . ($this->postgres ? "statement_timestamp() - $ago * interval '1 second'" : "UTC_TIMESTAMP(6) - INTERVAL $ago SECOND");
                continue;
            }
            $ofEvent = $view === 'appl_lock_history' && $name === 'operator_id';
            $conditions[] = $ofEvent ? '? IN (actor_id, from_operator_id, to_operator_id)' : "$name = ?";
            $values[] = $value;
        }
        $key = self::KEYS[$view];
        if ($after !== null) {
            $conditions[] = $this->behind($key, $after, $values);
        }
        $where = $conditions === [] ? '' : 'WHERE ' . implode(' AND ', $conditions);
        return $this->rows("SELECT * FROM $this->prefix$view $where ORDER BY " . implode(', ', $key) . " LIMIT $maxRows", $values);
    }

    private function one(string $routine, ...$arguments): array
    {
        return $this->call($routine, ...$arguments)[0];
    }

    private function call(string $routine, ...$arguments): array
    {
        $places = implode(', ', array_fill(0, count($arguments), '?'));
        return $this->rows(($this->postgres ? 'SELECT * FROM ' : 'CALL ') . "$this->prefix$routine($places)", $arguments);
    }

    /** What comes after a row. MySQL and MariaDB read a range of the key only if it is written out. */
    private function behind(array $key, array $after, array &$values): string
    {
        if ($this->postgres) {
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

    private function rows(string $sql, array $arguments): array
    {
        try {
            $statement = $this->pdo->prepare($sql);
            $statement->execute($arguments);
            // On MySQL and MariaDB a second result follows that of a CALL. It goes with the statement, when this returns.
            return array_map($this->answer(...), $statement->fetchAll(\PDO::FETCH_ASSOC));
        } catch (\PDOException $error) {
            $state = (string) ($error->errorInfo[0] ?? '');
            throw str_starts_with($state, 'LK') ? new LockError($state, $error) : $error;
        }
    }

    private function answer(array $row): array
    {
        $answer = [];
        foreach ($row as $column => $value) {
            $name = preg_replace('/^p_/', '', $column);
            $answer[$name] = match (true) {
                $value === null => null,
                preg_match(self::WHOLE, $name) === 1 => (int) $value,
                // PostgreSQL writes the zone behind the time. MySQL and MariaDB answer in UTC without saying so.
                str_ends_with($name, '_ts') => (new \DateTimeImmutable($value, new \DateTimeZone('UTC')))
                    ->setTimezone(new \DateTimeZone('UTC')),
                default => $value,
            };
        }
        return $answer;
    }
}
