package Applock;

use 5.014;
use strict;
use warnings;
use DBI          ();
use Hash::Util   ();
use JSON::PP     ();
use overload     ();
use POSIX        ();
use Scalar::Util ();
use Time::Local  ();

our $VERSION = '0.1.0';

# The oldest contract that the database may have.
my $contract = 1;

# Whether the caller got what it asked for, by operation and outcome.
my %granted = (
    # outcomes: made by `make generate`
    get_appl_lock => { ACQUIRED => 1, RENEWED => 1, HELD => 0 },
    get_appl_lock_permit => { ACQUIRED => 1, RENEWED => 1, FULL => 0 },
    release_appl_lock => { RELEASED => 1, FREE => 1, HELD => 0 },
    release_appl_locks => { RELEASED => 1, BUSY => 0, HELD => 0, FREE => 0, WOULD_RELEASE => 0 },
    transfer_appl_lock => { TRANSFERRED => 1, HELD => 0, FREE => 0 },
    take_appl_lock => { TAKEN => 1, HELD => 0, FREE => 0 },
    transfer_appl_locks => { TRANSFERRED => 1, BUSY => 0, HELD => 0, FREE => 0, WOULD_TRANSFER => 0 },
    note_appl_lock => { NOTED => 1, FREE => 0, HELD => 0 },
    renew_appl_locks => { RENEWED => 1, HELD => 0, FREE => 0 },
    set_appl_lock_policy => { SET => 1 },
    drop_appl_lock_policy => { DROPPED => 1, NONE => 0 },
    ask_appl_lock => { ASKED => 1, GIVEN => 1, WITHDRAWN => 1, FREE => 0, OWN => 0 },
    answer_appl_lock => { GIVEN => 1, TOLD => 1, HELD => 0, FREE => 0, GONE => 0 },
    # outcomes: end
);

# The views, and the columns that identify a row.
my %keys = (
    appl_lock_live     => [qw(object_type object_id)],
    appl_lock_waiting  => [qw(object_type object_id operator_id client_id)],
    appl_lock_asking   => [qw(object_type object_id operator_id client_id)],
    appl_lock_viewers  => [qw(object_type object_id operator_id client_id)],
    appl_lock_history  => [qw(event_id)],
    appl_lock_policies => [qw(object_type)],
    appl_lock_stats    => [qw(object_type department_id)],
);

# The outcomes whose other operator is the former holder, and the operations that have such outcomes.
my %changed_hands = map { $_ => 1 } qw(TAKEN GIVEN);
my %tells_former  = map { $_ => 1 } qw(take_appl_lock ask_appl_lock);

my %dialects = (Pg => 'postgres', mysql => 'mysql', MariaDB => 'mysql');

my %is_flag   = map { $_ => 1 } qw(new dry_run take_reason presence);
my %is_number = map { $_ => 1 }
    qw(ttl fence expected_fence permits older_than wait after_event_id max_rows since_seconds default_ttl longest_ttl yield_after);

sub new {
    my ($class, $dbh, @more) = @_;
    my ($dialect, $schema) = _named('new', \@more, qw(dialect schema));
    _refuse('new: this is no handle of a DBI connection') if !Scalar::Util::blessed($dbh) || !$dbh->isa('DBI::db');
    $dialect //= $dialects{ $dbh->{Driver}{Name} } // '';
    _refuse("new: dialect must be postgres or mysql: DBD::$dbh->{Driver}{Name} does not tell") if $dialect !~ /^(postgres|mysql)\z/;
    my $postgres = $dialect eq 'postgres';
    # On MySQL and MariaDB a schema is a database, and the connection's own one needs no name.
    $schema //= $postgres ? 'applock' : '';
    return bless { dbh => $dbh, postgres => $postgres, prefix => $schema eq '' ? '' : "$schema." }, $class;
}

sub get {
    my ($self, $type, $id, $operator, @more) = @_;
    return $self->_one('get_appl_lock_row', $type, $id, $operator, _named('get', \@more, qw(department ttl new)));
}

sub permit {
    my ($self, $type, $id, $permits, $operator, @more) = @_;
    my @values = ($type, $id, _checked('permit', 'permits', $permits), $operator, _named('permit', \@more, qw(department ttl)));
    my @rows   = $self->_call('get_appl_lock_permit', @values);
    my $outcome = $rows[0]{outcome};
    my $granted = _granted('get_appl_lock_permit', $outcome);
    my @slots   = map { _lock($_, qw(slot_id seconds_left note)) } @rows;
    my %answer  = (granted => $granted, outcome => $outcome, holders => $granted ? [] : \@slots);
    @answer{ keys %{ $slots[0] } } = $granted ? values %{ $slots[0] } : ();
    return _locked(\%answer, 'Applock::Answer');
}

sub release {
    my ($self, $type, $id, $operator, @more) = @_;
    return $self->_one('release_appl_lock_row', $type, $id, $operator, _named('release', \@more, qw(fence actor reason)));
}

sub inquire {
    my ($self, $type, $id) = @_;
    my ($row) = $self->_call('inquire_appl_lock_row', $type, $id);
    return $row->{ok_fl} eq 'Y' ? _lock($row, qw(acquired_ts lock_ts seconds_left note)) : undef;
}

sub transfer {
    my ($self, $type, $id, $from, $to, @more) = @_;
    return $self->_one('transfer_appl_lock_row', $type, $id, $from, $to, _named('transfer', \@more, qw(department ttl actor reason)));
}

sub take {
    my ($self, $type, $id, $operator, $reason, @more) = @_;
    my ($department, @rest) = _named('take', \@more, qw(department expected_fence ttl));
    return $self->_one('take_appl_lock_row', $type, $id, $operator, $department, $reason, @rest);
}

sub transfer_all {
    my ($self, $from, $to, @more) = @_;
    my ($type, @rest) =
        _named('transfer_all', \@more, qw(type department ttl actor reason after_type after_id max_rows dry_run));
    return $self->_answers('transfer_appl_locks', $from, $type, $to, @rest);
}

sub release_all {
    my ($self, $operator, @more) = @_;
    my @values = _named('release_all', \@more, qw(type actor reason after_type after_id max_rows dry_run));
    return $self->_answers('release_appl_locks', $operator, @values);
}

sub note {
    my ($self, $type, $id, $operator, $note, @more) = @_;
    return $self->_one('note_appl_lock_row', $type, $id, $operator, _named('note', \@more, 'fence'), $note);
}

sub purge {
    my ($self, @more) = @_;
    my ($row) = $self->_call('purge_appl_locks_row', _named('purge', \@more, qw(older_than max_rows)));
    return $row->{purged};
}

sub purge_history {
    my ($self, @more) = @_;
    my ($row) = $self->_call('purge_appl_lock_history_row', _named('purge_history', \@more, qw(older_than max_rows)));
    return $row->{purged};
}

sub assert {
    my ($self, $type, $id, $operator, $fence) = @_;
    $self->_needs_transaction('assert');
    $self->_call('assert_appl_lock_row', $type, $id, $operator, _checked('assert', 'fence', $fence));
    return;
}

sub serialize {
    my ($self, $type, $id) = @_;
    $self->_needs_transaction('serialize');
    $self->_call('serialize_appl_lock_row', $type, $id);
    return;
}

sub renew {
    my ($self, @grants) = @_;
    my @documents;
    for my $grant (@grants) {
        my %document;
        @document{qw(object_type object_id operator_id fence ttl_seconds)} =
            _named('renew', [%$grant], qw(object_type object_id operator fence ttl));
        defined && ($_ += 0) for @document{qw(fence ttl_seconds)};    # JSON::PP writes text in quotes
        push @documents, \%document;
    }
    return $self->_answers('renew_appl_locks', JSON::PP->new->ascii->encode(\@documents));
}

sub announce {
    my ($self, $type, $id, $operator, $client, @more) = @_;
    my ($department, $wait) = _named('announce', \@more, qw(department wait));
    $self->_call('announce_appl_lock_waiter_row', $type, $id, $operator, $department, $client, $wait);
    return;
}

sub retract {
    my ($self, $type, $id, $operator, $client) = @_;
    $self->_call('retract_appl_lock_waiter_row', $type, $id, $operator, $client);
    return;
}

sub poll {
    my ($self, $client, @more) = @_;
    return map { _locked($_) } $self->_call('poll_appl_locks', $client, _named('poll', \@more, 'max_rows'));
}

sub set_policy {
    my ($self, $type, @more) = @_;
    my @values = _named('set_policy', \@more, qw(default_ttl longest_ttl take_reason actor reason history presence yield_after));
    return $self->_one('set_appl_lock_policy_row', $type, @values);
}

sub drop_policy {
    my ($self, $type, @more) = @_;
    return $self->_one('drop_appl_lock_policy_row', $type, _named('drop_policy', \@more, qw(actor reason)));
}

sub ask {
    my ($self, $type, $id, $operator, $client, @more) = @_;
    my ($department, @rest) = _named('ask', \@more, qw(department message wait));
    return $self->_one('ask_appl_lock_row', $type, $id, $operator, $department, $client, @rest);
}

sub answer {
    my ($self, $type, $id, $operator, $fence, $asker, $answer, @more) = @_;
    my ($client, $reason) = _named('answer', \@more, qw(client reason));
    $fence = _checked('answer', 'fence', $fence);
    return $self->_one('answer_appl_lock_row', $type, $id, $operator, $fence, $asker, $client, $answer, $reason);
}

sub see {
    my ($self, $type, $id, $operator, $client, $state, @more) = @_;
    my ($department, $ttl) = _named('see', \@more, qw(department ttl));
    return map { _locked($_) } $self->_call('see_appl_lock', $type, $id, $operator, $department, $client, $state, $ttl);
}

sub inbox {
    my ($self, $operator, @more) = @_;
    return map { _locked($_) } $self->_call('inbox_appl_locks', $operator, _named('inbox', \@more, qw(after_event_id max_rows)));
}

sub read {
    my ($self, $view, %of) = @_;
    my $key = $keys{$view} // _refuse("read: there is no view $view; the views are " . join ', ', sort keys %keys);
    _checked('read', $_, $of{$_}) for keys %of;
    my ($after, $max_rows) = delete @of{qw(after max_rows)};
    my (@conditions, @values);
    for my $name (grep { defined $of{$_} } sort keys %of) {
        _refuse("read: not a column: $name") if $name !~ /^\w+\z/;
        if ($name eq 'since_seconds') {
            push @conditions, sprintf $self->{postgres}
                ? "event_ts >= statement_timestamp() - %d * interval '1 second'"
                : 'event_ts >= UTC_TIMESTAMP(6) - INTERVAL %d SECOND', $of{$name};
            next;
        }
        push @values, $of{$name};
        my $of_event = $view eq 'appl_lock_history' && $name eq 'operator_id';
        push @conditions, $of_event ? '? IN (actor_id, from_operator_id, to_operator_id)' : "$name = ?";
    }
    push @conditions, $self->_behind($after, \@values, @$key) if $after;
    my $where = @conditions ? 'WHERE ' . join ' AND ', @conditions : '';
    my $end = sprintf 'ORDER BY %s LIMIT %d', join(', ', @$key), $max_rows // 1000;
    $self->_check;
    return map { _locked($_) } $self->_rows("SELECT * FROM $self->{prefix}$view $where $end", @values);
}

# The condition for the rows after a row. MySQL and MariaDB read a range of the key only if each column is compared.
sub _behind {
    my ($self, $after, $values, $name, @rest) = @_;
    defined $after->{$_} || _refuse("read: the row after which the page begins has no $_") for $name, @rest;
    if ($self->{postgres}) {
        push @$values, @$after{ $name, @rest };
        return '(' . join(', ', $name, @rest) . ') > (' . join(', ', ('?') x (1 + @rest)) . ')';
    }
    push @$values, $after->{$name};
    return "$name > ?" if !@rest;
    push @$values, $after->{$name};
    return "($name > ? OR $name = ? AND " . $self->_behind($after, $values, @rest) . ')';
}

# Returns the values of named arguments in the order of their names.
sub _named {
    my ($method, $given, @names) = @_;
    _refuse("$method: an argument has no name; the names are @names") if @$given % 2;
    my %given = @$given;
    my %known = map { $_ => 1 } @names;
    $known{$_} || _refuse("$method: there is no argument $_; the names are @names") for sort keys %given;
    return map { _checked($method, $_, $given{$_}) } @names;
}

# Returns a value in the form that the database accepts.
sub _checked {
    my ($method, $name, $value) = @_;
    return $value if !defined $value || !$is_flag{$name} && !$is_number{$name};
    _refuse("$method: $name must be a whole number, not $value") if $is_number{$name} && $value !~ /^-?[0-9]+\z/;
    _refuse("$method: $name must be 1 or 0, not $value")         if $is_flag{$name}   && $value !~ /^[01]?\z/;
    return $is_number{$name} ? "$value" : $value ? 'Y' : 'N';
}

sub _refuse { die Applock::InvalidArgument->new('LK001', @_) }

sub _needs_transaction {
    my ($self, $method) = @_;
    _refuse("$method: it would end at once: begin_work first, since AutoCommit is on") if $self->{dbh}{AutoCommit};
    return;
}

sub _one {
    my ($answer) = _answers(@_);
    return $answer;
}

# Calls an operation with outcomes, and adds to each row whether it was granted.
sub _answers {
    my ($self, $routine, @values) = @_;
    my $operation = $routine =~ s/_row\z//r;
    return map { _answer($operation, $_) } $self->_call($routine, @values);
}

sub _answer {
    my ($operation, $row) = @_;
    my ($flag, $operator, $department) = delete @$row{qw(ok_fl old_operator_id old_department_id)};
    $row->{granted} = _granted($operation, $row->{outcome});
    my $other = length $operator ? _locked({ operator => $operator, department => $department }) : undef;
    my $is_former = $changed_hands{ $row->{outcome} };
    $row->{holder} = $is_former ? undef  : $other if defined $operator;
    $row->{former} = $is_former ? $other : undef  if $tells_former{$operation};
    $row->{expires_at} = delete $row->{expires_ts} if exists $row->{expires_ts};
    return _locked($row, 'Applock::Answer');
}

sub _granted {
    my ($operation, $outcome) = @_;
    return $granted{$operation}{$outcome}
        // die Applock::Error->new('', "$operation: the outcome $outcome is new: the database needs a newer Applock");
}

# A lock, from a row that also has other columns.
sub _lock {
    my ($row, @columns) = @_;
    my %lock;
    @lock{qw(operator department fence expires_at)} = @$row{qw(operator_id department_id fence expires_ts)};
    $lock{ { acquired_ts => 'acquired_at', lock_ts => 'locked_at' }->{$_} // $_ } = $row->{$_} for @columns;
    return _locked(\%lock);
}

# Makes a hash whose keys can be neither misspelt nor changed.
sub _locked {
    my ($hash, $class) = @_;
    bless $hash, $class if $class;
    Hash::Util::lock_hashref($hash);
    return $hash;
}

sub _call {
    my ($self, $routine, @values) = @_;
    ref && !overload::Method($_, '""') && _refuse("$routine: a reference is no value: $_") for @values;
    $self->_check;
    my $places = join ', ', ('?') x @values;
    return $self->_rows(($self->{postgres} ? 'SELECT * FROM ' : 'CALL ') . "$self->{prefix}$routine($places)", @values);
}

# Checks each connection once.
sub _check {
    my ($self) = @_;
    my $checked = $self->{dbh}{private_applock} //= {};
    return if $checked->{ $self->{prefix} };
    my $call      = $self->{postgres} ? 'SELECT * FROM %sappl_lock_version()' : 'CALL %sappl_lock_version()';
    my ($version) = map { values %$_ } $self->_rows(sprintf $call, $self->{prefix});
    die Applock::Error->new('', "the database has contract $version, and Applock needs $contract: applockctl migrate up")
        if $version < $contract;
    my ($set) = map { values %$_ } $self->_rows(
        $self->{postgres} ? q{SELECT current_setting('client_encoding')} : 'SELECT @@character_set_client');
    _refuse("names would be garbled: the connection's character set is $set, and not UTF-8 (mysql_enable_utf8mb4 => 1)")
        if $set !~ /^(UTF8|SQL_ASCII|utf8mb4)\z/;
    $checked->{ $self->{prefix} } = 1;
    return;
}

# Runs a statement without changing the handle's settings.
sub _rows {
    my ($self, $statement, @values) = @_;
    my $dbh     = $self->{dbh};
    my $handler = $dbh->{HandleError};
    local $dbh->{RaiseError}   = 1;
    local $dbh->{PrintError}   = 0;
    local $dbh->{HandleError}  = undef;
    local $dbh->{HandleSetErr} = undef;
    # DBD::mysql sends Perl's internal bytes, which must be UTF-8.
    defined && utf8::upgrade($_ = "$_") for @values;
    my ($sth, @rows);
    my $done = eval {
        @rows = $self->{postgres} ? _postgres_rows($dbh, \$sth, $statement, @values) : _mysql_rows($dbh, \$sth, $statement, @values);
        1;
    };
    return @rows if $done;
    my $error  = $@;
    my $failed = $sth || $dbh;
    die Applock::Error->of($failed->state, $failed->errstr) if $failed->state =~ /^LK00[123]\z/;
    $handler->($error, $failed, undef) if $handler;
    die $error;
}

# One column of JSON, which no setting of types or dates changes.
sub _postgres_rows {
    my ($dbh, $sth, $statement, @values) = @_;
    local $dbh->{pg_enable_utf8} = -1;
    my $place = 0;
    $statement =~ s/\?/'$' . ++$place/ge;
    $$sth = $dbh->prepare("SELECT row_to_json(r) FROM ($statement) AS r");
    $$sth->execute(@values);
    return map { _row(JSON::PP->new->decode($_->[0])) } @{ $$sth->fetchall_arrayref };
}

sub _mysql_rows {
    my ($dbh, $sth, $statement, @values) = @_;
    my $prefix = lc $dbh->{Driver}{Name};
    $$sth = $dbh->prepare($statement, { "${prefix}_server_prepare" => 0, "${prefix}_use_result" => 0 });
    # Without a type, text that looks like a number may be sent as one: 007 as 7.
    $$sth->bind_param($_ + 1, $values[$_], DBI::SQL_VARCHAR()) for 0 .. $#values;
    $$sth->execute;
    my ($names, $types) = @{ $$sth }{qw(NAME_lc TYPE)};
    my @is_number = map { scalar(/^(?:-6|-5|3|4|5)\z/) } @$types;
    my @rows;
    for my $values (@{ $$sth->fetchall_arrayref }) {
        my %row;
        for my $i (0 .. $#$names) {
            my $value = $values->[$i];
            utf8::decode($value) if defined $value && !utf8::is_utf8($value);
            $row{ $names->[$i] } = defined $value && $is_number[$i] ? 0 + $value : $value;
        }
        push @rows, _row(\%row);
    }
    # A CALL ends with a second result.
    1 while $$sth->more_results;
    return @rows;
}

sub _row {
    my ($row) = @_;
    my %named;
    for my $column (keys %$row) {
        my $value = $row->{$column};
        $value = _utc($value) if $column =~ /_ts\z/ && defined $value;
        $named{ $column =~ s/^p_//r } = $value;
    }
    return \%named;
}

# PostgreSQL adds the zone to a time. MySQL and MariaDB answer in UTC without a zone.
sub _utc {
    my ($text) = @_;
    my ($year, $month, $day, $hour, $minute, $second, $fraction, $sign, $hours, $minutes) =
        $text =~ /^(\d+)-(\d+)-(\d+)[ T](\d+):(\d+):(\d+)(\.\d+)?(?:([+-])(\d+):(\d+))?\z/
        or die Applock::Error->new('', "a time that is none: $text");
    my $ahead = $sign ? "${sign}1" * ($hours * 60 + $minutes) * 60 : 0;
    my $time = Time::Local::timegm($second, $minute, $hour, $day, $month - 1, $year) - $ahead;
    return POSIX::strftime('%Y-%m-%dT%H:%M:%S', gmtime $time) . ($fraction // '') . 'Z';
}

package Applock::Answer;

use overload bool => sub { $_[0]{granted} }, '""' => sub { $_[0]{outcome} }, fallback => 1;

package Applock::Error;

use Carp ();
use overload '""' => sub { join ' ', grep { length } $_[0]{sqlstate}, $_[0]{message} . $_[0]{where} }, fallback => 1;

our @CARP_NOT = 'Applock';

my %classes = (LK001 => 'Applock::InvalidArgument', LK002 => 'Applock::Lost', LK003 => 'Applock::Contention');

sub of {
    my ($class, $sqlstate, $message) = @_;
    return $classes{$sqlstate}->new($sqlstate, $message);
}

sub new {
    my ($class, $sqlstate, $message) = @_;
    return bless { sqlstate => $sqlstate, message => $message, where => Carp::shortmess('') }, $class;
}

sub sqlstate { return $_[0]{sqlstate} }

sub message { return $_[0]{message} }

@Applock::InvalidArgument::ISA = @Applock::Lost::ISA = @Applock::Contention::ISA = 'Applock::Error';

1;

__END__

=encoding utf8

=head1 NAME

Applock - application locks in the database that the application has anyway

=head1 SYNOPSIS

    use Applock;

    my $locks = Applock->new($dbh);
    my $lock  = $locks->get('customer', 42, 'JDOE', ttl => 3600);
    die "$lock->{holder}{operator} has it\n" if !$lock;

    $dbh->begin_work;
    $locks->assert('customer', 42, 'JDOE', $lock->{fence});    # dies when it is lost
    $dbh->do('UPDATE customer ...');
    $dbh->commit;

    $locks->release('customer', 42, 'JDOE', fence => $lock->{fence});

=head1 DESCRIPTION

The database owns the locks. Each method is one call of one procedure, or reads one view, on a DBI handle of L<DBD::Pg>,
L<DBD::MariaDB> or L<DBD::mysql>. The transaction is the caller's: a method's effect is final after the commit, or at once with
AutoCommit. The page of the repository, F<README.md> here, has examples for each driver.

=head2 Answers

An answer is a hash whose keys cannot be misspelt. It is true when the caller got what it asked for, and so is its C<granted>.
As text it is its C<outcome>, such as C<HELD>. C<holder> is C<undef>, or the operator who has the object instead: C<operator> and
C<department>. Where the operation answers with them, there are C<fence>, C<expires_at>, C<seconds_left> and C<note>.

Numbers are integers. Times are text in UTC, such as C<2026-11-22T12:41:07.123456Z>.

=head2 Errors

Errors are objects of a class of their own, with C<sqlstate> and C<message>. What the driver raises passes through unchanged.

    Applock::InvalidArgument  LK001  a mistake of the caller: the same call fails again
    Applock::Lost             LK002  an assertion failed: the grant has ended
    Applock::Contention       LK003  too many changes of the object at once: call again

All are an C<Applock::Error>. A database that is older or newer than this module raises an C<Applock::Error> itself.

=head1 METHODS

Numbers of seconds are whole; C<new>, C<dry_run>, C<take_reason> and C<presence> are 1 or 0. Optional arguments are named.

=over

=item new($dbh, dialect => , schema => )

The C<dialect> is C<postgres> or C<mysql>, if the driver does not show it.

=item get($type, $id, $operator, department => , ttl => , new => )

Takes or renews the lock on an object until it expires, after ttl seconds. C<new> also refuses to renew the operator's own live lock.

=item permit($type, $id, $permits, $operator, department => , ttl => )

Takes or renews one of the permits of an object until it expires. The answer also has C<slot_id>, the id of the permit for all other methods, C<operator> and
C<department>. When the outcome is C<FULL>, C<holders> lists the holder and the end of each slot.

=item release($type, $id, $operator, fence => , actor => , reason => )

Ends the operator's grant, or only the one with this fence. The answer is true as well if the object is free.

=item inquire($type, $id)

Shows who holds an object, since when and until when. C<undef> if it is free, else the lock: C<operator>, C<department>, C<fence>, C<acquired_at>, C<locked_at>, C<expires_at>,
C<seconds_left>, C<note>.

=item transfer($type, $id, $from, $to, department => , ttl => , actor => , reason => )

Hands a held object from one operator to another.

=item take($type, $id, $operator, $reason, department => , expected_fence => , ttl => )

Takes a held object from its holder, or only from the grant expected_fence. C<former> is the operator who has lost it.

=item transfer_all($from, $to, type => , department => , ttl => , actor => , reason => , after_type => , after_id => , max_rows => , dry_run => )

=item release_all($operator, type => , actor => , reason => , after_type => , after_id => , max_rows => , dry_run => )

Hands over or releases one page of what an operator holds: a list with an answer for each lock. The last page has fewer than max_rows.

=item note($type, $id, $operator, $note, fence => )

Leaves a note on why the operator holds an object, for everybody to read. C<undef> removes it.

=item renew({ object_type => , object_id => , operator => , fence => , ttl => }, ...)

Renews many grants in one call, each by its fence. A grant without an answer is locked by another transaction: retry it.

=item assert($type, $id, $operator, $fence)

=item serialize($type, $id)

In a transaction only. The first dies with C<Applock::Lost> unless exactly this grant is live, and keeps it so until the transaction
ends. The second lets one transaction at a time work on an object, until the transaction ends.

=item announce($type, $id, $operator, $client, department => , wait => )

=item retract($type, $id, $operator, $client)

=item poll($client, max_rows => )

The first two list an operator as a waiter and remove it. The third shows which objects that a program waits for are free or will be next,
and keeps its waiters listed.

=item inbox($operator, after_event_id => , max_rows => )

Reports what others did with an operator's locks, who waits or asks for them, and how its own requests were answered. C<kind> of a row is
C<TAKEN>, C<HANDED>, C<RELEASED>, C<GIVEN> or C<YIELDED> for an event, or C<AWAITED>, C<LATER> or C<DECLINED> for the present state.
C<AWAITED> of a request has the C<message>, and the C<client_id> and C<fence> for C<answer>. Pass the C<safe_event_id> of any row to the
next call.

=item ask($type, $id, $operator, $client, message => , department => , wait => )

Asks an object's holder for it. C<$client> is the asking program or browser tab. The request is listed for 60 s, or until C<wait> seconds
are over: repeat the call in each heartbeat. C<< wait => 0 >> withdraws the request. The outcome is C<ASKED>, and C<holder> has the
object; C<WITHDRAWN>; or C<GIVEN>: the operator has it now, and C<former> had it before. The answer is false for C<FREE>, and for C<OWN>:
the operator has the object already.

=item answer($type, $id, $operator, $fence, $asker, $answer, client => , reason => )

Answers an operator who asks for a held object. The inbox's C<AWAITED> has C<$fence>, C<$asker> and C<client>. C<GIVE> hands the object
over: C<GIVEN>. C<LATER> and C<NO> are for the asker to read: C<TOLD>. The answer is false for C<HELD>, C<FREE>, and for C<GONE>: the
asker no longer asks. Without C<client> it is any client of the asker.

=item see($type, $id, $operator, $client, $state, department => , ttl => )

Lists an operator as a viewer of an object in the browser tab C<$client>: C<VIEWING>, C<EDITING> or C<IDLE>. C<undef> removes it. Returns
a list of the object's holder, askers and other viewers: C<kind>, which is C<HOLDER>, C<ASKER> or C<VIEWER>, C<operator_id>,
C<department_id>, C<client_id>, C<state>, C<since_ts>, C<seconds_left> and C<message>. The operator is listed for 45 s, or C<ttl> seconds,
at most 60: repeat the call in each heartbeat of 15 s. It locks nothing, and the history does not record it.

=item read($view, COLUMN => VALUE, ..., since_seconds => , after => , max_rows => )

One page of a view in the order of its key, after the row C<after>.

=item set_policy($type, default_ttl => , longest_ttl => , take_reason => , actor => , reason => , history => , presence => , yield_after => )

=item drop_policy($type, actor => , reason => )

Set or remove a type's policy: how long its locks last, whether a take needs a reason, what the history records, and who sees whom.

=item purge(older_than => , max_rows => )

=item purge_history(older_than => , max_rows => )

Remove the rows of objects that have been free for long, or old events from the history. They return the number of removed rows.

=back

=head1 LICENSE

Apache License 2.0.

=cut
