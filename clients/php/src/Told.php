<?php

declare(strict_types=1);

namespace Applock;

/** The answer of answer. The end is that of the present holder's lock. There is none for FREE and GONE. */
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
