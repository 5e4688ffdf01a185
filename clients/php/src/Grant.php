<?php

declare(strict_types=1);

namespace Applock;

/** The answer of get. A refusal has the holder, and the times and the note of its lock. */
final class Grant extends Answer
{
    public function __construct(
        bool $granted,
        string $outcome,
        public readonly ?Holder $holder,
        public readonly int $fence,
        public readonly \DateTimeImmutable $acquiredAt,
        public readonly \DateTimeImmutable $expiresAt,
        public readonly int $secondsLeft,
        public readonly string $note,
    ) {
        parent::__construct($granted, $outcome);
    }
}
