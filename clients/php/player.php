<?php

// Plays the scenarios for clients/player_test.go through the installed package: player.php DRIVER

declare(strict_types=1);

require 'vendor/autoload.php';

use Applock\Answer;
use Applock\ContentionException;
use Applock\Handover;
use Applock\InvalidArgumentException;
use Applock\Leases;
use Applock\Lock;
use Applock\Locks;
use Applock\LostException;
use Applock\Permit;

function connect(string $driver): PDO
{
    if ($driver === 'pdo_pgsql') {
        return new PDO('pgsql:');
    }
    $env = getenv();
    return new PDO(
        "mysql:host={$env['MYSQL_HOST']};port={$env['MYSQL_TCP_PORT']};dbname={$env['MYSQL_DATABASE']};charset=utf8mb4",
        $env['MYSQL_USER'],
        $env['MYSQL_PWD'],
    );
}

function encode($value): string
{
    return match (true) {
        $value === null => '\N',
        is_bool($value) => $value ? 'true' : 'false',
        $value instanceof DateTimeInterface => $value->format('Y-m-d\TH:i:s.uP'),
        default => strtr((string) $value, ['\\' => '\\\\', "\t" => '\t', "\n" => '\n', "\r" => '\r']),
    };
}

function decode(string $field): ?string
{
    return $field === '\N' ? null : strtr($field, ['\\\\' => '\\', '\t' => "\t", '\n' => "\n", '\r' => "\r"]);
}

function number(?string $field): ?int
{
    return $field === null ? null : (int) $field;
}

/** What is no flag goes to the library as it is, which has to refuse it. */
function flag(?string $field, ?string $blank = null): bool|string|null
{
    return match ($field === null ? null : rtrim($field)) {
        'Y' => true,
        'N' => false,
        '' => $blank,
        default => $field,
    };
}

function say(...$fields): void
{
    echo implode("\t", array_map('encode', $fields)), "\n";
}

function grants(array $fields): array
{
    $names = ['type', 'id', 'operator', 'fence', 'ttl'];
    $grants = [];
    foreach (array_chunk($fields, 5) as $values) {
        $grant = array_combine($names, $values);
        $grants[] = ['fence' => number($grant['fence']), 'ttl' => number($grant['ttl'])] + $grant;
    }
    return $grants;
}

function increment(PDO $pdo, Locks $locks, ?string $operator): array
{
    while ($operator !== null && !$locks->get('counter', 1, $operator, ttl: 60)->granted) {
        usleep(10000);
    }
    countUp($pdo);
    if ($operator !== null) {
        $locks->release('counter', 1, $operator);
    }
    return [];
}

function incrementLeased(PDO $pdo, string $driver): array
{
    (new Leases(fn () => connect($driver)))->withLease('counter', 1, fn () => countUp($pdo), wait: null);
    return [];
}

/** The counter, between whose read and write the runner decides how long it takes. */
function countUp(PDO $pdo): void
{
    $n = (int) $pdo->query('SELECT n FROM counter')->fetchColumn();
    say('read', $n);
    fgets(STDIN);
    $pdo->exec('UPDATE counter SET n = ' . ($n + 1));
}

/** A view, with names and values in turn. */
function read(Locks $locks, string $view, array $a): array
{
    [$filters, $after, $maxRows] = [[], [], 1000];
    foreach (array_chunk($a, 2) as [$name, $value]) {
        match (true) {
            $name === 'max_rows' => $maxRows = (int) $value,
            str_starts_with($name, 'after_') => $after[substr($name, strlen('after_'))] = $value,
            default => $filters[$name] = $value,
        };
    }
    return $locks->read($view, $filters, $after === [] ? null : $after, $maxRows);
}

/** The contract's columns of an answer, behind its truth. */
function row(Answer $answer): array
{
    $values = get_object_vars($answer);
    $flag = [$answer->granted, $answer->granted ? 'Y' : 'N', $answer->outcome];
    return [...$flag, ...(array_key_exists('holder', $values) ? holder($answer) : []), ...rest($values)];
}

function holder(Answer $answer): array
{
    $holder = $answer->holder ?? ($answer instanceof Handover ? $answer->former : null);
    return [$holder->operator ?? '', $holder->department ?? ''];
}

function rest(array $values): array
{
    unset($values['granted'], $values['outcome'], $values['holder'], $values['former'], $values['type'], $values['id']);
    return array_values($values);
}

/** @param list<Answer> $answers */
function rows(array $answers): array
{
    return array_map(fn ($a) => [$a->granted, $a->type, $a->id, $a->outcome, ...holder($a), ...rest(get_object_vars($a))], $answers);
}

function permit(Locks $locks, Permit $answer, ?string $type, ?string $operator): array
{
    if (!$answer->granted) {
        return array_map(fn ($slot) => [false, $answer->outcome, ...array_values(get_object_vars($slot))], $answer->holders);
    }
    $department = $locks->inquire($type, $answer->slotId)->department;
    return [[
        true, $answer->outcome, $answer->slotId, rtrim($operator), $department, $answer->fence, $answer->acquiredAt, $answer->expiresAt,
        $answer->secondsLeft, $answer->note,
    ]];
}

function lock(?Lock $lock): array
{
    return $lock === null ? ['N', '', '', 0, null, null, null, 0, ''] : ['Y', ...array_values(get_object_vars($lock))];
}

/** What only a transaction may call, in one. */
function inTransaction(PDO $pdo, Closure $call): array
{
    $pdo->beginTransaction();
    try {
        $call();
        $pdo->commit();
    } finally {
        if ($pdo->inTransaction()) {
            $pdo->rollBack();
        }
    }
    return [];
}

function nothing($_): array
{
    return [];
}

function play(PDO $pdo, string $driver, Locks $locks, string $operation, array $a): array
{
    return match ($operation) {
        'versions' => [['PHP ' . PHP_VERSION, "$driver " . phpversion($driver)]],
        'increment' => increment($pdo, $locks, $a[0]),
        'increment_leased' => incrementLeased($pdo, $driver),
        'get_appl_lock' => [row($locks->get($a[0], $a[1], $a[2], $a[3], number($a[4]), flag($a[5])))],
        'get_appl_lock_permit' => permit($locks, $locks->permit($a[0], $a[1], number($a[2]), $a[3], $a[4], number($a[5])), $a[0], $a[3]),
        'release_appl_lock' => [row($locks->release($a[0], $a[1], $a[2], number($a[3]), $a[4], $a[5]))],
        'inquire_appl_lock' => [lock($locks->inquire(...$a))],
        'transfer_appl_lock' => [row($locks->transfer($a[0], $a[1], $a[2], $a[3], $a[4], number($a[5]), $a[6], $a[7]))],
        'note_appl_lock' => [row($locks->note($a[0], $a[1], $a[2], $a[4], number($a[3])))],
        'purge_appl_locks' => [[$locks->purge(number($a[0]), number($a[1]))]],
        'purge_appl_lock_history' => [[$locks->purgeHistory(number($a[0]), number($a[1]))]],
        'assert_appl_lock' => inTransaction($pdo, fn () => $locks->assert($a[0], $a[1], $a[2], number($a[3]))),
        'serialize_appl_lock' => inTransaction($pdo, fn () => $locks->serialize(...$a)),
        'transfer_appl_locks' => rows($locks->transferAll(
            $a[0], $a[2], $a[3], number($a[4]), $a[5], $a[6], $a[1], $a[7], $a[8], number($a[9]), flag($a[10]),
        )),
        'release_appl_locks' => rows($locks->releaseAll($a[0], $a[2], $a[3], $a[1], $a[4], $a[5], number($a[6]), flag($a[7]))),
        'renew_appl_locks' => rows($locks->renew(grants($a))),
        'announce_appl_lock_waiter' => nothing($locks->announce($a[0], $a[1], $a[2], $a[4], $a[3], number($a[5]))),
        'retract_appl_lock_waiter' => nothing($locks->retract(...$a)),
        'poll_appl_locks' => $locks->poll($a[0], number($a[1])),
        'take_appl_lock' => [row($locks->take($a[0], $a[1], $a[2], $a[4], $a[3], number($a[5]), number($a[6])))],
        'ask_appl_lock' => [row($locks->ask($a[0], $a[1], $a[2], $a[4], $a[5], $a[3], number($a[6])))],
        'answer_appl_lock' => [row($locks->answer($a[0], $a[1], $a[2], number($a[3]), $a[4], $a[6], $a[5], $a[7]))],
        'see_appl_lock' => $locks->see($a[0], $a[1], $a[2], $a[4], $a[5], $a[3], number($a[6])),
        'inbox_appl_locks' => $locks->inbox($a[0], $a[1], number($a[2])),
        'set_appl_lock_policy' => [row($locks->setPolicy($a[0], $a[4], number($a[1]), number($a[2]), flag($a[3], ''), $a[5], $a[6], flag($a[7], ''), number($a[8])))],
        'drop_appl_lock_policy' => [row($locks->dropPolicy(...$a))],
        default => read($locks, $operation, $a),
    };
}

/** What the library refuses by itself has the name of its argument in front, which is said as the server says it. */
function message(string $operation, Throwable $error): string
{
    $names = ['new' => 'p_new_fl', 'dryRun' => 'p_dry_run_fl', 'takeReason' => 'p_take_reason_fl', 'presence' => 'p_presence_fl'];
    [$argument, $rest] = explode(' ', $error->getMessage(), 2);
    return isset($names[$argument]) ? "$operation: $names[$argument] $rest" : $error->getMessage();
}

$driver = $argv[1];
$pdo = connect($driver);
$locks = new Locks($pdo);
while (($line = fgets(STDIN)) !== false) {
    $arguments = array_map('decode', explode("\t", rtrim($line, "\n")));
    $operation = array_shift($arguments);
    try {
        foreach (play($pdo, $driver, $locks, $operation, $arguments) as $row) {
            say('row', ...array_values($row));
        }
        say('end');
    } catch (InvalidArgumentException | LostException | ContentionException $error) {
        $states = [InvalidArgumentException::class => 'LK001', LostException::class => 'LK002', ContentionException::class => 'LK003'];
        say('error', $states[$error::class], message($operation, $error));
    }
}
