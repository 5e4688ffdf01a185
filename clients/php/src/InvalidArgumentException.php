<?php

declare(strict_types=1);

namespace Applock;

/** A mistake in the call, LK001: the same call fails again. */
final class InvalidArgumentException extends ApplockException
{
}
