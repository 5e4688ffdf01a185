<?php

declare(strict_types=1);

namespace Applock;

/** Who holds a slot, since when and until when. The operator is empty where the slot has become free during the call. */
final class Slot
{
    public function __construct(
        public readonly string $slotId,
        public readonly string $operator,
        public readonly string $department,
        public readonly int $fence,
        public readonly ?\DateTimeImmutable $acquiredAt,
        public readonly ?\DateTimeImmutable $expiresAt,
        public readonly int $secondsLeft,
        public readonly string $note,
    ) {
    }
}
