<?php

declare(strict_types=1);

namespace Applock;

/** @internal calls on a PDO. Each one sets all attributes that the user may have changed, and restores them. */
final class Connection
{
    /** The attributes that affect errors and rows. */
    private const ATTRIBUTES = [
        \PDO::ATTR_ERRMODE => \PDO::ERRMODE_EXCEPTION,
        \PDO::ATTR_CASE => \PDO::CASE_LOWER,
        \PDO::ATTR_ORACLE_NULLS => \PDO::NULL_NATURAL,
    ];
    private const WHOLE = '/(^|_)(fence|seconds|seconds_left|event_id)$|^(purged|free_in_us|live|expired|waiters|version)$/';
    private const BUSY = ['40001', '40P01', '55P03', 1020, 1205, 1213];

    public readonly bool $isPostgres;

    public function __construct(public readonly \PDO $pdo)
    {
        $driver = $pdo->getAttribute(\PDO::ATTR_DRIVER_NAME);
        if ($driver !== 'pgsql' && $driver !== 'mysql') {
            throw new InvalidArgumentException("the driver of the PDO must be pgsql or mysql, and is $driver");
        }
        $this->isPostgres = $driver === 'pgsql';
    }

    /**
     * The rows of a routine with its placeholders, or of a view with the rest of its SELECT. On PostgreSQL they come as JSON, which no
     * setting of the session changes.
     *
     * @param list<string|int|\Stringable|null> $values
     * @return list<array<string, mixed>>
     */
    public function rows(string $source, array $values, string $rest = ''): array
    {
        $sql = match (true) {
            $this->isPostgres => "SELECT pg_catalog.row_to_json(r) FROM (SELECT * FROM $source) AS r $rest",
            str_ends_with($source, ')') => "CALL $source",
            default => "SELECT * FROM $source AS r $rest",
        };
        $text = array_map(fn ($value) => $value === null ? null : (string) $value, $values);
        return array_map($this->typed(...), $this->withAttributes(fn () => $this->whole(fn () => $this->execute($sql, $text))));
    }

    /**
     * Where the server has autocommit off, of which PDO says nothing, a call begins a transaction that its caller does not know of: it ends
     * with the call.
     *
     * @return list<array<string, mixed>>
     */
    private function whole(\Closure $call): array
    {
        $isWhole = !$this->isPostgres && !$this->inTransaction();
        $end = 'ROLLBACK';
        try {
            $rows = $call();
            $end = 'COMMIT';
            return $rows;
        } finally {
            if ($isWhole && $this->pdo->inTransaction()) {
                $this->pdo->exec($end);
            }
        }
    }

    public function inTransaction(): bool
    {
        return $this->pdo->inTransaction() || !$this->isPostgres && !$this->pdo->getAttribute(\PDO::ATTR_AUTOCOMMIT);
    }

    /** Whether a call changed nothing because of other transactions, so that it can be retried. */
    public function isBusy(\Throwable $error): bool
    {
        $info = $error instanceof \PDOException ? array_slice($error->errorInfo ?? [], 0, 2) : [];
        return $error instanceof ContentionException || array_intersect(self::BUSY, $info) !== [];
    }

    public function listen(string $channel, string $verb = 'LISTEN'): void
    {
        if ($this->isPostgres) {
            $this->withAttributes(fn () => $this->execute("$verb \"$channel\"", []));
        }
    }

    /** Waits for this message, or for that many seconds. */
    public function wait(float $seconds, string $payload): void
    {
        if (!$this->isPostgres) {
            usleep((int) ($seconds * 1e6));
            return;
        }
        $end = Lease::now() + $seconds;
        while (($left = $end - Lease::now()) > 0) {
            $told = $this->pdo->pgsqlGetNotify(\PDO::FETCH_NUM, max(1, (int) ($left * 1000)));
            if (($told[2] ?? null) === $payload) {
                return;
            }
        }
    }

    /** @return list<array<string, mixed>> */
    private function withAttributes(\Closure $call): array
    {
        $set = [];
        try {
            foreach (self::ATTRIBUTES as $attribute => $value) {
                $set[$attribute] = $this->pdo->getAttribute($attribute);
                $this->pdo->setAttribute($attribute, $value);
            }
            return $call();
        } catch (\PDOException $error) {
            throw $this->ownError($error) ?? $error;
        } finally {
            foreach ($set as $attribute => $value) {
                $this->pdo->setAttribute($attribute, $value);
            }
        }
    }

    /**
     * @param list<string|null> $values
     * @return list<array<string, mixed>>
     */
    private function execute(string $sql, array $values): array
    {
        $statement = $this->pdo->prepare($sql, [\PDO::ATTR_STATEMENT_CLASS => [\PDOStatement::class]]);
        $statement->execute($values);
        $rows = $statement->columnCount() === 0 ? [] : $statement->fetchAll(\PDO::FETCH_ASSOC);
        // On MySQL and MariaDB a CALL ends with a second result. It goes with the statement, when this returns.
        return $this->isPostgres ? array_map(fn (array $row) => json_decode($row['row_to_json'], true, flags: JSON_THROW_ON_ERROR), $rows) : $rows;
    }

    private function ownError(\PDOException $error): ?ApplockException
    {
        $message = preg_replace('/^ERROR:\s+|\nCONTEXT:.*$/s', '', (string) ($error->errorInfo[2] ?? ''));
        return match ($error->errorInfo[0] ?? '') {
            'LK001' => new InvalidArgumentException($message, 0, $error),
            'LK002' => new LostException($message, 0, $error),
            'LK003' => new ContentionException($message, 0, $error),
            default => null,
        };
    }

    /**
     * @param array<string, mixed> $row
     * @return array<string, mixed>
     */
    private function typed(array $row): array
    {
        $typed = [];
        foreach ($row as $column => $value) {
            // ATTR_FETCH_TABLE_NAMES adds the table's name.
            $name = preg_replace('/^(.*\.)?(p_)?/', '', $column);
            $typed[$name] = match (true) {
                $value === null => null,
                preg_match(self::WHOLE, $name) === 1 => (int) $value,
                // PostgreSQL adds the zone to a time. MySQL and MariaDB answer in UTC without a zone.
                str_ends_with($name, '_ts') => (new \DateTimeImmutable($value, new \DateTimeZone('UTC')))->setTimezone(new \DateTimeZone('UTC')),
                default => $value,
            };
        }
        return $typed;
    }
}
