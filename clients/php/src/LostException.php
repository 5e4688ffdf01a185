<?php

declare(strict_types=1);

namespace Applock;

/** The grant is not live any more, LK002, or a lease has ended before its work. */
final class LostException extends ApplockException
{
}
