# frozen_string_literal: true

require "json"

module Applock
  # The operations, on one connection: a PG::Connection, a Mysql2::Client, a subclass of them, or one of ActiveRecord. The connection
  # and the transaction are yours: a method's effect is final when you commit, or at once outside of a transaction, also where MySQL or
  # MariaDB has autocommit off.
  #
  # Types, ids and operators may be of any class: they travel as text. A ttl is a whole number of seconds or an ActiveSupport::Duration;
  # nil has the meaning of NULL in procedures/README.md. A refusal is an answer that is not granted?. Errors are InvalidArgument, Lost,
  # Contention, and what the driver raises.
  class Locks
    # The views, and the columns that identify a row.
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
    # "mysql", is for a wrapper that only has the methods of PG::Connection or Mysql2::Client.
    def initialize(connection, schema: nil, dialect: nil)
      @connection = Connection.for(connection, dialect)
      schema ||= @connection.default_schema
      @prefix = schema ? "#{schema}." : ""
      @channel = "#{schema}_appl_lock"
    end

    attr_reader :connection, :channel # :nodoc:

    # Returns self, unless the effect of a call would wait for a commit.
    def alone # :nodoc:
      return self unless @connection.begun?

      raise InvalidArgument, "a lease needs a connection of its own with autocommit, and this one is in a transaction"
    end

    # Takes or renews the lock on an object until it expires: a Grant. new: true also refuses to renew the operator's own live lock.
    def get(type, id, operator, department: nil, ttl: nil, new: nil)
      row = one("get_appl_lock_row", type, id, operator, department, seconds(:ttl, ttl), flag(:new, new))
      Answers.answer(Grant, "get_appl_lock", row)
    end

    # Takes or renews one of the permits of an object until it expires: a Permit.
    def permit(type, id, permits, operator, department: nil, ttl: nil)
      Answers.permit(call("get_appl_lock_permit", type, id, whole(:permits, permits), operator, department, seconds(:ttl, ttl)))
    end

    # Ends the operator's grant, or only the one with this fence: a Change. It is granted as well if the object is free.
    def release(type, id, operator, fence: nil, actor: nil, reason: nil)
      row = one("release_appl_lock_row", type, id, operator, whole(:fence, fence), actor, reason)
      Answers.answer(Change, "release_appl_lock", row)
    end

    # Shows who holds an object, since when and until when: a Lock, or nil if it is free.
    def inquire(type, id)
      Answers.lock(one("inquire_appl_lock_row", type, id))
    end

    # Hands a held object from one operator to another: a Handover.
    def transfer(type, id, from:, to:, department: nil, ttl: nil, actor: nil, reason: nil)
      row = one("transfer_appl_lock_row", type, id, from, to, department, seconds(:ttl, ttl), actor, reason)
      Answers.answer(Handover, "transfer_appl_lock", row)
    end

    # Takes a held object from its holder, or only from the grant expected_fence: a Handover. The former holder finds the reason in its
    # inbox.
    def take(type, id, operator, reason:, department: nil, expected_fence: nil, ttl: nil)
      fence = whole(:expected_fence, expected_fence)
      row = one("take_appl_lock_row", type, id, operator, department, reason, fence, seconds(:ttl, ttl))
      Answers.answer(Handover, "take_appl_lock", row)
    end

    # Hands over one page of what an operator holds: a Changed for each lock. The last page has fewer than max_rows. dry_run: true changes
    # nothing.
    def transfer_all(from:, to:, type: nil, department: nil, ttl: nil, actor: nil, reason: nil,
                     after_type: nil, after_id: nil, max_rows: nil, dry_run: nil)
      rows = call("transfer_appl_locks", from, type, to, department, seconds(:ttl, ttl), actor, reason, after_type, after_id,
                  whole(:max_rows, max_rows), flag(:dry_run, dry_run))
      rows.map { |row| Answers.answer(Changed, "transfer_appl_locks", row) }
    end

    # Releases one page of what an operator holds, in the same way.
    def release_all(operator, type: nil, actor: nil, reason: nil, after_type: nil, after_id: nil, max_rows: nil, dry_run: nil)
      rows = call("release_appl_locks", operator, type, actor, reason, after_type, after_id, whole(:max_rows, max_rows),
                  flag(:dry_run, dry_run))
      rows.map { |row| Answers.answer(Changed, "release_appl_locks", row) }
    end

    # Leaves a note on why the operator holds an object, for everybody to read: a Change. A nil note removes it.
    def note(type, id, operator, note, fence: nil)
      Answers.answer(Change, "note_appl_lock", one("note_appl_lock_row", type, id, operator, whole(:fence, fence), note))
    end

    # Removes the rows of objects that have been free for older_than seconds, and returns their number.
    def purge(older_than: nil, max_rows: nil)
      one("purge_appl_locks_row", seconds(:older_than, older_than), whole(:max_rows, max_rows))[:purged]
    end

    # Removes events older than older_than seconds from the history, and returns their number.
    def purge_history(older_than: nil, max_rows: nil)
      one("purge_appl_lock_history_row", seconds(:older_than, older_than), whole(:max_rows, max_rows))[:purged]
    end

    # Raises Lost unless exactly this grant is live, and keeps it so until the end of the transaction, which must be open.
    def assert(type, id, operator, fence)
      in_transaction(:assert)
      one("assert_appl_lock_row", type, id, operator, whole(:fence, fence))
      nil
    end

    # Lets one transaction at a time work on an object, until the end of this one, which must be open.
    def serialize(type, id)
      in_transaction(:serialize)
      one("serialize_appl_lock_row", type, id)
      nil
    end

    # Renews many grants in one call, each by its fence: hashes with type, id, operator, fence and ttl. It returns a Renewal for each. A
    # grant without one is locked by another transaction: retry it.
    def renew(grants)
      documents = grants.map { |grant| document(**grant) }
      call("renew_appl_locks", JSON.generate(documents)).map { |row| Answers.answer(Renewal, "renew_appl_locks", row) }
    end

    # Lists an operator of the program client as a waiter for an object.
    def announce(type, id, operator, client, department: nil, wait: nil)
      one("announce_appl_lock_waiter_row", type, id, operator, department, client, seconds(:wait, wait))
      nil
    end

    def retract(type, id, operator, client)
      one("retract_appl_lock_waiter_row", type, id, operator, client)
      nil
    end

    # The objects that a program waits for, the earliest to be free first: rows with object_type, object_id, free_in_us, and first_fl,
    # which is Y when it is free and the turn of the program, whose waiter has been listed longest. It keeps the waiters listed.
    def poll(client, max_rows: nil)
      call("poll_appl_locks", client, whole(:max_rows, max_rows))
    end

    # Sets a type's policy: how long its locks last, whether a take needs a reason, what the history records, and who sees whom. A nil
    # setting is unset.
    def set_policy(type, default_ttl: nil, longest_ttl: nil, take_reason: nil, actor: nil, reason: nil, history: nil, presence: nil,
                   yield_after: nil)
      row = one("set_appl_lock_policy_row", type, seconds(:default_ttl, default_ttl), seconds(:longest_ttl, longest_ttl),
                flag(:take_reason, take_reason), actor, reason, history, flag(:presence, presence), seconds(:yield_after, yield_after))
      Answers.answer(Policy, "set_appl_lock_policy", row)
    end

    def drop_policy(type, actor: nil, reason: nil)
      Answers.answer(Policy, "drop_appl_lock_policy", one("drop_appl_lock_policy_row", type, actor, reason))
    end

    # Asks an object's holder for it: a Handover. client is the asking program or browser tab. The request is listed for 60 s, or until
    # wait is over: repeat the call in each heartbeat. wait: 0 withdraws the request. The outcome is ASKED, and the holder has the object;
    # WITHDRAWN; or GIVEN: the operator has it now, and former had it before. It is not granted for FREE, and for OWN: the operator has the
    # object already.
    def ask(type, id, operator, client, message: nil, department: nil, wait: nil)
      row = one("ask_appl_lock_row", type, id, operator, department, client, message, seconds(:wait, wait))
      Answers.answer(Handover, "ask_appl_lock", row)
    end

    # Answers an operator who asks for a held object: a Told. The inbox's AWAITED has fence, asker and client. GIVE hands the object over:
    # GIVEN. LATER and NO are for the asker to read: TOLD. It is not granted for HELD, FREE, and for GONE: the asker no longer asks. A nil
    # client is any client of the asker.
    def answer(type, id, operator, fence:, asker:, answer:, client: nil, reason: nil)
      row = one("answer_appl_lock_row", type, id, operator, whole(:fence, fence), asker, client, answer, reason)
      Answers.answer(Told, "answer_appl_lock", row)
    end

    # Lists an operator as a viewer of an object in the browser tab client: VIEWING, EDITING or IDLE. nil removes it. It returns the object's
    # holder, askers and other viewers: rows with kind, which is HOLDER, ASKER or VIEWER, operator_id, department_id, client_id, state,
    # since_ts, seconds_left and message. The operator is listed for 45 s, or ttl, at most 300 s: repeat the call in each heartbeat of 15 s.
    # It locks nothing, and the history does not record it.
    def see(type, id, operator, client, state, department: nil, ttl: nil)
      call("see_appl_lock", type, id, operator, department, client, state, seconds(:ttl, ttl))
    end

    # Reports what others did with an operator's locks, who waits or asks for them, and how its requests were answered: rows with kind, which
    # is TAKEN, HANDED, RELEASED, GIVEN or YIELDED for an event, and AWAITED, LATER or DECLINED for the present state. AWAITED of a request
    # has the message, and the client_id and fence for answer. Pass the next_position of any row to the next call, or the same position
    # where there was no row: no event is left out.
    def inbox(operator, position: nil, max_rows: nil)
      call("inbox_appl_locks", operator, position, whole(:max_rows, max_rows))
    end

    # One page of a view in the order of its key, after the row after: the rows that have these values in these columns. appl_lock_history
    # has two more filters: operator_id, who caused an event or is named in it, and since_seconds, its greatest age.
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

    # A row is a frozen hash. A wrong key raises a KeyError.
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
