<?php

declare(strict_types=1);

namespace Applock;

/** One lock of renew. acquiredAt is the start of a holder's grant. */
final class Renewal extends Answer
{
    public function __construct(
        bool $granted,
        string $outcome,
        public readonly string $type,
        public readonly string $id,
        public readonly ?Holder $holder,
        public readonly ?\DateTimeImmutable $acquiredAt,
        public readonly ?\DateTimeImmutable $expiresAt,
        public readonly int $secondsLeft,
    ) {
        parent::__construct($granted, $outcome);
    }
}
