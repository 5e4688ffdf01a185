<?php

declare(strict_types=1);

namespace Applock;

/** The answer of setPolicy and dropPolicy. */
final class Policy extends Answer
{
}
