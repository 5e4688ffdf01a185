# Application locks for the gems pg and mysql2, and so for ActiveRecord: copy this file into your program.
#
# The database decides; each method is one call of one procedure, or reads one view. The connection is yours, and so is the
# transaction: what a method has done is final when you commit, or at once outside of a transaction.

require "json"
require "ostruct"
require "time"

module Applock
  # A mistake of the caller, LK001 or LK002, or too much contention, LK003: call again then, and only then.
  class LockError < StandardError
    attr_reader :sqlstate

    def initialize(sqlstate, message)
      super(message)
      @sqlstate = sqlstate
    end
  end

  # One row, with the names of procedures/README.md without "p_".
  class Answer < OpenStruct
    # Whether its flag is Y.
    def granted?
      ok_fl == "Y"
    end
  end

  # The operations, on one PG::Connection or Mysql2::Client. Ids may be of any type: they travel as text.
  class Locks
    # The views, and which columns tell a row from all others.
    KEYS = {
      "appl_lock_live" => %i[object_type object_id],
      "appl_lock_waiting" => %i[object_type object_id operator_id client_id],
      "appl_lock_history" => %i[event_id],
      "appl_lock_policies" => %i[object_type],
      "appl_lock_stats" => %i[object_type department_id]
    }.freeze

    def initialize(connection, schema: nil)
      @connection = connection
      @postgres = connection.class.name.start_with?("PG::")
      # On MySQL and MariaDB a schema is a database, and the connection's own one needs no name.
      schema ||= "applock" if @postgres
      @prefix = schema ? "#{schema}." : ""
    end

    # Takes or renews a lock for ttl seconds. A refusal is an answer that is not granted and has the holder. With new: "Y" the
    # operator's own live lock is refused, too.
    def get(type, id, operator, department: nil, ttl: nil, new: nil)
      one("get_appl_lock_row", type, id, operator, department, ttl, new)
    end

    # Takes or renews one of so many permits: one row with its slot, or one for each slot, whose outcome is FULL.
    def permit(type, id, permits, operator, department: nil, ttl: nil)
      call("get_appl_lock_permit", type, id, permits, operator, department, ttl)
    end

    def release(type, id, operator, fence: nil, actor: nil, reason: nil)
      one("release_appl_lock_row", type, id, operator, fence, actor, reason)
    end

    def inquire(type, id)
      one("inquire_appl_lock_row", type, id)
    end

    def transfer(type, id, from:, to:, department: nil, ttl: nil, actor: nil, reason: nil)
      one("transfer_appl_lock_row", type, id, from, to, department, ttl, actor, reason)
    end

    # Take it from whoever holds it, or from the grant expected_fence only; the former holder reads why in its inbox.
    def take(type, id, operator, reason:, department: nil, expected_fence: nil, ttl: nil)
      one("take_appl_lock_row", type, id, operator, department, reason, expected_fence, ttl)
    end

    # Hands over one page of what an operator holds: a row for each lock. Fewer than max_rows are the last page. dry_run is "Y" to
    # only tell what would be done.
    def transfer_all(from:, to:, type: nil, department: nil, ttl: nil, actor: nil, reason: nil,
                     after_type: nil, after_id: nil, max_rows: nil, dry_run: nil)
      call("transfer_appl_locks", from, type, to, department, ttl, actor, reason, after_type, after_id, max_rows, dry_run)
    end

    # Releases one page of what an operator holds, likewise.
    def release_all(operator, type: nil, actor: nil, reason: nil, after_type: nil, after_id: nil, max_rows: nil, dry_run: nil)
      call("release_appl_locks", operator, type, actor, reason, after_type, after_id, max_rows, dry_run)
    end

    # Says why the operator holds it, for whoever asks; no note takes that back.
    def note(type, id, operator, note, fence: nil)
      one("note_appl_lock_row", type, id, operator, fence, note)
    end

    # Removes what has been free for so many seconds, and returns how many rows that were.
    def purge(older_than: nil, max_rows: nil)
      one("purge_appl_locks_row", older_than, max_rows).purged
    end

    # Removes events that are so many seconds old, and returns how many that were.
    def purge_history(older_than: nil, max_rows: nil)
      one("purge_appl_lock_history_row", older_than, max_rows).purged
    end

    # Raises a LockError with LK002 unless this grant is live; it stays so until the transaction ends.
    def assert(type, id, operator, fence)
      one("assert_appl_lock_row", type, id, operator, fence)
      nil
    end

    # Waits until no other transaction is inside, and stays inside until this one ends.
    def serialize(type, id)
      one("serialize_appl_lock_row", type, id)
      nil
    end

    # Renews many: each is a hash with object_type, object_id, operator_id, fence and ttl_seconds.
    def renew(grants)
      call("renew_appl_locks", JSON.generate(grants))
    end

    def announce(type, id, operator, client, department: nil, wait: nil)
      one("announce_appl_lock_waiter_row", type, id, operator, department, client, wait)
      nil
    end

    def retract(type, id, operator, client)
      one("retract_appl_lock_waiter_row", type, id, operator, client)
      nil
    end

    def poll(client, max_rows: nil)
      call("poll_appl_locks", client, max_rows)
    end

    # Lays down for a type how long its locks last, at first and at most, in seconds; what is nil is none.
    def set_policy(type, default_ttl: nil, longest_ttl: nil, take_reason: nil, actor: nil, reason: nil, history: nil)
      one("set_appl_lock_policy_row", type, default_ttl, longest_ttl, take_reason, actor, reason, history)
    end

    def drop_policy(type, actor: nil, reason: nil)
      one("drop_appl_lock_policy_row", type, actor, reason)
    end

    # What others did with an operator's locks, and who waits for them. The next call passes the safe_event_id of any row: it may
    # tell of an event twice, and never of none.
    def inbox(operator, after_event_id: nil, max_rows: nil)
      call("inbox_appl_locks", operator, after_event_id, max_rows)
    end

    # One page of a view in the order of its key, behind the row after: the rows that have these values in these columns.
    # appl_lock_history also has operator_id, who did, lost or got it, and since_seconds, how long ago it was at most.
    def read(view, after: nil, max_rows: 1000, **filters)
      values = []
      conditions = filters.compact.map { |name, value| condition(view, name, value, values) }
      key = KEYS.fetch(view)
      conditions << behind(key, after, values) if after
      where = "WHERE #{conditions.join(' AND ')}" if conditions.any?
      rows("SELECT * FROM #{@prefix}#{view} #{where} ORDER BY #{key.join(', ')} LIMIT #{Integer(max_rows)}", values)
    end

    private

    def one(routine, *values)
      call(routine, *values).first
    end

    def call(routine, *values)
      rows("#{@postgres ? 'SELECT * FROM' : 'CALL'} #{@prefix}#{routine}(#{(['?'] * values.length).join(', ')})", values)
    end

    def condition(view, name, value, values)
      raise ArgumentError, "not a column: #{name}" unless name.match?(/\A\w+\z/)

      if name == :since_seconds
        ago = @postgres ? "statement_timestamp() - %d * interval '1 second'" : "UTC_TIMESTAMP(6) - INTERVAL %d SECOND"
        return "event_ts >= #{format(ago, value)}"
      end
      values << value
      return "? IN (actor_id, from_operator_id, to_operator_id)" if view == "appl_lock_history" && name == :operator_id

      "#{name} = ?"
    end

    # What comes after a row. MySQL and MariaDB read a range of the key only if it is written out.
    def behind(key, after, values)
      if @postgres
        values.concat(key.map { |name| after[name] })
        return "(#{key.join(', ')}) > (#{(['?'] * key.length).join(', ')})"
      end
      name, *rest = key
      values << after[name]
      return "#{name} > ?" if rest.empty?

      values << after[name]
      "(#{name} > ? OR #{name} = ? AND #{behind(rest, after, values)})"
    end

    def rows(statement, values)
      rows = @postgres ? postgres(statement, values) : mysql(statement, values)
      rows.map { |row| Answer.new(row.to_h { |column, value| converted(column.delete_prefix("p_"), value) }) }
    rescue StandardError => error
      state = sqlstate(error)
      raise error unless state&.start_with?("LK")

      raise LockError.new(state, error.message)
    end

    def postgres(statement, values)
      place = 0
      @connection.exec_params(statement.gsub("?") { "$#{place += 1}" }, values.map { |value| value&.to_s }).to_a
    end

    def mysql(statement, values)
      values = values.dup
      statement = statement.gsub("?") { literal(values.shift) }
      # MySQL and MariaDB answer in UTC without saying so, and the gem would take it for local time.
      options = { symbolize_keys: false, as: :hash, database_timezone: :utc, application_timezone: :utc }
      rows = @connection.query(statement, options).to_a
      # A second result follows that of a CALL, and is in the way of the next statement.
      @connection.store_result while @connection.next_result
      rows
    end

    def literal(value)
      case value
      when nil then "NULL"
      when Integer then value.to_s
      else "'#{@connection.escape(value.to_s)}'"
      end
    end

    # Unless its user has had it do otherwise, pg answers with nothing but text.
    def converted(name, value)
      return [name, value] unless value.is_a?(String)

      case name
      when /(^|_)(fence|seconds|seconds_left|event_id)$/, "purged", "free_in_us", "live", "expired", "waiters" then [name, Integer(value)]
      when /_ts$/ then [name, Time.parse(value).utc]
      else [name, value]
      end
    end

    def sqlstate(error)
      return error.sql_state if error.respond_to?(:sql_state)

      error.result&.error_field(PG::Result::PG_DIAG_SQLSTATE) if error.respond_to?(:result)
    end
  end
end
