<?php

declare(strict_types=1);

namespace Applock;

/** The database and this package do not fit together. The message says which of them to update. */
final class WrongVersionException extends ApplockException
{
}
