<?php

declare(strict_types=1);

namespace Applock;

/** The answer of permit. slotId is the id of the slot for all other operations. A refusal has the holders of the slots. */
final class Permit extends Answer
{
    /** @param list<Slot> $holders all slots when refused, the soonest to expire first; else none */
    public function __construct(
        bool $granted,
        string $outcome,
        public readonly ?string $slotId,
        public readonly int $fence,
        public readonly ?\DateTimeImmutable $acquiredAt,
        public readonly ?\DateTimeImmutable $expiresAt,
        public readonly int $secondsLeft,
        public readonly string $note,
        public readonly array $holders,
    ) {
        parent::__construct($granted, $outcome);
    }
}
