# What a connection of the caller's must not change, for clients/perl_test.go: test_connection.pl DRIVER

use strict;
use warnings;
use utf8;
use Applock;
use DBI;
use JSON::PP ();
use Test::More;
use Time::Local qw(timegm);

my $driver = $ARGV[0];
my %handled = (count => 0);
my %hostile = (
    AutoCommit       => 1,
    FetchHashKeyName => 'NAME_uc',
    HandleError      => sub { ++$handled{count} },    # true: no exception
    PrintError       => 0,
    RaiseError       => 0,
);

sub connection {
    my (%more) = @_;
    return DBI->connect('dbi:Pg:', undef, undef, { %hostile, %more }) if $driver eq 'DBD::Pg';
    my ($name) = $driver =~ /(\w+)$/;
    my $source = "dbi:$name:host=$ENV{MYSQL_HOST};port=$ENV{MYSQL_TCP_PORT};database=$ENV{MYSQL_DATABASE}";
    $more{mysql_enable_utf8mb4} //= 1 if $name eq 'mysql';
    return DBI->connect($source, $ENV{MYSQL_USER}, $ENV{MYSQL_PWD}, { %hostile, %more });
}

my %attributes = (
    'DBD::Pg'      => [ { pg_enable_utf8 => 0, pg_placeholder_dollaronly => 1, pg_server_prepare => 0, pg_bool_tf => 1 } ],
    'DBD::mysql'   => [ { mysql_server_prepare => 1, mysql_bind_type_guessing => 1, mysql_use_result => 1 } ],
    'DBD::MariaDB' => [ { mariadb_server_prepare => 1, mariadb_use_result => 1 }, { mariadb_bind_type_guessing => 1 } ],
);
test($_) for @{ $attributes{$driver} };
done_testing;

sub test {
    my ($attributes) = @_;
    $handled{count} = 0;
    my $dbh = connection();
    $dbh->{$_} = $attributes->{$_} for keys %$attributes;
    $dbh->do($_) for $driver eq 'DBD::Pg'
        ? ("SET datestyle = 'German, DMY'", "SET TimeZone = 'Asia/Kolkata'")
        : ("SET sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'", "SET time_zone = '+05:30'");
    my $locks = Applock->new($dbh);

    for my $id ('007', '1e3', 'é', "it's \\ ? \$1 :x") {
        my $lock = $locks->get('customer', $id, 'JDOE', department => 'CS', ttl => 3600);
        ok $lock && $lock->{granted} && "$lock" eq 'ACQUIRED', 'it is got';
        like $lock->{expires_at}, qr/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/;
        my ($year, $month, @rest) = $lock->{expires_at} =~ /(\d+)/g;
        cmp_ok abs(timegm(@rest[ 3, 2, 1, 0 ], $month - 1, $year) - time - 3600), '<', 1800, 'the time is UTC';
        like(JSON::PP->new->canonical->encode({%$lock}), qr/"fence":\d{16},.*"seconds_left":3600/, 'numbers are numbers');
        my $held = Applock->new(connection())->get('customer', $id, 'ASMITH');
        ok !$held && "$held" eq 'HELD' && $held->{holder}{operator} eq 'JDOE', 'another connection finds it under the same name';
        my ($row) = $locks->read('appl_lock_live', object_id => $id);
        ok $row->{object_id} eq $id, 'the view has it under that name';
        is $row->{fence}, $lock->{fence};
        my ($renewed) = $locks->renew({ object_type => 'customer', object_id => $id, operator => 'JDOE', fence => 1, ttl => 60 });
        ok !$renewed && $renewed->{object_id} eq $id, 'a renewal of another grant is refused';
        ok !$locks->inquire('customer', "$id."), 'what is free is undef';
        is $locks->inquire('customer', $id)->{expires_at}, $lock->{expires_at};
        ok $locks->release('customer', $id, 'JDOE', fence => $lock->{fence});
    }

    ok !eval { $locks->get('', 42, 'JDOE'); 1 };
    isa_ok $@, 'Applock::InvalidArgument';
    is $handled{count}, 0, 'an error of the library is not that of the handler';
    $dbh->begin_work;
    ok !eval { $locks->assert('customer', '007', 'JDOE', 1); 1 };
    isa_ok $@, 'Applock::Lost';
    $dbh->rollback;
    ok !eval { $locks->assert('customer', '007', 'JDOE', 1); 1 } && $@->message =~ /begin_work/, 'outside of a transaction';
    ok !eval { $locks->serialize('customer', '007'); 1 } && $@->message =~ /begin_work/;

    my $manual = connection(AutoCommit => 0);
    Applock->new($manual)->serialize('customer', '007');
    ok !eval { Applock->new($manual, schema => 'nowhere')->inquire('customer', 42); 1 };
    ok !ref $@ && $@ =~ /nowhere/, 'what the driver raises passes';
    is $handled{count}, 1, 'through the handler';
    $manual->rollback;

    my %set = (%hostile, %$attributes);
    is $dbh->{$_} || 0, $set{$_}, "$_ is as it was" for sort keys %set;

    my $foreign = connection();
    $foreign->do($driver eq 'DBD::Pg' ? q{SET client_encoding = 'LATIN1'} : 'SET NAMES latin1');
    ok !eval { Applock->new($foreign)->inquire('customer', 42); 1 };
    like $@, qr/^LK001 names would be garbled: the connection's character set is latin1/i;
}
