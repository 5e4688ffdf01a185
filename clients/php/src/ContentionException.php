<?php

declare(strict_types=1);

namespace Applock;

/** The object changed hands too often during the call, LK003: call again. */
final class ContentionException extends ApplockException
{
}
