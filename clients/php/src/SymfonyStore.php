<?php

declare(strict_types=1);

namespace Applock;

use Symfony\Component\Lock\Exception\InvalidTtlException;
use Symfony\Component\Lock\Exception\LockConflictedException;
use Symfony\Component\Lock\Key;
use Symfony\Component\Lock\PersistingStoreInterface;

/**
 * A store for symfony/lock: new LockFactory(new SymfonyStore($locks)). Its locks are on objects of one type, and can be seen, taken
 * and released like all others. Only the database's clock decides. In a transaction of the PDO they are final at its commit.
 */
final class SymfonyStore implements PersistingStoreInterface
{
    /**
     * @param string $type the type of the locked objects; their id is the resource
     * @param int $initialTtl seconds for a lock that is created without a ttl, or until its ttl is set
     */
    public function __construct(private readonly Locks $locks, private readonly string $type = 'symfony', private readonly int $initialTtl = 300)
    {
    }

    public function save(Key $key): void
    {
        $key->reduceLifetime($this->initialTtl);
        $answer = $this->locks->get($this->type, $this->id($key), $this->operator($key), ttl: $this->initialTtl);
        if (!$answer->granted) {
            throw new LockConflictedException("held by {$answer->holder?->operator} for another $answer->secondsLeft s");
        }
    }

    public function putOffExpiration(Key $key, float $ttl): void
    {
        if ($ttl < 1) {
            throw new InvalidTtlException("the ttl must be 1 s or greater, and is $ttl");
        }
        $key->reduceLifetime($ttl);
        // A get renews, even to an earlier end. An expired lock it acquires again, and another holder may have had the object meanwhile.
        $answer = $this->locks->get($this->type, $this->id($key), $this->operator($key), ttl: (int) ceil($ttl));
        if ($answer->outcome === 'ACQUIRED') {
            $this->delete($key);
        }
        if ($answer->outcome !== 'RENEWED') {
            throw new LockConflictedException('the lock is lost');
        }
    }

    public function delete(Key $key): void
    {
        $this->locks->release($this->type, $this->id($key), $this->operator($key));
    }

    public function exists(Key $key): bool
    {
        return $this->locks->inquire($this->type, $this->id($key))?->operator === $this->operator($key);
    }

    /** Each key has its own operator, which is serialized with it. */
    private function operator(Key $key): string
    {
        if (!$key->hasState(self::class)) {
            $key->setState(self::class, substr((string) gethostname(), 0, 30) . '/' . bin2hex(random_bytes(16)));
        }
        return $key->getState(self::class);
    }

    private function id(Key $key): string
    {
        $resource = (string) $key;
        return preg_match('/^\P{C}{1,200}\z/u', $resource) === 1 ? $resource : hash('sha256', $resource);
    }
}
