<?php

declare(strict_types=1);

namespace Applock;

/** The answer of transfer, take and ask; former had what was taken, or given to who asked. */
final class Handover extends Answer
{
    public function __construct(
        bool $granted,
        string $outcome,
        public readonly ?Holder $holder,
        public readonly ?Holder $former,
        public readonly int $fence,
        public readonly ?\DateTimeImmutable $acquiredAt,
        public readonly ?\DateTimeImmutable $expiresAt,
        public readonly int $secondsLeft,
    ) {
        parent::__construct($granted, $outcome);
    }
}
