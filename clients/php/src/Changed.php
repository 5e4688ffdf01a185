<?php

declare(strict_types=1);

namespace Applock;

/** One lock of transferAll or releaseAll. */
final class Changed extends Answer
{
    public function __construct(
        bool $granted,
        string $outcome,
        public readonly string $type,
        public readonly string $id,
        public readonly ?Holder $holder,
        public readonly int $fence,
        public readonly ?\DateTimeImmutable $expiresAt,
        public readonly int $secondsLeft,
    ) {
        parent::__construct($granted, $outcome);
    }
}
