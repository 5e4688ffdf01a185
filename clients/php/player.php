<?php

// Plays the scenarios for clients/player_test.go through Applock.php: player.php DRIVER

declare(strict_types=1);

require __DIR__ . '/Applock.php';

use Applock\Locks;
use Applock\LockError;

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

function say(...$fields): void
{
    echo implode("\t", array_map('encode', $fields)), "\n";
}

function grants(array $fields): array
{
    $names = ['object_type', 'object_id', 'operator_id', 'fence', 'ttl_seconds'];
    $grants = [];
    foreach (array_chunk($fields, 5) as $values) {
        $grant = array_combine($names, $values);
        $grants[] = ['fence' => number($grant['fence']), 'ttl_seconds' => number($grant['ttl_seconds'])] + $grant;
    }
    return $grants;
}

// The counter, between whose read and write the runner decides how long it takes.
function increment(PDO $pdo, Locks $locks, ?string $operator): array
{
    while ($operator !== null && $locks->get('counter', 1, $operator, null, 60)['ok_fl'] === 'N') {
        usleep(10000);
    }
    $n = (int) $pdo->query('SELECT n FROM counter')->fetchColumn();
    say('read', $n);
    fgets(STDIN);
    $pdo->exec('UPDATE counter SET n = ' . ($n + 1));
    if ($operator !== null) {
        $locks->release('counter', 1, $operator);
    }
    return [];
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

function nothing($_): array
{
    return [];
}

function play(PDO $pdo, string $driver, Locks $locks, string $operation, array $a): array
{
    return match ($operation) {
        'versions' => [['PHP ' . PHP_VERSION, "$driver " . phpversion($driver)]],
        'increment' => increment($pdo, $locks, $a[0]),
        'get_appl_lock' => [$locks->get($a[0], $a[1], $a[2], $a[3], number($a[4]), $a[5])],
        'get_appl_lock_permit' => $locks->permit($a[0], $a[1], number($a[2]), $a[3], $a[4], number($a[5])),
        'release_appl_lock' => [$locks->release($a[0], $a[1], $a[2], number($a[3]), $a[4], $a[5])],
        'inquire_appl_lock' => [$locks->inquire(...$a)],
        'transfer_appl_lock' => [$locks->transfer($a[0], $a[1], $a[2], $a[3], $a[4], number($a[5]), $a[6], $a[7])],
        'note_appl_lock' => [$locks->note($a[0], $a[1], $a[2], $a[4], number($a[3]))],
        'purge_appl_locks' => [[$locks->purge(number($a[0]), number($a[1]))]],
        'purge_appl_lock_history' => [[$locks->purgeHistory(number($a[0]), number($a[1]))]],
        'assert_appl_lock' => nothing($locks->assert($a[0], $a[1], $a[2], number($a[3]))),
        'serialize_appl_lock' => nothing($locks->serialize(...$a)),
        'transfer_appl_locks' => $locks->transferAll(
            $a[0], $a[2], $a[3], number($a[4]), $a[5], $a[6], $a[1], $a[7], $a[8], number($a[9]), $a[10],
        ),
        'release_appl_locks' => $locks->releaseAll($a[0], $a[2], $a[3], $a[1], $a[4], $a[5], number($a[6]), $a[7]),
        'renew_appl_locks' => $locks->renew(grants($a)),
        'announce_appl_lock_waiter' => nothing($locks->announce($a[0], $a[1], $a[2], $a[3], $a[4], number($a[5]))),
        'retract_appl_lock_waiter' => nothing($locks->retract(...$a)),
        'poll_appl_locks' => $locks->poll($a[0], number($a[1])),
        'take_appl_lock' => [$locks->take($a[0], $a[1], $a[2], $a[4], $a[3], number($a[5]), number($a[6]))],
        'inbox_appl_locks' => $locks->inbox($a[0], number($a[1]), number($a[2])),
        'set_appl_lock_policy' => [$locks->setPolicy($a[0], $a[4], number($a[1]), number($a[2]), $a[3], $a[5], $a[6])],
        'drop_appl_lock_policy' => [$locks->dropPolicy(...$a)],
        default => read($locks, $operation, $a),
    };
}

$driver = $argv[1];
$pdo = connect($driver);
$locks = new Locks($pdo);
while (($line = fgets(STDIN)) !== false) {
    $arguments = array_map('decode', explode("\t", rtrim($line, "\n")));
    try {
        $rows = play($pdo, $driver, $locks, array_shift($arguments), $arguments);
        foreach ($rows as $row) {
            say('row', ...array_values($row));
        }
        say('end');
    } catch (LockError $error) {
        say('error', $error->sqlstate, $error->getMessage());
    }
}
