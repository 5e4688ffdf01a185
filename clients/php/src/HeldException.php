<?php

declare(strict_types=1);

namespace Applock;

/** Somebody else has what a lease was to get. */
final class HeldException extends ApplockException
{
    /** @param Grant $answer the refusal, whose holder has it */
    public function __construct(public readonly Grant $answer)
    {
        parent::__construct("held by {$answer->holder?->operator} for another $answer->secondsLeft s");
    }
}
