# Plays the scenarios for clients/player_test.go through the installed Applock: player.pl DRIVER

use strict;
use warnings;
use Applock;
use DBI;
use Scalar::Util qw(blessed);

binmode STDIN,  ':encoding(UTF-8)';
binmode STDOUT, ':encoding(UTF-8)';
$| = 1;

my $driver = $ARGV[0];
my $dbh    = connection();
my $locks  = Applock->new($dbh);

# The columns of each answer, in order: a hash has none.
my @lock    = qw(object_type object_id operator_id department_id);
my @changed = qw(granted object_type object_id outcome old_operator_id old_department_id fence expires_ts seconds_left);
my %columns = (
    versions               => [qw(language driver)],
    get_appl_lock          => [qw(granted ok_fl outcome old_operator_id old_department_id fence expires_ts seconds_left note)],
    get_appl_lock_permit   => [qw(granted outcome slot_id operator_id department_id fence expires_ts seconds_left note)],
    release_appl_lock      => [qw(granted ok_fl outcome old_operator_id old_department_id)],
    inquire_appl_lock      => [qw(ok_fl operator_id department_id fence acquired_ts lock_ts expires_ts seconds_left note)],
    transfer_appl_lock     => [qw(granted ok_fl outcome old_operator_id old_department_id fence expires_ts seconds_left)],
    take_appl_lock         => [qw(granted ok_fl outcome old_operator_id old_department_id fence expires_ts seconds_left)],
    note_appl_lock         => [qw(granted ok_fl outcome old_operator_id old_department_id)],
    purge_appl_locks       => [qw(purged)],
    purge_appl_lock_history => [qw(purged)],
    transfer_appl_locks    => [@changed],
    release_appl_locks     => [@changed],
    renew_appl_locks       => [qw(granted object_type object_id outcome old_operator_id old_department_id expires_ts seconds_left)],
    poll_appl_locks        => [qw(object_type object_id free_in_us)],
    set_appl_lock_policy    => [qw(granted ok_fl outcome)],
    drop_appl_lock_policy   => [qw(granted ok_fl outcome)],
    ask_appl_lock    => [qw(granted ok_fl outcome old_operator_id old_department_id fence expires_ts seconds_left)],
    answer_appl_lock => [qw(granted ok_fl outcome old_operator_id old_department_id expires_ts seconds_left)],
    see_appl_lock    => [qw(kind operator_id department_id client_id state since_ts seconds_left message)],
    inbox_appl_locks =>
        [qw(kind event_id object_type object_id other_operator_id other_department_id event_ts seconds_left reason safe_event_id message client_id fence)],
    appl_lock_live    => [@lock, qw(fence acquired_ts lock_ts expires_ts seconds_left ttl_seconds note)],
    appl_lock_waiting => [@lock, qw(client_id since_ts until_ts waited_seconds holder_id holder_department_id seconds_left)],
    appl_lock_asking  =>
        [@lock, qw(client_id message since_ts until_ts waited_seconds answer answer_reason holder_id holder_department_id seconds_left)],
    appl_lock_viewers => [@lock, qw(client_id state since_ts seconds_left)],
    appl_lock_history => [qw(event_id event_ts object_type object_id event actor_id db_user program from_operator_id
        from_department_id to_operator_id to_department_id from_fence to_fence reason)],
    appl_lock_policies => [qw(object_type default_ttl_seconds longest_ttl_seconds take_reason_fl history_level presence_fl yield_after_seconds)],
    appl_lock_stats => [qw(object_type department_id live expired oldest_seconds next_expiry_seconds waiters longest_wait_seconds)],
);

my %play = (
    versions           => \&versions,
    increment          => \&increment,
    get_appl_lock      => sub { $locks->get(@_[ 0 .. 2 ], named([qw(department ttl new)], @_[ 3 .. 5 ])) },
    get_appl_lock_permit => sub { permits($locks->permit(@_[ 0 .. 3 ], department => $_[4], ttl => $_[5])) },
    release_appl_lock  => sub { $locks->release(@_[ 0 .. 2 ], fence => $_[3], actor => $_[4], reason => $_[5]) },
    inquire_appl_lock  => sub { $locks->inquire(@_) },
    transfer_appl_lock => sub { $locks->transfer(@_[ 0 .. 3 ], named([qw(department ttl actor reason)], @_[ 4 .. 7 ])) },
    take_appl_lock     => sub { $locks->take(@_[ 0 .. 2, 4 ], named([qw(department expected_fence ttl)], @_[ 3, 5, 6 ])) },
    note_appl_lock     => sub { $locks->note(@_[ 0 .. 2, 4 ], fence => $_[3]) },
    purge_appl_locks   => sub { { purged => $locks->purge(named([qw(older_than max_rows)], @_)) } },
    purge_appl_lock_history => sub { { purged => $locks->purge_history(named([qw(older_than max_rows)], @_)) } },
    assert_appl_lock   => sub { inside(assert => @_) },
    serialize_appl_lock => sub { inside(serialize => @_) },
    transfer_appl_locks => sub {
        my ($from, $type, $to, @more) = @_;
        $locks->transfer_all(
            $from, $to, type => $type,
            named([qw(department ttl actor reason after_type after_id max_rows dry_run)], @more),
        );
    },
    release_appl_locks => sub {
        my ($operator, @more) = @_;
        $locks->release_all($operator, named([qw(type actor reason after_type after_id max_rows dry_run)], @more));
    },
    renew_appl_locks          => sub { $locks->renew(grants(@_)) },
    announce_appl_lock_waiter => sub { $locks->announce(@_[ 0 .. 2, 4 ], department => $_[3], wait => $_[5]) },
    retract_appl_lock_waiter  => sub { $locks->retract(@_) },
    poll_appl_locks           => sub { $locks->poll($_[0], max_rows => $_[1]) },
    inbox_appl_locks          => sub { $locks->inbox($_[0], named([qw(after_event_id max_rows)], @_[ 1, 2 ])) },
    ask_appl_lock    => sub { $locks->ask(@_[ 0 .. 2, 4 ], named([qw(department message wait)], @_[ 3, 5, 6 ])) },
    answer_appl_lock => sub { $locks->answer(@_[ 0 .. 4, 6 ], client => $_[5], reason => $_[7]) },
    see_appl_lock    => sub { $locks->see(@_[ 0 .. 2, 4, 5 ], department => $_[3], ttl => $_[6]) },
    set_appl_lock_policy => sub {
        $locks->set_policy($_[0], named([qw(default_ttl longest_ttl take_reason actor reason history presence yield_after)], @_[ 1 .. 8 ]));
    },
    drop_appl_lock_policy   => sub { $locks->drop_policy($_[0], actor => $_[1], reason => $_[2]) },
);

while (my $line = <STDIN>) {
    chomp $line;
    my ($operation, @arguments) = map { decode($_) } split /\t/, $line, -1;
    my @rows = eval { $play{$operation} ? $play{$operation}->(@arguments) : view($operation, @arguments) };
    if (my $error = $@) {
        die $error if !blessed $error || !$error->sqlstate;
        # What the library refuses itself it names as its caller did.
        say('error', $error->sqlstate, $error->message =~ s/^\w+: (new|dry_run|take_reason|presence) must/$operation: p_$1_fl must/r);
        next;
    }
    say('row', @{ columns($_) }{ @{ $columns{$operation} } }) for @rows;
    say('end');
}

sub connection {
    my %options = (RaiseError => 1, PrintError => 0);
    return DBI->connect('dbi:Pg:', undef, undef, \%options) if $driver eq 'DBD::Pg';
    my ($name) = $driver =~ /(\w+)$/;
    $options{mysql_enable_utf8mb4} = 1 if $name eq 'mysql';
    return DBI->connect("dbi:$name:host=$ENV{MYSQL_HOST};port=$ENV{MYSQL_TCP_PORT};database=$ENV{MYSQL_DATABASE}",
        $ENV{MYSQL_USER}, $ENV{MYSQL_PWD}, \%options);
}

sub encode {
    my ($value) = @_;
    return '\N' if !defined $value;
    my %escapes = ("\\" => '\\\\', "\t" => '\t', "\n" => '\n', "\r" => '\r');
    return $value =~ s/([\\\t\n\r])/$escapes{$1}/gr;
}

sub decode {
    my ($field) = @_;
    return undef if $field eq '\N';
    my %unescapes = ('\\' => '\\', t => "\t", n => "\n", r => "\r");
    return $field =~ s/\\([\\tnr])/$unescapes{$1}/gr;
}

# The columns of the contract, of an answer.
sub columns {
    my ($answer) = @_;
    my %row = %{ $answer // { operator => '', department => '', fence => 0, seconds_left => 0, note => '', is_free => 1 } };
    $row{ok_fl} = $row{granted} // !$row{is_free} ? 'Y' : 'N';
    $row{granted} = $row{granted} ? 'true' : 'false' if exists $row{granted};
    my $other = $row{holder} // $row{former} // { operator => '', department => '' };
    @row{qw(old_operator_id old_department_id)} = @$other{qw(operator department)};
    my %names = (operator => 'operator_id', department => 'department_id', locked_at => 'lock_ts');
    $row{ $names{$_} // s/_at\z/_ts/r } //= $row{$_} for keys %row;
    return \%row;
}

# One row, or one for each holder.
sub permits {
    my ($answer) = @_;
    my %answer = %$answer;
    my @holders = @{ delete $answer{holders} };
    return @holders ? map { { %answer, %$_ } } @holders : \%answer;
}

# In a transaction of its own.
sub inside {
    my ($method, @arguments) = @_;
    $dbh->begin_work;
    my $done = eval { $locks->$method(@arguments); 1 };
    my $error = $@;
    $done ? $dbh->commit : $dbh->rollback;
    die $error if !$done;
    return;
}

sub say { print join("\t", map { encode($_) } @_), "\n" }

sub named {
    my ($names, @values) = @_;
    my %named;
    @named{@$names} = @values;
    for my $flag (grep { defined $named{$_} } qw(new dry_run take_reason presence)) {
        # An empty text is false to Perl, and to the procedures only here and there. What is no flag stays none.
        my %flags = (Y => 1, N => 0, $flag =~ /^(take_reason|presence)\z/ ? () : ('' => 0));
        $named{$flag} = $flags{ $named{$flag} =~ s/ +\z//r } // "'$named{$flag}'";
    }
    return %named;
}

# A view, with names and values in turn.
sub view {
    my ($view, %of) = @_;
    my %after = map { s/^after_//r => delete $of{$_} } grep { /^after_/ } keys %of;
    return $locks->read($view, %of, after => %after ? \%after : undef);
}

sub grants {
    my @grants;
    while (my @fields = splice @_, 0, 5) {
        push @grants, { named([qw(object_type object_id operator fence ttl)], @fields) };
    }
    return @grants;
}

sub versions {
    no strict 'refs';
    return { language => sprintf('Perl %vd', $^V), driver => "$driver " . ${"${driver}::VERSION"} };
}

# The counter, between whose read and write the runner decides how long it takes.
sub increment {
    my ($operator) = @_;
    if (defined $operator) {
        select undef, undef, undef, 0.01 until $locks->get('counter', 1, $operator, ttl => 60);
    }
    my ($n) = $dbh->selectrow_array('SELECT n FROM counter');
    say('read', $n);
    <STDIN>;
    $dbh->do('UPDATE counter SET n = ' . ($n + 1));
    $locks->release('counter', 1, $operator) if defined $operator;
    return;
}
