<?php

declare(strict_types=1);

namespace Applock;

/**
 * An answer about one lock. Ask ->granted, has the caller got what it asked for?, because any object is true in an if. outcome is the
 * answer in one word. A name that the answer does not have is an error.
 */
abstract class Answer
{
    public function __construct(public readonly bool $granted, public readonly string $outcome)
    {
    }

    public function __get(string $name): never
    {
        throw new \LogicException(static::class . " has no $name");
    }
}
