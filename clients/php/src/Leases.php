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
    /** @var array<string, Lease> the leases in whose work each fiber is */
    private array $entered = [];

    /** @param \Closure(): \PDO $connect makes a connection outside of a transaction. Each lease has its own, and replaces a broken one. */
    public function __construct(\Closure $connect, ?string $schema = null)
    {
        $this->open = fn () => new Locks($connect(), $schema);
    }

    /**
     * Calls $work with a lease, returns its result, and releases in any case. Within $work a second call for the object gets the same lease,
     * whatever its options are. If the lock was lost, it throws LostException at the end, unless $work throws.
     *
     * @template T
     * @param \Closure(Lease): T $work
     * @param int $ttl how many seconds the object stays locked after a crash, and between two calls of check()
     * @param ?float $wait how many seconds to wait for a held object; null is no limit
     * @return T
     * @throws HeldException if another holder still has it
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
        $key = implode("\0", [getmypid(), $fiber === null ? '' : spl_object_id($fiber), $type, $id]); // a child has none of its parent's leases
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
            $lease->abandon(); // it is released already
        }
    }

    /**
     * A lease that lasts until release(), or until its object is destroyed.
     *
     * @throws HeldException if another holder still has it
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
