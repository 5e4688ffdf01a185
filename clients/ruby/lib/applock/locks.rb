# frozen_string_literal: true

require "json"

module Applock
  # The operations, on one connection: a PG::Connection, a Mysql2::Client, a subclass of them, or one of ActiveRecord. The connection
  # is yours, and so is the transaction: what a method has done is final when you commit, or at once outside of a transaction.
  #
  # Types, ids and operators may be of any class: they travel as text. A ttl is a whole number of seconds or an ActiveSupport::Duration;
  # nil is what procedures/README.md says of NULL. A refusal is an answer that is not granted?. Errors are InvalidArgument, Lost,
  # Contention, and what the driver raises.
  class Locks
    # The views, and which columns tell a row from all others.
    KEYS = {
      "appl_lock_live" => %i[object_type object_id],
      "appl_lock_waiting" => %i[object_type object_id operator_id client_id],
      "appl_lock_asking" => %i[object_type object_id operator_id client_id],
      "appl_lock_viewers" => %i[object_type object_id operator_id client_id],
      "appl_lock_history" => %i[event_id],
      "appl_lock_policies" => %i[object_type],
      "appl_lock_stats" => %i[object_type department_id]
    }.freeze

    # schema is where applock is installed; on MySQL and MariaDB that is a database, nil for the connection's own. dialect, "postgres" or
    # "mysql", is for a wrapper that has the methods of PG::Connection or Mysql2::Client and is none.
    def initialize(connection, schema: nil, dialect: nil)
      @connection = Connection.for(connection, dialect)
      schema ||= @connection.default_schema
      @prefix = schema ? "#{schema}." : ""
      @channel = "#{schema}_appl_lock"
    end

    attr_reader :connection, :channel # :nodoc:

    # This, unless what it does would have to wait for a commit.
    def alone # :nodoc:
      return self unless @connection.transaction?

      @connection.close
      raise InvalidArgument, "a lease needs a connection of its own with autocommit, and this one is in a transaction"
    end

    # Takes or renews a lock: a Grant. With new: true the operator's own live lock is refused, too.
    def get(type, id, operator, department: nil, ttl: nil, new: nil)
      row = one("get_appl_lock_row", type, id, operator, department, seconds(:ttl, ttl), flag(:new, new))
      Answers.answer(Grant, "get_appl_lock", row)
    end

    # Takes or renews one of so many permits: a Permit.
    def permit(type, id, permits, operator, department: nil, ttl: nil)
      Answers.permit(call("get_appl_lock_permit", type, id, whole(:permits, permits), operator, department, seconds(:ttl, ttl)))
    end

    # Ends the operator's grant, or only the one with this fence: a Change. What is free already counts as granted.
    def release(type, id, operator, fence: nil, actor: nil, reason: nil)
      row = one("release_appl_lock_row", type, id, operator, whole(:fence, fence), actor, reason)
      Answers.answer(Change, "release_appl_lock", row)
    end

    # The Lock on an object, or nil when it is free.
    def inquire(type, id)
      Answers.lock(one("inquire_appl_lock_row", type, id))
    end

    # Hands a lock over from one operator to another: a Handover.
    def transfer(type, id, from:, to:, department: nil, ttl: nil, actor: nil, reason: nil)
      row = one("transfer_appl_lock_row", type, id, from, to, department, seconds(:ttl, ttl), actor, reason)
      Answers.answer(Handover, "transfer_appl_lock", row)
    end

    # Takes it from whoever holds it, or from the grant expected_fence only: a Handover. The former holder reads why in its inbox.
    def take(type, id, operator, reason:, department: nil, expected_fence: nil, ttl: nil)
      fence = whole(:expected_fence, expected_fence)
      row = one("take_appl_lock_row", type, id, operator, department, reason, fence, seconds(:ttl, ttl))
      Answers.answer(Handover, "take_appl_lock", row)
    end

    # Hands over one page of what an operator holds: a Changed for each lock, and fewer than max_rows are the last page. With
    # dry_run: true it only tells what would be done.
    def transfer_all(from:, to:, type: nil, department: nil, ttl: nil, actor: nil, reason: nil,
                     after_type: nil, after_id: nil, max_rows: nil, dry_run: nil)
      rows = call("transfer_appl_locks", from, type, to, department, seconds(:ttl, ttl), actor, reason, after_type, after_id,
                  whole(:max_rows, max_rows), flag(:dry_run, dry_run))
      rows.map { |row| Answers.answer(Changed, "transfer_appl_locks", row) }
    end

    # Releases one page of what an operator holds, likewise.
    def release_all(operator, type: nil, actor: nil, reason: nil, after_type: nil, after_id: nil, max_rows: nil, dry_run: nil)
      rows = call("release_appl_locks", operator, type, actor, reason, after_type, after_id, whole(:max_rows, max_rows),
                  flag(:dry_run, dry_run))
      rows.map { |row| Answers.answer(Changed, "release_appl_locks", row) }
    end

    # Says why the operator holds it, for whoever asks: a Change. No note takes that back.
    def note(type, id, operator, note, fence: nil)
      Answers.answer(Change, "note_appl_lock", one("note_appl_lock_row", type, id, operator, whole(:fence, fence), note))
    end

    # Removes what has been free for so many seconds, and returns how many rows that were.
    def purge(older_than: nil, max_rows: nil)
      one("purge_appl_locks_row", seconds(:older_than, older_than), whole(:max_rows, max_rows))[:purged]
    end

    # Removes events that are so many seconds old, and returns how many that were.
    def purge_history(older_than: nil, max_rows: nil)
      one("purge_appl_lock_history_row", seconds(:older_than, older_than), whole(:max_rows, max_rows))[:purged]
    end

    # Raises Lost unless this grant is live; it stays so until the transaction ends. There must be one.
    def assert(type, id, operator, fence)
      in_transaction(:assert)
      one("assert_appl_lock_row", type, id, operator, whole(:fence, fence))
      nil
    end

    # Waits until no other transaction is inside, and stays inside until this one ends. There must be one.
    def serialize(type, id)
      in_transaction(:serialize)
      one("serialize_appl_lock_row", type, id)
      nil
    end

    # Renews many: each is a hash with type, id, operator, fence and ttl. A Renewal for each; one that another transaction is changing
    # has none.
    def renew(grants)
      documents = grants.map { |grant| document(**grant) }
      call("renew_appl_locks", JSON.generate(documents)).map { |row| Answers.answer(Renewal, "renew_appl_locks", row) }
    end

    # Lists an operator as waiting, in the program that calls itself client.
    def announce(type, id, operator, client, department: nil, wait: nil)
      one("announce_appl_lock_waiter_row", type, id, operator, department, client, seconds(:wait, wait))
      nil
    end

    def retract(type, id, operator, client)
      one("retract_appl_lock_waiter_row", type, id, operator, client)
      nil
    end

    # What a program waits for, the soonest to be free first: rows with object_type, object_id and free_in_us.
    def poll(client, max_rows: nil)
      call("poll_appl_locks", client, whole(:max_rows, max_rows))
    end

    # Lays down for a type how long its locks last, at first and at most; what is nil is none.
    def set_policy(type, default_ttl: nil, longest_ttl: nil, take_reason: nil, actor: nil, reason: nil, history: nil, presence: nil,
                   yield_after: nil)
      row = one("set_appl_lock_policy_row", type, seconds(:default_ttl, default_ttl), seconds(:longest_ttl, longest_ttl),
                flag(:take_reason, take_reason), actor, reason, history, flag(:presence, presence), seconds(:yield_after, yield_after))
      Answers.answer(Policy, "set_appl_lock_policy", row)
    end

    def drop_policy(type, actor: nil, reason: nil)
      Answers.answer(Policy, "drop_appl_lock_policy", one("drop_appl_lock_policy_row", type, actor, reason))
    end

    # Asks whoever holds an object for it, in the program or browser tab that calls itself client: a Handover. It is listed for 60 s, or
    # until wait is over: ask again in each heartbeat. wait: 0 takes the request back. It is ASKED, and the holder has it; WITHDRAWN; or
    # GIVEN: the operator has it now, and former had it. It is not granted when it is FREE, or when the operator has it: OWN.
    def ask(type, id, operator, client, message: nil, department: nil, wait: nil)
      row = one("ask_appl_lock_row", type, id, operator, department, client, message, seconds(:wait, wait))
      Answers.answer(Handover, "ask_appl_lock", row)
    end

    # Answers asker, who asks for what the operator holds by the grant fence, as the inbox's AWAITED has them: a Told. GIVE hands it over,
    # and the outcome is GIVEN; LATER and NO are told, TOLD. It is not granted when it is HELD by another grant, FREE, or when the asker is
    # GONE. client is the asker's; nil is whichever.
    def answer(type, id, operator, fence:, asker:, answer:, client: nil, reason: nil)
      row = one("answer_appl_lock_row", type, id, operator, whole(:fence, fence), asker, client, answer, reason)
      Answers.answer(Told, "answer_appl_lock", row)
    end

    # Says that an operator looks at an object, in the browser tab that calls itself client: VIEWING, EDITING or IDLE, or nil, it leaves.
    # It returns who else is there: rows with kind, which is HOLDER, ASKER or VIEWER, operator_id, department_id, client_id, state,
    # since_ts, seconds_left and message. It is for each heartbeat of 15 s: the operator is listed for 45 s, or ttl, at most 60 s. It locks
    # nothing, and the history is not told.
    def see(type, id, operator, client, state, department: nil, ttl: nil)
      call("see_appl_lock", type, id, operator, department, client, state, seconds(:ttl, ttl))
    end

    # What others did with an operator's locks, who waits or asks for them, and how its requests were answered: rows with kind, which is
    # TAKEN, HANDED, RELEASED, GIVEN or YIELDED for events, and AWAITED, LATER or DECLINED for how it is now. AWAITED of a request has the
    # message, and with client_id and fence what answer wants. The next call passes the safe_event_id of any row: it may tell of an event
    # twice, and never of none.
    def inbox(operator, after_event_id: nil, max_rows: nil)
      call("inbox_appl_locks", operator, whole(:after_event_id, after_event_id), whole(:max_rows, max_rows))
    end

    # One page of a view in the order of its key, behind the row after: the rows that have these values in these columns.
    # appl_lock_history also has operator_id, who did, lost or got it, and since_seconds, how long ago it was at most.
    def read(view, after: nil, max_rows: 1000, **filters)
      key = KEYS.fetch(view) { raise InvalidArgument, "there is no view #{view}" }
      conditions = filters.compact.map { |name, value| condition(view, name, value) }
      conditions << @connection.behind(key, after) if after
      where = "WHERE #{conditions.map(&:first).join(' AND ')}" if conditions.any?
      rows("#{@prefix}#{view}", conditions.flat_map(&:last), "#{where} ORDER BY #{key.join(', ')} LIMIT #{Integer(max_rows)}")
    end

    private

    def one(routine, *values)
      call(routine, *values).first
    end

    def call(routine, *values)
      rows("#{@prefix}#{routine}(#{(['?'] * values.length).join(', ')})", values)
    end

    # A row is a frozen hash in which a wrong name is a KeyError.
    def rows(source, values, rest = "")
      check
      @connection.rows(source, values, rest).map do |row|
        strict = Hash.new { |_, name| raise KeyError, "there is no column #{name}" }
        row.each { |name, value| strict[name.delete_prefix("p_").to_sym] = value }
        strict.freeze
      end
    end

    def check
      return if @checked

      installed = @connection.rows("#{@prefix}appl_lock_version()", []).first.values.first
      if installed < CONTRACT
        raise WrongVersion, "the database has contract #{installed} of applock, and this gem needs #{CONTRACT}: run `applockctl migrate up`"
      end

      @checked = true
    end

    def in_transaction(method)
      return if @connection.transaction?

      raise InvalidArgument, "#{method} protects until the transaction ends, and there is none: begin one"
    end

    def document(type:, id:, operator:, fence:, ttl:)
      { object_type: type&.to_s, object_id: id&.to_s, operator_id: operator&.to_s, fence: whole(:fence, fence), ttl_seconds: seconds(:ttl, ttl) }
    end

    def condition(view, name, value)
      raise InvalidArgument, "not a column: #{name}" unless name.match?(/\A\w+\z/)
      return ["event_ts >= #{@connection.ago(Integer(value))}", []] if name == :since_seconds
      return ["? IN (actor_id, from_operator_id, to_operator_id)", [value]] if view == "appl_lock_history" && name == :operator_id

      ["#{name} = ?", [value]]
    end

    def seconds(name, value)
      whole(name, value, "a whole number of seconds")
    end

    def whole(name, value, kind = "a whole number")
      return value if value.nil? || value.is_a?(Integer)
      return value.to_i if value.respond_to?(:to_i) && value == value.to_i

      raise InvalidArgument, "#{name} must be #{kind}, and is #{value.inspect}"
    end

    def flag(name, value)
      { true => "Y", false => "N", nil => nil }.fetch(value) { raise InvalidArgument, "#{name} must be true or false, and is #{value.inspect}" }
    end
  end
end
