<?php

declare(strict_types=1);

namespace Applock;

/** An operator, with its department, which may be empty. */
final class Holder
{
    public function __construct(public readonly string $operator, public readonly string $department)
    {
    }
}
