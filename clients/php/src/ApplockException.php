<?php

declare(strict_types=1);

namespace Applock;

/** The base of the exceptions of this library. What PDO throws passes through unchanged. */
abstract class ApplockException extends \RuntimeException
{
}
