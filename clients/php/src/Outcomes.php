<?php

declare(strict_types=1);

namespace Applock;

/** @internal the outcomes of each operation, and whether the caller has got then what it asked for */
final class Outcomes
{
    private const GRANTED = [
        // outcomes: made by `make generate`
        'get_appl_lock' => ['ACQUIRED' => true, 'RENEWED' => true, 'HELD' => false],
        'get_appl_lock_permit' => ['ACQUIRED' => true, 'RENEWED' => true, 'FULL' => false],
        'release_appl_lock' => ['RELEASED' => true, 'FREE' => true, 'HELD' => false],
        'release_appl_locks' => ['RELEASED' => true, 'BUSY' => false, 'HELD' => false, 'FREE' => false, 'WOULD_RELEASE' => false],
        'transfer_appl_lock' => ['TRANSFERRED' => true, 'HELD' => false, 'FREE' => false],
        'take_appl_lock' => ['TAKEN' => true, 'HELD' => false, 'FREE' => false],
        'transfer_appl_locks' => ['TRANSFERRED' => true, 'BUSY' => false, 'HELD' => false, 'FREE' => false, 'WOULD_TRANSFER' => false],
        'note_appl_lock' => ['NOTED' => true, 'FREE' => false, 'HELD' => false],
        'renew_appl_locks' => ['RENEWED' => true, 'HELD' => false, 'FREE' => false],
        'set_appl_lock_policy' => ['SET' => true],
        'drop_appl_lock_policy' => ['DROPPED' => true, 'NONE' => false],
        'ask_appl_lock' => ['ASKED' => true, 'GIVEN' => true, 'WITHDRAWN' => true, 'FREE' => false, 'OWN' => false],
        'answer_appl_lock' => ['GIVEN' => true, 'TOLD' => true, 'HELD' => false, 'FREE' => false, 'GONE' => false],
        // outcomes: end
    ];

    public static function granted(string $operation, string $outcome): bool
    {
        return self::GRANTED[$operation][$outcome] ?? throw new WrongVersionException(
            "$operation has answered $outcome, which this version of the package does not know: install a newer applock/applock",
        );
    }
}
