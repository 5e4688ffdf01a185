<?php

declare(strict_types=1);

namespace Applock;

/** A live lock, which inquire returns. */
final class Lock
{
    public function __construct(
        public readonly string $operator,
        public readonly string $department,
        public readonly int $fence,
        public readonly \DateTimeImmutable $acquiredAt,
        public readonly \DateTimeImmutable $lockedAt,
        public readonly \DateTimeImmutable $expiresAt,
        public readonly int $secondsLeft,
        public readonly string $note,
    ) {
    }
}
