<?php

declare(strict_types=1);

namespace Applock;

/** The answer of answer. The end is that of the lock, whoever holds it now; there is none when it is FREE or the asker is GONE. */
final class Told extends Answer
{
    public function __construct(
        bool $granted,
        string $outcome,
        public readonly ?Holder $holder,
        public readonly ?\DateTimeImmutable $expiresAt,
        public readonly int $secondsLeft,
    ) {
        parent::__construct($granted, $outcome);
    }
}
