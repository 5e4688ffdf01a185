<?php

// Tests of the installed package, which php_test.go runs with each driver on each product: test_applock.php DRIVER [PATTERN]

declare(strict_types=1);

require 'vendor/autoload.php';
require 'Symfony/Component/Lock/autoload.php';

use Applock\ApplockException;
use Applock\ContentionException;
use Applock\HeldException;
use Applock\InvalidArgumentException;
use Applock\Lease;
use Applock\Leases;
use Applock\Locks;
use Applock\LostException;
use Applock\SymfonyStore;
use Applock\WrongVersionException;
use Symfony\Component\Lock\Exception\LockConflictedException;
use Symfony\Component\Lock\LockFactory;

require __DIR__ . '/testing.php';

final class Tests
{
    private readonly PDO $pdo;
    private readonly Locks $locks;
    private readonly Leases $leases;

    public function __construct()
    {
        $this->pdo = connect();
        $this->locks = new Locks($this->pdo);
        $this->leases = new Leases(connect(...));
    }

    private function inTransaction(Closure $work): void
    {
        $this->pdo->beginTransaction();
        try {
            $work();
        } finally {
            $this->pdo->rollBack();
        }
    }

    /** Goal: no refusal can be read as granted, and no grant as refused (D1). Method: the operations whose answers have no flag. */
    public function testGrantedIsWhatTheCallerAskedFor(): void
    {
        $slot = $this->locks->permit('room', 'granted', 1, 'JDOE');
        equal([true, true], [$slot->granted, $this->locks->permit('room', 'granted', 1, 'JDOE')->granted]);
        $full = $this->locks->permit('room', 'granted', 1, 'ASMITH');
        equal([false, 'granted#1', 'JDOE'], [$full->granted, $full->holders[0]->slotId, $full->holders[0]->operator]);
        $grant = ['type' => 'room', 'id' => $slot->slotId, 'operator' => 'JDOE', 'ttl' => 60];
        thrown(Error::class, fn () => $this->locks->renew([['fence' => 1, 'ttl_seconds' => 60] + $grant]));
        equal(true, $this->locks->renew([['fence' => $slot->fence] + $grant])[0]->granted);
        $stale = $this->locks->renew([['fence' => $slot->fence - 1] + $grant])[0];
        equal([false, 'HELD', 'JDOE'], [$stale->granted, $stale->outcome, $stale->holder->operator]);
        equal(false, $this->locks->releaseAll('JDOE', type: 'room', dryRun: true)[0]->granted);
    }

    /** Goal: who asks who holds an object is told so, a typo is an exception, and an answer cannot be changed. */
    public function testATypoIsAnError(): void
    {
        equal(null, $this->locks->inquire('customer', 'free'));
        $answer = $this->locks->get('customer', 'typo', 'JDOE', department: 'CS');
        equal(['JDOE', 'CS'], [$this->locks->inquire('customer', 'typo')->operator, $this->locks->inquire('customer', 'typo')->department]);
        thrown(LogicException::class, fn () => $answer->expires_at);
        thrown(Error::class, fn () => $answer->granted = false);
        thrown(Error::class, fn () => $this->locks->get('customer', 'typo', 'JDOE', ttlSeconds: 60));
    }

    /** Goal: a number is a whole one, a flag is a boolean, and a ttl may be a DateInterval. The refusal names the argument. */
    public function testArgumentsAreChecked(): void
    {
        $get = fn ($ttl) => $this->locks->get('customer', 'arguments', 'JDOE', ttl: $ttl)->secondsLeft;
        equal([120, 60], [$get(new DateInterval('PT2M')), $get(60.0)]);
        $refused = fn (Closure $call) => thrown(InvalidArgumentException::class, $call)->getMessage();
        matches('/^ttl /', $refused(fn () => $get(0.5)));
        matches('/^new /', $refused(fn () => $this->locks->get('customer', 'arguments', 'JDOE', new: 'Y')));
        matches('/^dryRun /', $refused(fn () => $this->locks->releaseAll('JDOE', dryRun: 'N')));
        matches('/not a column/', $refused(fn () => $this->locks->read('appl_lock_live', ['x OR 1' => 1])));
        matches('/no view/', $refused(fn () => $this->locks->read('appl_lock')));
    }

    /** Goal: there are three exceptions, of one base, and what PDO throws passes through (D12). */
    public function testThreeExceptions(): void
    {
        thrown(InvalidArgumentException::class, fn () => $this->locks->get('', 42, 'JDOE'));
        $this->inTransaction(fn () => thrown(LostException::class, fn () => $this->locks->assert('customer', 'errors', 'JDOE', 1)));
        $contended = watched(fn ($sql) => str_contains($sql, 'purge') ? $this->raising() : $sql);
        equal(true, thrown(ContentionException::class, fn () => (new Locks($contended))->purge()) instanceof ApplockException);
        $broken = watched(fn ($sql) => str_contains($sql, 'version') ? $sql : "$sql)");
        thrown(PDOException::class, fn () => (new Locks($broken))->get('customer', 42, 'JDOE'));
    }

    /** A statement with two placeholders that ends with LK003. */
    private function raising(): string
    {
        if (POSTGRES) {
            $this->pdo->exec("CREATE OR REPLACE FUNCTION raising(text, text) RETURNS int LANGUAGE plpgsql AS "
                . "$$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = 'LK003'; END $$");
            return 'SELECT raising(?, ?)';
        }
        $this->pdo->exec('DROP PROCEDURE IF EXISTS raising');
        $this->pdo->exec("CREATE PROCEDURE raising(a TEXT, b TEXT) SIGNAL SQLSTATE 'LK003'");
        return 'CALL raising(?, ?)';
    }

    /** Goal: serialize and assert outside of a transaction are refused, before anything is called (D4). Method: what is prepared. */
    public function testSerializeAndAssertWantATransaction(): void
    {
        $sent = [];
        $pdo = watched(function ($sql) use (&$sent) {
            $sent[] = $sql;
            return $sql;
        });
        $locks = new Locks($pdo);
        $fence = $this->locks->get('customer', 'asserted', 'JDOE')->fence;
        matches('/^serialize .*transaction/', thrown(InvalidArgumentException::class, fn () => $locks->serialize('document', 'number'))->getMessage());
        matches('/^assert .*transaction/', thrown(InvalidArgumentException::class, fn () => $locks->assert('customer', 'asserted', 'JDOE', $fence))->getMessage());
        equal([], $sent);
        $pdo->exec('BEGIN'); // by SQL, which PDO is not told of
        $locks->serialize('document', 'number');
        $locks->assert('customer', 'asserted', 'JDOE', $fence);
        $pdo->exec('COMMIT');
        thrown(InvalidArgumentException::class, fn () => $locks->serialize('document', 'number'));
        if (!POSTGRES) { // there is autocommit to be switched off
            (new Locks(connect(PDO::class, [PDO::ATTR_AUTOCOMMIT => 0])))->serialize('document', 'number');
        }
    }

    /** Goal: subclasses are what they are, and other drivers are refused at once, by name (D10). */
    public function testConnectionsAreKnown(): void
    {
        equal(true, (new Locks(watched(fn ($sql) => $sql)))->get('customer', 'known', 'JDOE')->granted);
        $other = new class extends PDO {
            public function __construct()
            {
            }

            public function getAttribute(int $attribute): mixed
            {
                return 'sqlite';
            }
        };
        matches('/driver .*sqlite/', thrown(InvalidArgumentException::class, fn () => new Locks($other))->getMessage());
    }

    /** Goal: what the user has set changes no answer, and stays: numbers are integers, times are in UTC (D11). Method: each attribute. */
    public function testAttributesChangeNothing(): void
    {
        $all = [
            [PDO::ATTR_ERRMODE => PDO::ERRMODE_SILENT], [PDO::ATTR_ERRMODE => PDO::ERRMODE_WARNING], [PDO::ATTR_CASE => PDO::CASE_UPPER],
            [PDO::ATTR_ORACLE_NULLS => PDO::NULL_EMPTY_STRING], [PDO::ATTR_ORACLE_NULLS => PDO::NULL_TO_STRING],
            [PDO::ATTR_STRINGIFY_FETCHES => true], [PDO::ATTR_EMULATE_PREPARES => true], [PDO::ATTR_EMULATE_PREPARES => false],
            [PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_OBJ], [PDO::ATTR_STATEMENT_CLASS => [Odd::class]],
        ];
        if (!POSTGRES) {
            array_push($all, [PDO::ATTR_FETCH_TABLE_NAMES => true], [PDO::MYSQL_ATTR_USE_BUFFERED_QUERY => false]);
        }
        foreach ([...$all, array_replace(...$all)] as $i => $attributes) {
            $pdo = connect();
            foreach ($attributes as $attribute => $value) {
                $pdo->setAttribute($attribute, $value);
            }
            $pdo->query(POSTGRES ? "SET DateStyle = 'German'" : "SET time_zone = '-05:00'")->closeCursor();
            $this->answersAreTheSame(new Locks($pdo), "strange $i é");
            foreach (array_intersect_key($attributes, [PDO::ATTR_ERRMODE => 1, PDO::ATTR_CASE => 1, PDO::ATTR_ORACLE_NULLS => 1]) as $attribute => $value) {
                equal($value, $pdo->getAttribute($attribute));
            }
        }
    }

    private function answersAreTheSame(Locks $locks, string $id): void
    {
        $answer = $locks->get('customer', $id, 'JDOE', ttl: 60);
        equal([true, 'ACQUIRED', null, 60, ''], [$answer->granted, $answer->outcome, $answer->holder, $answer->secondsLeft, $answer->note]);
        equal('UTC', $answer->expiresAt->getTimezone()->getName());
        equal(true, abs($answer->expiresAt->getTimestamp() - time()) < 3600);
        equal($this->locks->inquire('customer', $id), $locks->inquire('customer', $id));
        $fence = $locks->take('customer', $id, 'ASMITH', 'why not')->fence;
        [$event] = $locks->read('appl_lock_history', ['object_id' => $id]);
        equal(['integer', 'integer', 'integer'], array_map('gettype', [$event['event_id'], $event['from_fence'], $event['to_fence']]));
        equal([$answer->fence, $fence], [$event['from_fence'], $event['to_fence']]);
        equal(array_map('gettype', $this->locks->read('appl_lock_history', ['object_id' => $id])[0]), array_map('gettype', $event));
        $locks->setPolicy("type $id", 'BOSS', takeReason: true);
        equal(null, $locks->read('appl_lock_policies', ['object_type' => "type $id"])[0]['default_ttl_seconds']);
        thrown(InvalidArgumentException::class, fn () => $locks->get('', $id, 'JDOE'));
        equal('integer', gettype($locks->purge()));
    }

    /** Goal: an older database and an older package are told from each other. Method: a version of 0, and a new outcome. */
    public function testVersionsAreCompared(): void
    {
        $older = watched(fn ($sql) => str_contains($sql, 'version') ? $this->row('0 AS version') : $sql);
        matches('/applockctl migrate up/', thrown(WrongVersionException::class, fn () => (new Locks($older))->inquire('customer', 42))->getMessage());
        $newer = watched(fn ($sql) => str_contains($sql, 'renew') ? $this->row("'PAINTED' AS outcome") . " WHERE ? <> ''" : $sql);
        matches('/install a newer/', thrown(WrongVersionException::class, fn () => (new Locks($newer))->renew([]))->getMessage());
    }

    private function row(string $columns): string
    {
        return POSTGRES ? "SELECT row_to_json(r) FROM (SELECT $columns) AS r" : "SELECT * FROM (SELECT $columns) AS r";
    }

    /** Goal: leases exclude processes. Method: three of them count together, each reads and writes in two statements. */
    public function testProcessesExcludeEachOther(): void
    {
        $this->pdo->exec('CREATE TABLE tally (n INTEGER)');
        $this->pdo->exec('INSERT INTO tally VALUES (0)');
        $counting = array_map(fn () => child(function (Leases $leases) {
            for ($i = 0; $i < 5; $i++) {
                $leases->withLease('tally', 1, function () {
                    $pdo = connect();
                    $n = (int) $pdo->query('SELECT n FROM tally')->fetchColumn();
                    $pdo->exec('UPDATE tally SET n = ' . ($n + 1));
                }, ttl: LONG, wait: LONG);
            }
        }), range(1, 3));
        foreach ($counting as [, $heard]) {
            equal("done\n", fgets($heard));
        }
        equal(15, (int) $this->pdo->query('SELECT n FROM tally')->fetchColumn());
    }

    /** Goal: a lease is refused at once without wait, with the holder; who waits is listed, comes in, and is not listed any more. */
    public function testItWaits(): void
    {
        $held = $this->leases->acquire('customer', 'waited for', department: 'CS');
        $refused = thrown(HeldException::class, fn () => $this->leases->acquire('customer', 'waited for'));
        equal([$held->operator, 'CS'], [$refused->answer->holder->operator, $refused->answer->holder->department]);
        [, $heard] = child(fn (Leases $leases) => $leases->acquire('customer', 'waited for', wait: 0.1));
        equal(HeldException::class . "\n", fgets($heard));
        [, $heard] = child(fn (Leases $leases) => $leases->withLease('customer', 'waited for', fn () => null, wait: null));
        $waiting = fn () => $this->locks->read('appl_lock_waiting', ['object_id' => 'waited for']);
        until(fn () => $waiting() !== []);
        $held->release();
        equal("done\n", fgets($heard));
        equal([], $waiting());
        equal(null, $this->locks->inquire('customer', 'waited for'));
    }

    /**
     * Goal: a release wakes who waits, on PostgreSQL, and that of another object does not; elsewhere a wait is over in time. Method:
     * releases, and then a wait that is longer than the test may take.
     */
    public function testAReleaseWakes(): void
    {
        $waiting = new Locks(connect());
        $waiting->connection->listen($waiting->channel);
        foreach (['other', 'woken'] as $id) {
            $this->locks->get('customer', $id, 'JDOE');
            $waiting->announce('customer', $id, 'ASMITH', 'desk');
            $this->locks->release('customer', $id, 'JDOE');
        }
        $end = time() + LONG;
        $waiting->connection->wait(POSTGRES ? 2 * LONG : 0.01, 'customer:woken');
        equal(true, time() < $end);
    }

    /** Goal: the value of the work is what comes out, and the object is free after each way out, also when the object of the lease goes. */
    public function testEveryWayOutReleases(): void
    {
        equal(42, $this->leases->withLease('customer', 'left', fn () => 42));
        equal(null, $this->locks->inquire('customer', 'left'));
        thrown(DomainException::class, fn () => $this->leases->withLease('customer', 'left', fn () => throw new DomainException()));
        equal(null, $this->locks->inquire('customer', 'left'));
        $lease = $this->leases->acquire('customer', 'left');
        $lease->release();
        $lease->release();
        $lease = $this->leases->acquire('customer', 'left');
        equal($lease->operator, $this->locks->inquire('customer', 'left')->operator);
        unset($lease);
        equal(null, $this->locks->inquire('customer', 'left'));
        [$pid] = child(fn (Leases $leases) => $leases->withLease('customer', 'left', fn () => exit(0)));
        pcntl_waitpid($pid, $status);
        equal(null, (new Locks(connect()))->inquire('customer', 'left'));
    }

    /** Goal: a function that locks may call another one that does; another fiber stays out. */
    public function testItIsEnteredAgain(): void
    {
        $this->leases->withLease('customer', 42, function (Lease $outer) {
            equal(true, $this->leases->withLease('customer', '42', fn (Lease $inner) => $inner === $outer));
            equal($outer->fence, $this->locks->inquire('customer', 42)->fence);
            (new Fiber(fn () => thrown(HeldException::class, fn () => $this->leases->withLease('customer', 42, fn () => null))))->start();
            foreach ([LONG, null] as $wait) { // which would wait for itself
                $others = fn () => (new Leases(connect(...)))->withLease('customer', 42, fn () => null, wait: $wait);
                matches('/enter it again/', thrown(InvalidArgumentException::class, $others)->getMessage());
            }
        });
        equal(null, $this->locks->inquire('customer', 42));
    }

    /** Goal: check renews nothing before a third of the ttl has passed. The table of the states has the rest. */
    public function testItIsNotRenewedEarly(): void
    {
        $prepared = 0;
        $count = function ($sql) use (&$prepared) {
            $prepared += (int) str_contains($sql, 'renew');
            return $sql;
        };
        $leases = new Leases(fn () => watched($count));
        $held = $leases->acquire('customer', 'renewed', ttl: LONG);
        $held->check();
        equal(0, $prepared);
    }

    /** Goal: who loses the lock hears of it by a refused renewal, and at the end; whoever has it keeps it. */
    public function testALossIsNoticed(): void
    {
        $held = $this->leases->acquire('customer', 'lost', ttl: LONG);
        $this->locks->take('customer', 'lost', 'JDOE', 'a supervisor', ttl: LONG);
        $held->check();
        thrown(LostException::class, $held->renew(...));
        equal(true, $held->isLost());
        thrown(LostException::class, $held->check(...));
        thrown(LostException::class, $held->release(...));
        equal('JDOE', $this->locks->inquire('customer', 'lost')->operator);
        thrown(LostException::class, fn () => $this->leases->withLease('customer', 'lost at the end', function (Lease $lease) {
            $this->locks->release('customer', 'lost at the end', $lease->operator);
        }, ttl: LONG));
    }

    /** Goal: a lease answers in each state as in all languages. Method: the table of the states, which all languages read. */
    public function testEachStateOfALease(): void
    {
        foreach (file('../../testdata/lease_states.txt') as $line) {
            $row = preg_split('/\s+/', preg_replace('/#.*/', '', $line), -1, PREG_SPLIT_NO_EMPTY);
            equal($row, $row === [] ? [] : [$row[0], ...explode(' ', $this->inState($row[0]))]);
        }
    }

    private function judged(Lease $lease): string
    {
        $signal = $lease->isLost() ? 'fired' : 'quiet';
        try {
            $lease->check();
        } catch (LostException) {
            return "fails $signal";
        }
        return "passes $signal";
    }

    private function inState(string $state): string
    {
        if ($state === 'reentered') {
            return $this->leases->withLease('customer', $state, function (Lease $outer) use ($state) {
                $this->leases->withLease('customer', $state, fn () => null);
                return $this->judged($outer);
            });
        }
        $connections = [connect()];
        $cut = $this->cutter($connections[0]);
        $leases = new Leases(function () use (&$connections, $state) {
            return array_shift($connections) ?? ($state === 'unrenewed' ? throw new PDOException('unreachable') : connect());
        });
        $lease = $leases->acquire('customer', $state, ttl: ['renewed' => 15, 'unrenewed' => 6][$state] ?? LONG);
        if ($state === 'forked') {
            return trim(fgets(child(fn ($_, $say) => fwrite($say, $this->judged($lease) . "\n"))[1]));
        }
        match ($state) {
            'entered' => null,
            'renewed' => until(function () use ($lease, $state) {
                $lease->check();
                $found = $this->locks->inquire('customer', $state);
                return $found->expiresAt > $found->acquiredAt->add(new DateInterval('PT16S'));
            }),
            'released' => $lease->release(),
            'taken' => [$this->locks->take('customer', $state, 'BOSS', 'urgent'), thrown(LostException::class, $lease->renew(...))],
            'unrenewed' => [$cut(), until(fn () => str_starts_with($this->judged($lease), 'fails'))],
        };
        return $this->judged($lease);
    }

    /** Goal: a connection that the server has cut is replaced, to renew and to release. */
    public function testACutConnectionIsReplaced(): void
    {
        $connections = [];
        $leases = new Leases(function () use (&$connections) {
            return $connections[] = connect();
        });
        $held = $leases->acquire('customer', 'cut');
        $this->cutter($connections[0])();
        $held->renew();
        $this->cutter($connections[1])();
        $held->release();
        equal([3, null], [count($connections), $this->locks->inquire('customer', 'cut')]);
    }

    private function cutter(PDO $pdo): Closure
    {
        $id = $pdo->query(POSTGRES ? 'SELECT pg_backend_pid()' : 'SELECT connection_id()')->fetchColumn();
        return fn () => $this->pdo->query(POSTGRES ? "SELECT pg_terminate_backend($id, 60000)" : "KILL $id")->closeCursor();
    }

    /** Goal: the lock of a get whose answer was lost is released. Method: the connection is cut behind the get, as its next result is read. */
    public function testALostAnswerLeavesNothing(): void
    {
        $unlucky = connect(Unlucky::class);
        $connections = [$unlucky];
        $leases = new Leases(function () use (&$connections) {
            return array_shift($connections) ?? connect();
        });
        $unlucky->isUnlucky = true;
        thrown(PDOException::class, fn () => $leases->acquire('customer', 'unanswered', wait: null));
        equal([1, null], [$unlucky->gets, $this->locks->inquire('customer', 'unanswered')]);
    }

    /** Goal: operator and fence are those of the grant, with which the transaction that writes keeps a former holder out. */
    public function testTheFenceProtectsATransaction(): void
    {
        $former = $this->leases->withLease('customer', 'fenced', fn (Lease $lease) => $lease);
        $held = $this->leases->acquire('customer', 'fenced');
        equal(true, $held->fence > $former->fence);
        $this->inTransaction(fn () => $this->locks->assert('customer', 'fenced', $held->operator, $held->fence));
        $this->inTransaction(fn () => thrown(
            LostException::class, fn () => $this->locks->assert('customer', 'fenced', $former->operator, $former->fence),
        ));
    }

    /** Goal: what cannot be meant is refused at once, and not waited for. */
    public function testAMistakeIsAnError(): void
    {
        thrown(InvalidArgumentException::class, fn () => $this->leases->acquire('customer', 42, ttl: 0));
        thrown(InvalidArgumentException::class, fn () => $this->leases->acquire('', 42, wait: null));
        $inOne = new Leases(function () {
            $pdo = connect();
            $pdo->beginTransaction();
            return $pdo;
        });
        matches('/autocommit/', thrown(InvalidArgumentException::class, fn () => $inOne->acquire('customer', 42))->getMessage());
    }

    /** Goal: the object of a process that was killed is free after the ttl, and the next fence is greater. Method: SIGKILL. */
    public function testACrashIsOvertaken(): void
    {
        [$pid, $heard] = child(function (Leases $leases, $say) {
            $lease = $leases->acquire('customer', 'crashed', ttl: 3);
            fwrite($say, "$lease->fence\n");
            sleep(LONG);
        });
        $fence = (int) fgets($heard);
        thrown(HeldException::class, fn () => $this->leases->acquire('customer', 'crashed'));
        posix_kill($pid, SIGKILL);
        equal(true, $this->leases->acquire('customer', 'crashed', wait: LONG)->fence > $fence);
    }

    /** Goal: who was paused for longer than the ttl knows when it goes on. Method: SIGSTOP, until somebody else has had the lock. */
    public function testAPauseIsALoss(): void
    {
        [$pid, $talk] = child(fn (Leases $leases, $talk) => $leases->withLease('customer', 'paused', function (Lease $lease) use ($talk) {
            fwrite($talk, "in\n");
            fgets($talk);
            $lease->check();
            fwrite($talk, "goes on\n");
        }, ttl: 2));
        equal("in\n", fgets($talk));
        posix_kill($pid, SIGSTOP);
        $this->leases->withLease('customer', 'paused', fn () => fwrite($talk, "go on\n"), wait: LONG);
        posix_kill($pid, SIGCONT);
        equal(LostException::class . "\n", fgets($talk));
    }

    /**
     * Goal: only the process that entered renews and releases. Method: children that release, let the lease go, lock by themselves, and
     * exit, at which PDO closes the connections that it has inherited.
     */
    public function testAForkLeavesTheLockAlone(): void
    {
        $this->leases->withLease('customer', 'forked', function (Lease $held) {
            $own = fn () => $this->leases->withLease('customer', 'forked', fn () => null);
            $ways = [[LostException::class, $held->release(...)], ['done', $held->abandon(...)], [HeldException::class, $own], ['', fn () => exit(0)]];
            foreach ($ways as [$told, $way]) {
                [$pid, $heard] = child($way);
                pcntl_waitpid($pid, $status);
                equal($told, trim((string) fgets($heard)));
                equal($held->fence, (new Locks(connect()))->inquire('customer', 'forked')->fence);
            }
            $held->check();
        });
        equal(null, (new Locks(connect()))->inquire('customer', 'forked'));
    }

    /**
     * Goal: where the server has autocommit off, of which PDO says nothing, a call that is no part of a transaction is committed. A
     * transaction of the caller's is left alone. Method: what another connection sees, with and without emulated prepares.
     */
    public function testWithoutAutocommitACallIsCommitted(): void
    {
        if (POSTGRES) {
            return; // it has none
        }
        $this->pdo->exec('CREATE TABLE orders (n INTEGER) ENGINE = InnoDB');
        $operator = fn () => $this->locks->inquire('customer', 'no autocommit')?->operator;
        foreach ([true, false] as $emulates) {
            $connect = fn () => connect(PDO::class, [PDO::MYSQL_ATTR_INIT_COMMAND => 'SET autocommit = 0', PDO::ATTR_EMULATE_PREPARES => $emulates]);
            $locks = new Locks($pdo = $connect());
            $wrong = fn () => thrown(InvalidArgumentException::class, fn () => $locks->get('', 'no autocommit', 'JDOE'));
            equal(true, $locks->get('customer', 'no autocommit', 'JDOE')->granted);
            equal('JDOE', $operator());
            $wrong();
            $this->locks->release('customer', 'no autocommit', 'JDOE');
            equal([null, 0], [$locks->inquire('customer', 'no autocommit'), $locks->purge(olderThan: LONG)]);
            $pdo->exec('INSERT INTO orders VALUES (1)');
            $locks->get('customer', 'no autocommit', 'JDOE');
            $wrong();
            equal(null, $operator());
            $pdo->exec('ROLLBACK');
            (new Leases($connect))->withLease('customer', 'no autocommit', fn (Lease $held) => equal($held->operator, $operator()));
            equal([null, 0], [$operator(), (int) $this->pdo->query('SELECT count(*) FROM orders')->fetchColumn()]);
        }
    }

    /** Goal: an end in an hour that a zone skips or repeats is the same moment everywhere. Method: ends in both nights, in Amsterdam. */
    public function testAnEndIsRightWhereClocksChange(): void
    {
        [$zone, $year] = [date_default_timezone_get(), date('Y') + 1];
        date_default_timezone_set('Europe/Amsterdam');
        $this->pdo->exec(POSTGRES ? "SET timezone = 'Europe/Amsterdam'" : "SET time_zone = '+02:00'");
        foreach (['March', 'October'] as $month) {
            foreach (range(0, 3) as $hour) {
                $end = new DateTimeImmutable("last Sunday of $month $year $hour:30 UTC");
                $lock = $this->locks->get('clocks', "$month $hour", 'JDOE', ttl: $end->getTimestamp() - time());
                equal(true, abs($lock->expiresAt->getTimestamp() - $end->getTimestamp()) < 1800);
                equal($lock->expiresAt, $this->locks->inquire('clocks', "$month $hour")->expiresAt);
            }
        }
        date_default_timezone_set($zone);
    }

    /** Goal: symfony/lock excludes, expires, renews and releases on this store. Method: two locks of its factory on one resource. */
    public function testSymfonyLock(): void
    {
        $factory = new LockFactory(new SymfonyStore($this->locks, 'job'));
        foreach (['invoices', str_repeat('long ', 100)] as $resource) {
            [$mine, $theirs] = [$factory->createLock($resource, ttl: 40), $factory->createLock($resource, ttl: 40)];
            equal([true, false, true, false], [$mine->acquire(), $theirs->acquire(), $mine->isAcquired(), $theirs->isAcquired()]);
            equal(false, $factory->createLock($resource, ttl: null)->acquire()); // which saves, and sets no ttl
            $mine->release();
            equal([false, true], [$mine->isAcquired(), $theirs->acquire()]);
            $theirs->refresh(20);
            unset($theirs);
            equal(true, $factory->createLock($resource)->acquire());
        }
        $lock = $factory->createLock('short', ttl: 20);
        $lock->acquire();
        equal(20, $this->locks->inquire('job', 'short')->secondsLeft);
        $this->locks->take('job', 'short', 'JDOE', 'a supervisor');
        thrown(LockConflictedException::class, fn () => $lock->refresh());
        $this->locks->release('job', 'short', 'JDOE');
        thrown(LockConflictedException::class, fn () => $lock->refresh()); // free, but it was lost
        equal(null, $this->locks->inquire('job', 'short'));
    }
}

$failed = 0;
$names = preg_grep('/' . ($argv[2] ?? '.') . '/', array_filter(get_class_methods(Tests::class), fn ($name) => str_starts_with($name, 'test')));
foreach ($names as $name) {
    try {
        (new Tests())->$name();
    } catch (Throwable $error) {
        $failed++;
        echo "$name: $error\n";
    }
}
echo count($names) - $failed, " passed, $failed failed\n";
exit($failed === 0 ? 0 : 1);
