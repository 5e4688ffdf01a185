<?php

declare(strict_types=1);

namespace Applock;

/** The answer of release and note. */
final class Change extends Answer
{
    public function __construct(bool $granted, string $outcome, public readonly ?Holder $holder)
    {
        parent::__construct($granted, $outcome);
    }
}
