<?php

declare(strict_types=1);

namespace Applock;

/** The answer of answer. The times are those of the present holder's lock. There are none for FREE and GONE. */
final class Told extends Answer
{
    public function __construct(
        bool $granted,
        string $outcome,
        public readonly ?Holder $holder,
        public readonly ?\DateTimeImmutable $acquiredAt,
        public readonly ?\DateTimeImmutable $expiresAt,
        public readonly int $secondsLeft,
    ) {
        parent::__construct($granted, $outcome);
    }
}
