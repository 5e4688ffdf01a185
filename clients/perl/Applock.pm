package Applock;

# Application locks for DBI with DBD::Pg, DBD::mysql and DBD::MariaDB: copy this file into your program.
#
# The database decides; each method is one call of one procedure, or reads one view. The connection is yours, and so is the
# transaction: what a method has done is final when you commit, or at once with AutoCommit.
#
# An answer is a hash with the names of procedures/README.md without "p_". Its timestamps are text like
# 2026-11-22T12:41:07.123456Z. What may be left out is named: get('customer', 42, 'JDOE', ttl => 60).

use strict;
use warnings;
use JSON::PP ();

# The views, and which columns tell a row from all others.
my %keys = (
    appl_lock_live     => [qw(object_type object_id)],
    appl_lock_waiting  => [qw(object_type object_id operator_id client_id)],
    appl_lock_history  => [qw(event_id)],
    appl_lock_policies => [qw(object_type)],
    appl_lock_stats    => [qw(object_type department_id)],
);

# The handle is left as it is, but for errors while a method runs: they are exceptions.
sub new {
    my ($class, $dbh, %options) = @_;
    my $postgres = $dbh->{Driver}{Name} eq 'Pg';
    # On MySQL and MariaDB a schema is a database, and the connection's own one needs no name.
    my $schema = $options{schema} // ($postgres ? 'applock' : '');
    return bless { dbh => $dbh, postgres => $postgres, prefix => $schema eq '' ? '' : "$schema." }, $class;
}

# Takes or renews a lock for ttl seconds. A refusal is an answer, whose ok_fl is N and which has the holder. With
# new => 'Y' the operator's own live lock is refused, too.
sub get {
    my ($self, $type, $id, $operator, %more) = @_;
    return $self->_one('get_appl_lock_row', $type, $id, $operator, @more{qw(department ttl new)});
}

# Takes or renews one of so many permits: one row with its slot, or one for each slot, whose outcome is FULL.
sub permit {
    my ($self, $type, $id, $permits, $operator, %more) = @_;
    return $self->_call('get_appl_lock_permit', $type, $id, $permits, $operator, @more{qw(department ttl)});
}

sub release {
    my ($self, $type, $id, $operator, %more) = @_;
    return $self->_one('release_appl_lock_row', $type, $id, $operator, @more{qw(fence actor reason)});
}

sub inquire {
    my ($self, $type, $id) = @_;
    return $self->_one('inquire_appl_lock_row', $type, $id);
}

sub transfer {
    my ($self, $type, $id, $from, $to, %more) = @_;
    return $self->_one('transfer_appl_lock_row', $type, $id, $from, $to, @more{qw(department ttl actor reason)});
}

# Take it from whoever holds it, or from the grant expected_fence only; the former holder reads why in its inbox.
sub take {
    my ($self, $type, $id, $operator, $reason, %more) = @_;
    return $self->_one('take_appl_lock_row', $type, $id, $operator, $more{department}, $reason, @more{qw(expected_fence ttl)});
}

# Hands over one page of what an operator holds: a row for each lock. Fewer than max_rows are the last page. dry_run is 'Y' to
# only tell what would be done.
sub transfer_all {
    my ($self, $from, $to, %more) = @_;
    return $self->_call(
        'transfer_appl_locks', $from, $more{type}, $to,
        @more{qw(department ttl actor reason after_type after_id max_rows dry_run)},
    );
}

# Releases one page of what an operator holds, likewise.
sub release_all {
    my ($self, $operator, %more) = @_;
    return $self->_call('release_appl_locks', $operator, @more{qw(type actor reason after_type after_id max_rows dry_run)});
}

# Says why the operator holds it, for whoever asks; no note takes that back.
sub note {
    my ($self, $type, $id, $operator, $note, %more) = @_;
    return $self->_one('note_appl_lock_row', $type, $id, $operator, $more{fence}, $note);
}

# Removes what has been free for so many seconds, and returns how many rows that were.
sub purge {
    my ($self, %more) = @_;
    return $self->_one('purge_appl_locks_row', @more{qw(older_than max_rows)})->{purged};
}

# Removes events that are so many seconds old, and returns how many that were.
sub purge_history {
    my ($self, %more) = @_;
    return $self->_one('purge_appl_lock_history_row', @more{qw(older_than max_rows)})->{purged};
}

# Dies with LK002 unless this grant is live; it stays so until the transaction ends.
sub assert {
    my ($self, $type, $id, $operator, $fence) = @_;
    $self->_one('assert_appl_lock_row', $type, $id, $operator, $fence);
    return;
}

# Waits until no other transaction is inside, and stays inside until this one ends.
sub serialize {
    my ($self, $type, $id) = @_;
    $self->_one('serialize_appl_lock_row', $type, $id);
    return;
}

# Renews many: each is a hash with object_type, object_id, operator_id, fence and ttl_seconds.
sub renew {
    my ($self, @grants) = @_;
    for my $grant (@grants) {
        $grant = {%$grant};
        defined && ($_ += 0) for @$grant{qw(fence ttl_seconds)};    # JSON::PP writes text in quotes
    }
    return $self->_call('renew_appl_locks', JSON::PP->new->encode(\@grants));
}

sub announce {
    my ($self, $type, $id, $operator, $client, %more) = @_;
    $self->_one('announce_appl_lock_waiter_row', $type, $id, $operator, $more{department}, $client, $more{wait});
    return;
}

sub retract {
    my ($self, $type, $id, $operator, $client) = @_;
    $self->_one('retract_appl_lock_waiter_row', $type, $id, $operator, $client);
    return;
}

sub poll {
    my ($self, $client, %more) = @_;
    return $self->_call('poll_appl_locks', $client, $more{max_rows});
}

# Lays down for a type how long its locks last, at first and at most, in seconds; what is not given is none.
sub set_policy {
    my ($self, $type, %more) = @_;
    return $self->_one('set_appl_lock_policy_row', $type, @more{qw(default_ttl longest_ttl take_reason actor reason history)});
}

sub drop_policy {
    my ($self, $type, %more) = @_;
    return $self->_one('drop_appl_lock_policy_row', $type, @more{qw(actor reason)});
}

# What others did with an operator's locks, and who waits for them. The next call passes the safe_event_id of any row: it may tell
# of an event twice, and never of none.
sub inbox {
    my ($self, $operator, %of) = @_;
    return $self->_call('inbox_appl_locks', $operator, @of{qw(after_event_id max_rows)});
}

# One page of a view in the order of its key, behind the row "after": the rows that have these values in these columns.
# appl_lock_history also has operator_id, who did, lost or got it, and since_seconds, how long ago it was at most.
sub read {
    my ($self, $view, %of) = @_;
    my ($after, $max_rows) = delete @of{qw(after max_rows)};
    my $key = $keys{$view};
    my (@conditions, @values);
    for my $name (grep { defined $of{$_} } sort keys %of) {
        die "not a column: $name" if $name !~ /^\w+\z/;
        if ($name eq 'since_seconds') {
            push @conditions, sprintf $self->{postgres}
                ? "event_ts >= statement_timestamp() - %d * interval '1 second'"
                : 'event_ts >= UTC_TIMESTAMP(6) - INTERVAL %d SECOND', $of{$name};
            next;
        }
        my $of_event = $view eq 'appl_lock_history' && $name eq 'operator_id';
        push @conditions, $of_event ? '? IN (actor_id, from_operator_id, to_operator_id)' : "$name = ?";
        push @values, $of{$name};
    }
    push @conditions, $self->_behind($after, \@values, @$key) if $after;
    my $where = @conditions ? 'WHERE ' . join ' AND ', @conditions : '';
    my $end = sprintf 'ORDER BY %s LIMIT %d', join(', ', @$key), $max_rows // 1000;
    return $self->_rows("SELECT * FROM $self->{prefix}$view $where $end", @values);
}

sub _one {
    my ($answer) = _call(@_);
    return $answer;
}

sub _call {
    my ($self, $routine, @values) = @_;
    my $places = join ', ', ('?') x @values;
    return $self->_rows(($self->{postgres} ? 'SELECT * FROM ' : 'CALL ') . "$self->{prefix}$routine($places)", @values);
}

# What comes after a row. MySQL and MariaDB read a range of the key only if it is written out.
sub _behind {
    my ($self, $after, $values, $name, @rest) = @_;
    if ($self->{postgres}) {
        push @$values, @$after{ $name, @rest };
        return '(' . join(', ', $name, @rest) . ') > (' . join(', ', ('?') x (1 + @rest)) . ')';
    }
    push @$values, $after->{$name};
    return "$name > ?" if !@rest;
    push @$values, $after->{$name};
    return "($name > ? OR $name = ? AND " . $self->_behind($after, $values, @rest) . ')';
}

sub _rows {
    my ($self, $statement, @values) = @_;
    my $dbh = $self->{dbh};
    local $dbh->{RaiseError} = 1;
    local $dbh->{PrintError} = 0;
    # DBD::mysql sends what Perl has in its memory: text that is not in UTF-8 there arrives garbled.
    defined && utf8::upgrade($_) for @values;
    my @answers;
    my $sth;
    my $done = eval {
        $sth = $dbh->prepare($statement);
        $sth->execute(@values);
        @answers = map { $self->_answer($_) } @{ $sth->fetchall_arrayref({}) };
        # On MySQL and MariaDB a second result follows that of a CALL.
        if (!$self->{postgres}) { 1 while $sth->more_results }
        1;
    };
    return @answers if $done;
    my $error = $@;
    my $state = ($sth || $dbh)->state;
    die $state =~ /^LK/ ? Applock::Error->new($state, ($sth || $dbh)->errstr) : $error;
}

sub _answer {
    my ($self, $row) = @_;
    my %answer;
    for my $column (keys %$row) {
        my $value = $row->{$column};
        if ($column =~ /_ts$/ && defined $value) {
            $value =~ tr/ /T/;
            # PostgreSQL writes the zone behind the time. MySQL and MariaDB answer in UTC without saying so.
            $value .= 'Z' if !$self->{postgres};
            $value =~ s/([+-]\d\d)$/$1:00/;
        }
        $answer{ $column =~ s/^p_//r } = $value;
    }
    return \%answer;
}

# A mistake of the caller, LK001 or LK002, or too much contention, LK003: call again then, and only then.
package Applock::Error;

use overload '""' => sub { "$_[0]{sqlstate} $_[0]{message}" }, fallback => 1;

sub new {
    my ($class, $sqlstate, $message) = @_;
    return bless { sqlstate => $sqlstate, message => $message }, $class;
}

sub sqlstate { return $_[0]{sqlstate} }

sub message { return $_[0]{message} }

1;
