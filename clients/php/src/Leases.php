<?php

declare(strict_types=1);

namespace Applock;

/**
 * Locks that last as long as a piece of work:
 *
 *     $leases = new Leases(fn () => new PDO('pgsql:'));
 *     $leases->withLease('job', 'report', function (Lease $lease) use ($pages) {
 *         foreach ($pages as $page) {
 *             $lease->check();
 *             publish($page, $lease->fence);
 *         }
 *     }, ttl: 30, wait: 10);
 */
final class Leases
{
    private readonly \Closure $open;
    /** @var array<string, Lease> those in whose work each fiber is */
    private array $entered = [];

    /** @param \Closure(): \PDO $connect makes a connection with autocommit. Each lease has one of its own, which it replaces if it breaks. */
    public function __construct(\Closure $connect, ?string $schema = null)
    {
        $this->open = fn () => new Locks($connect(), $schema);
    }

    /**
     * Calls $work with a lease, returns what it returns, and releases on every way out. Within $work a second call for the object gets the
     * same lease, whatever its options are. When the lock was lost, LostException comes at the end, unless another exception does.
     *
     * @template T
     * @param \Closure(Lease): T $work
     * @param int $ttl how many seconds the object stays locked after a crash, and between two calls of check()
     * @param ?float $wait how many seconds to wait for whoever has it; null is without a limit
     * @return T
     * @throws HeldException when somebody else has it still
     */
    public function withLease(
        string|int|\Stringable $type,
        string|int|\Stringable $id,
        \Closure $work,
        int $ttl = 30,
        ?float $wait = 0,
        ?string $department = null,
    ): mixed {
        $fiber = \Fiber::getCurrent();
        $key = implode("\0", [$fiber === null ? '' : spl_object_id($fiber), $type, $id]);
        if (isset($this->entered[$key])) {
            $this->entered[$key]->check();
            return $work($this->entered[$key]);
        }
        $lease = $this->acquire($type, $id, $ttl, $wait, $department);
        $this->entered[$key] = $lease;
        try {
            $result = $work($lease);
            $lease->release();
            return $result;
        } finally {
            unset($this->entered[$key]);
            $lease->abandon(); // what has been released is not released again
        }
    }

    /**
     * A lease that lasts until release(), or until the object goes.
     *
     * @throws HeldException when somebody else has it still
     */
    public function acquire(
        string|int|\Stringable $type,
        string|int|\Stringable $id,
        int $ttl = 30,
        ?float $wait = 0,
        ?string $department = null,
    ): Lease {
        return new Lease($this->open, (string) $type, (string) $id, $ttl, $wait, $department);
    }
}
