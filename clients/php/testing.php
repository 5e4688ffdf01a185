<?php

// What the tests of the installed package share: connections that a test can disturb, comparisons, and child processes.

declare(strict_types=1);

use Applock\Leases;

const LONG = 300; // for hangs: no test takes it

define('POSTGRES', $argv[1] === 'pdo_pgsql');

/** A PDO that lets a test see and replace each statement that it prepares. */
class Watched extends PDO
{
    public ?Closure $seen = null;

    public function prepare(string $query, array $options = []): PDOStatement|false
    {
        return parent::prepare($this->seen === null ? $query : ($this->seen)($query), $options);
    }
}

/** A statement class of the user's that gets in the way. */
class Odd extends PDOStatement
{
    public function fetchAll(int $mode = PDO::FETCH_DEFAULT, mixed ...$args): array
    {
        return ['odd'];
    }
}

function connect(string $kind = PDO::class, array $options = []): PDO
{
    if (POSTGRES) {
        return new $kind('pgsql:', null, null, $options);
    }
    $env = getenv();
    $dsn = "mysql:host={$env['MYSQL_HOST']};port={$env['MYSQL_TCP_PORT']};dbname={$env['MYSQL_DATABASE']};charset=utf8mb4";
    return new $kind($dsn, $env['MYSQL_USER'], $env['MYSQL_PWD'], $options);
}

function watched(Closure $seen): Watched
{
    $pdo = connect(Watched::class);
    $pdo->seen = $seen;
    return $pdo;
}

function equal(mixed $want, mixed $got): void
{
    if ($want != $got || gettype($want) !== gettype($got)) {
        throw new LogicException('want ' . var_export($want, true) . ', got ' . var_export($got, true));
    }
}

function matches(string $pattern, string $text): void
{
    equal(1, preg_match($pattern, $text) ?: $text);
}

/** The exception of that class, which the call has to throw. */
function thrown(string $class, Closure $call): Throwable
{
    try {
        $call();
    } catch (Throwable $error) {
        if ($error instanceof $class) {
            return $error;
        }
        throw $error;
    }
    throw new LogicException("no $class");
}

function until(Closure $condition): void
{
    for ($end = time() + LONG; !$condition(); usleep(50000)) {
        equal(true, time() < $end);
    }
}

/** A child process, with a pair of sockets to talk to it. It says what $work says, and how that ended. */
function child(Closure $work): array
{
    [$here, $there] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $pid = pcntl_fork();
    if ($pid !== 0) {
        return [$pid, $here];
    }
    try {
        $work(new Leases(connect(...)), $there);
        fwrite($there, "done\n");
    } catch (Throwable $error) {
        fwrite($there, $error::class . "\n");
    }
    posix_kill(getmypid(), SIGKILL); // no destructor closes what the parent has
}

/** A PDO whose get has no answer. */
final class Unlucky extends PDO
{
    public bool $isUnlucky = false;
    public int $gets = 0;

    public function prepare(string $query, array $options = []): PDOStatement|false
    {
        if ($this->isUnlucky && str_contains($query, 'get_appl_lock_row')) {
            $options[PDO::ATTR_STATEMENT_CLASS] = [Unanswered::class, [$this]];
        }
        return parent::prepare($query, $options);
    }
}

final class Unanswered extends PDOStatement
{
    private function __construct(private readonly Unlucky $pdo)
    {
    }

    public function execute(?array $params = null): bool
    {
        parent::execute($params);
        $this->pdo->gets++;
        throw new PDOException('no answer');
    }
}
