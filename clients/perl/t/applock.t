use strict;
use warnings;
use Test::More;
use Applock;

# A driver of DBI's own, without a database.
my $dbh   = DBI->connect('dbi:NullP:', '', '', { RaiseError => 1 });
my $locks = Applock->new($dbh, dialect => 'postgres');

sub refused {
    my ($code, $like) = @_;
    eval { $code->(); 1 } and return fail "not refused: $like";
    isa_ok $@, 'Applock::InvalidArgument';
    like $@, qr/^LK001 \Q$like\E.* at \S*applock\.t line \d+/s;
}

refused sub { $locks->get('customer', 42, 'JDOE', ttlSeconds => 60) }, 'get: there is no argument ttlSeconds; the names are department ttl new';
refused sub { $locks->get('customer', 42, 'JDOE', 60) },               'get: an argument has no name';
refused sub { $locks->get('customer', 42, 'JDOE', ttl => 60.5) },      'get: ttl must be a whole number, not 60.5';
refused sub { $locks->get('customer', 42, 'JDOE', new => 'N') },       'get: new must be 1 or 0, not N';
refused sub { $locks->get('customer', {}, 'JDOE') },                   'get_appl_lock_row: a reference is no value';
refused sub { $locks->assert('customer', 42, 'JDOE', 7) },             'assert: it would end at once: begin_work first';
refused sub { $locks->serialize('customer', 42) },                     'serialize: it would end at once: begin_work first';
refused sub { $locks->permit('customer', 42, 'two', 'JDOE') },         'permit: permits must be a whole number';
refused sub { $locks->renew({ object_type => 'customer', fense => 7 }) }, 'renew: there is no argument fense';
refused sub { $locks->read('appl_locks_live') },                       'read: there is no view appl_locks_live';
refused sub { $locks->read('appl_lock_live', max_rows => 'all') },     'read: max_rows must be a whole number';
refused sub { $locks->read('appl_lock_live', after => { object_type => 'a' }) }, 'read: the row after which the page begins has no object_id';
refused sub { Applock->new($dbh) },                      'new: dialect must be postgres or mysql: DBD::NullP does not tell';
refused sub { Applock->new($dbh, dialect => 'oracle') }, 'new: dialect must be postgres or mysql';
refused sub { Applock->new('dbi:Pg:') },                 'new: this is no handle of a DBI connection';

my %row = (ok_fl => 'N', outcome => 'HELD', old_operator_id => 'JDOE', old_department_id => 'CS', expires_ts => undef);
my $held = Applock::_answer('get_appl_lock', {%row});
ok !$held, 'a refusal is false';
is "$held", 'HELD';
is $held->{holder}{operator}, 'JDOE';
ok !defined eval { $held->{grnted} }, 'a misspelt key dies';
ok !eval { $held->{granted} = 1; 1 }, 'an answer is not changed';
ok !Applock::_answer('renew_appl_locks', { outcome => 'HELD' }), 'so it is without a flag';
ok !eval { Applock::_answer('get_appl_lock', { %row, outcome => 'QUEUED' }); 1 }, 'an unknown outcome is none';
like $@, qr/^get_appl_lock: the outcome QUEUED is new: the database needs a newer Applock/;

my $taken = Applock::_answer('take_appl_lock', { %row, ok_fl => 'Y', outcome => 'TAKEN' });
ok $taken && !$taken->{holder} && $taken->{former}{operator} eq 'JDOE', 'who has lost it does not hold it';

is Applock::_utc('2026-11-22T07:41:07.123456-05:00'), '2026-11-22T12:41:07.123456Z';
is Applock::_utc('2026-11-22 12:41:07'), '2026-11-22T12:41:07Z';

{
    no warnings 'redefine';
    local *Applock::_rows = sub { return { appl_lock_version => 0 } };
    ok !eval { $locks->inquire('customer', 42); 1 }, 'the contract in the database is too old';
    is ref $@, 'Applock::Error';
    like $@, qr/^the database has contract 0, and Applock needs 1: applockctl migrate up at \S*applock\.t line \d+/;
}

done_testing;
