<?php

declare(strict_types=1);

namespace Applock;

/**
 * A lock during a piece of work. PHP has no thread to renew it: call check() between the steps, more often than the ttl, and pass
 * operator and fence to Locks::assert in the transaction that writes.
 */
final class Lease
{
    /** @var array<string, int|false> by the operator of each lease the process that entered it */
    private static array $entered = [];
    public readonly string $operator;
    /** The fence of the grant. */
    public readonly int $fence;
    private ?Locks $locks;
    private float $renewed = 0;
    private float $deadline = 0;
    private bool $lost = false;
    private bool $ended = false;
    private readonly int|false $process;

    /**
     * @internal Leases makes it
     * @param \Closure(): Locks $open
     */
    public function __construct(
        private readonly \Closure $open,
        public readonly string $type,
        public readonly string $id,
        private readonly int $ttl,
        ?float $wait,
        private readonly ?string $department,
    ) {
        if ($ttl < 1) {
            throw new InvalidArgumentException("ttl must be 1 s or greater, and is $ttl");
        }
        $this->process = getmypid();
        $this->operator = substr((string) gethostname(), 0, 30) . "/$this->process/" . bin2hex(random_bytes(8));
        $this->locks = $this->connected();
        $answer = $this->get();
        if ($answer?->granted !== true && $wait !== 0.0) {
            if (isset($answer->holder) && (self::$entered[$answer->holder->operator] ?? null) === $this->process) { // a wait blocks all fibers
                throw new InvalidArgumentException(
                    "this process has a lease of $type:$id, and would wait for its end: use that one, or enter it again by withLease",
                );
            }
            $answer = $this->waited($wait) ?? $answer;
        }
        if ($answer?->granted !== true) {
            throw $answer === null ? new ContentionException('others were in the way of each call: call again') : new HeldException($answer);
        }
        self::$entered[$this->operator] = $this->process;
    }

    public function __destruct()
    {
        $this->abandon();
    }

    /**
     * Whether the lease is no longer to be trusted: its lock was taken, it was not renewed in time, it has ended, or this is a child of the
     * process that has it.
     */
    public function isLost(): bool
    {
        if ($this->ended || !$this->isOurs()) {
            return true;
        }
        return $this->lost = $this->lost || self::now() >= $this->deadline;
    }

    /**
     * Renews if a third of the ttl has passed since the last renewal. The next call retries a failed renewal.
     *
     * @throws LostException when it is lost
     */
    public function check(): void
    {
        $this->wantIt();
        if (self::now() >= $this->renewed + $this->ttl / 3) {
            $this->quietly($this->renew(...));
            $this->wantIt();
        }
    }

    /**
     * Renews at once. A failed connection is replaced once.
     *
     * @throws LostException when it is lost
     */
    public function renew(): void
    {
        $this->wantIt();
        $this->replacing($this->renewOnce(...));
        $this->wantIt();
    }

    /**
     * Ends the lease. It may be called again.
     *
     * @throws LostException when it had been lost before, and in a child process, which leaves it to its parent
     */
    public function release(): void
    {
        if ($this->ended) {
            return;
        }
        if (!$this->isOurs()) {
            $this->wantIt();
        }
        $this->isLost();
        $this->ended = true;
        unset(self::$entered[$this->operator]);
        [$calls, $outcome] = [0, null];
        $this->replacing(function () use (&$calls, &$outcome): void {
            $calls++;
            $outcome = $this->locks?->release($this->type, $this->id, $this->operator, $this->fence)->outcome;
        });
        $this->locks = null;
        $isReleased = $outcome === 'RELEASED' || $outcome === 'FREE' && $calls > 1; // the first call may have released it
        if (!$isReleased || $this->lost) {
            $this->lost = true;
            throw new LostException("the lock of $this->type:$this->id was lost");
        }
    }

    /** @internal releases, and ignores an error: the lock then ends after the ttl */
    public function abandon(): void
    {
        if (isset($this->fence)) {
            $this->quietly($this->release(...));
        }
    }

    /** @internal a monotonic clock */
    public static function now(): float
    {
        return hrtime(true) / 1e9;
    }

    private function isOurs(): bool
    {
        return $this->process === getmypid();
    }

    private function wantIt(): void
    {
        if ($this->isLost()) {
            throw new LostException("the lock of $this->type:$this->id " . match (true) {
                !$this->isOurs() => "belongs to process $this->process, which entered the lease: a child process needs a lease of its own",
                $this->ended && !$this->lost => 'is released',
                default => 'is lost',
            });
        }
    }

    private function connected(): Locks
    {
        $locks = ($this->open)();
        if ($locks->connection->inTransaction()) {
            throw new InvalidArgumentException(
                'a lease needs a connection of its own, and this one is in a transaction: make one without a transaction and with autocommit',
            );
        }
        return $locks;
    }

    /** Gets the lock, or returns null if other transactions were in the way. A call without an answer may have taken it, and is released. */
    private function get(): ?Grant
    {
        $asked = self::now();
        try {
            $answer = $this->locks->get($this->type, $this->id, $this->operator, $this->department, $this->ttl);
        } catch (\Throwable $error) {
            if ($this->locks->connection->isBusy($error)) {
                return null;
            }
            if (!$error instanceof ApplockException) {
                $this->giveBack();
            }
            throw $error;
        }
        if ($answer->granted) {
            $this->fence = $answer->fence;
            $this->trust($asked);
        }
        return $answer;
    }

    /** No other caller has this operator, so a release without a fence ends what the get may have taken. The get may arrive late: once more at the end. */
    private function giveBack(): void
    {
        $release = fn () => $this->quietly(fn () => $this->isOurs() && $this->connected()->release($this->type, $this->id, $this->operator));
        $release();
        register_shutdown_function($release);
    }

    /** How long this process trusts the lock: from before the call, and a little less than in the database. */
    private function trust(float $asked): void
    {
        $this->renewed = $asked;
        $this->deadline = $asked + $this->ttl - min($this->ttl / 10, 1);
    }

    private function waited(?float $wait): ?Grant
    {
        [$client, $locks, $end] = [bin2hex(random_bytes(16)), $this->locks, $wait === null ? null : self::now() + $wait];
        try {
            $locks->connection->listen($locks->channel);
            [$answer, $pause] = [null, 0.01];
            do {
                $pause = min($pause * 2, 1);
                $this->sleepUntilFree($client, $pause * random_int(500, 1000) / 1000, $end);
                $answer = $this->get() ?? $answer;
            } while ($answer?->granted !== true && ($end === null || self::now() < $end));
            return $answer;
        } finally {
            $this->quietly(fn () => $locks->retract($this->type, $this->id, $this->operator, $client));
            $this->quietly(fn () => $locks->connection->listen($locks->channel, 'UNLISTEN'));
        }
    }

    private function announce(string $client, ?float $end): void
    {
        $wait = $end === null ? null : max(1, (int) ceil($end - self::now()));
        $this->locks->announce($this->type, $this->id, $this->operator, $client, $this->department, $wait);
    }

    /** A waiter that was paused for long is no longer listed, like one that has just begun. */
    private function sleepUntilFree(string $client, float $most, ?float $end): void
    {
        $row = $this->locks->poll($client)[0] ?? null;
        if ($row === null) {
            $this->announce($client, $end);
        } else {
            $left = $end === null ? $most : max(0, $end - self::now());
            $this->locks->connection->wait(min($row['free_in_us'] / 1e6, $most, $left), "$this->type:$this->id");
        }
    }

    /** There is no answer while another transaction changes or asserts the lock. */
    private function renewOnce(): void
    {
        $asked = self::now();
        $renewal = $this->locks?->renew([[
            'type' => $this->type, 'id' => $this->id, 'operator' => $this->operator, 'fence' => $this->fence, 'ttl' => $this->ttl,
        ]])[0] ?? null;
        if ($renewal?->granted === true) {
            $this->trust($asked);
        }
        $this->lost = $this->lost || $renewal?->granted === false;
    }

    /** @param \Closure(): void $call is repeated once, on another connection, if this one fails */
    private function replacing(\Closure $call): void
    {
        try {
            $this->locks ??= $this->connected();
            $call();
        } catch (\PDOException | ContentionException) {
            $this->locks = null;
            $this->locks = $this->connected();
            $call();
        }
    }

    private function quietly(\Closure $call): void
    {
        try {
            $call();
        } catch (\Exception) {
        }
    }
}
