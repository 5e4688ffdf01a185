# frozen_string_literal: true

require "etc"
require "securerandom"
require "socket"

module Applock
  # Locks that last as long as a block, renewed meanwhile by a thread.
  #
  #   leases = Applock::Leases.new { PG.connect }
  #   leases.with_lock("job", "report", ttl: 30, wait: 10) do |lease|
  #     pages.each { |page| lease.check; publish(page, lease.fence) }
  #   end
  #
  # The block of new makes a connection. A lease has one as long as it lasts, and its thread another one from the first renewal on; it
  # closes both, which gives one of ActiveRecord's pool back.
  class Leases
    # scope tells which leases re-enter each other: those with the same one, by default those of this object.
    def initialize(schema: nil, dialect: nil, scope: self, &connect)
      raise InvalidArgument, "a block that makes a connection is missing" unless connect

      @scope = scope
      @open = -> { Locks.new(connect.call, schema: schema, dialect: dialect).alone }
    end

    # Calls the block while it holds the object, and returns what the block does. ttl is how many seconds the object stays locked
    # after a crash. wait is how many seconds to wait for whoever has it, nil without a limit; then Held is raised. Within the block the
    # same thread has the same lease again, whatever the options say.
    #
    # When the lock was lost meanwhile, lease.check raises Lost, and so does the end of the block, unless it ends by an exception.
    # A block that was paused does not know: pass operator and fence to Locks#assert in the transaction that writes.
    def with_lock(type, id, ttl: 30, wait: 0, department: nil)
      held = (Thread.current[:applock_leases] ||= {})
      key = [@scope, type.to_s, id.to_s]
      return yield held[key].tap(&:check) if held.key?(key)

      lease = Lease.new(@open, type, id, ttl: ttl, wait: wait, department: department)
      begin
        lease.during { yield held[key] = lease }
      ensure
        held.delete(key)
      end
    end
  end

  # What the block of Leases#with_lock is given.
  class Lease
    # After so many seconds a get without an answer is released once more: it may have arrived late.
    LATE = [1, 5, 15].freeze

    attr_reader :type, :id, :department, :operator, :fence

    def initialize(open, type, id, ttl:, wait:, department:) # :nodoc:
      raise InvalidArgument, "ttl must be a whole number of seconds, 1 or greater" unless ttl.to_i == ttl && ttl >= 1

      @open, @type, @id, @department, @ttl, @patience = open, type, id, department, ttl.to_i, wait&.to_f
      @operator = "#{Socket.gethostname[0, 30]}/#{Process.pid}/#{SecureRandom.hex(8)}"
      @process = Process.pid
      @mutex, @end = Mutex.new, ConditionVariable.new
    end

    # Whether the lease may not be trusted any more: somebody has taken the lock away, or it could not be renewed in time.
    def lost?
      @lost ||= !@ended && Clock.now >= @deadline
    end

    # Raises Lost if it is lost.
    def check
      raise Lost, "the lock of #{type}:#{id} is lost" if lost?
    end

    # Runs the block with the lock, and releases it.
    def during # :nodoc:
      @locks = @open.call
      acquire
      keeper = Thread.new { keep }
      yield
    rescue Exception # also an interruption
      failed = true
      raise
    ensure
      leave(keeper, quietly: failed) if @process == Process.pid # not in a child that a fork in the block has made
    end

    private

    def leave(keeper, quietly:)
      lost? if @deadline
      @mutex.synchronize do
        @ended = true
        @end.signal
      end
      @lost = true if @fence && !release
    rescue StandardError
      raise unless quietly || @lost
    ensure
      close(@locks)
      keeper&.join(1) # it ends by itself, when a call of its own does
      check unless quietly
    end

    def acquire
      answer = ask
      answer = wait(answer) unless answer&.granted? || @patience&.zero?
      refuse(answer) unless answer&.granted?
      check
    end

    def refuse(answer)
      raise answer ? Held.new(answer) : @busy
    end

    # Gets the lock, or nil if others were in the way of the call. What has no answer may have taken it, and is released.
    def ask
      asked = Clock.now
      answer = @locks.get(type, id, operator, department: department, ttl: @ttl)
      trust(asked, answer.fence) if answer.granted?
      answer
    rescue InvalidArgument, WrongVersion
      raise
    rescue Exception => @busy
      return if busy?(@busy)

      give_back
      raise
    end

    # The time for which the lock counts here: a little less than in the database, from before the call.
    def trust(asked, fence)
      @deadline = asked + @ttl - [@ttl / 10.0, 1].min
      @fence = fence
    end

    def wait(answer)
      client, channel, ends = SecureRandom.hex(16), @locks.channel, @patience && Clock.now + @patience
      @locks.connection.listen(channel)
      pause = 0.01
      loop do
        pause = [pause * 2, 1].min
        sleep_until_free(client, pause * rand(0.5..1.0), ends)
        answer = ask || answer
        return answer if answer&.granted? || (ends && Clock.now >= ends)
      end
    ensure
      quietly { @locks.retract(type, id, operator, client) }
      quietly { @locks.connection.unlisten(channel) }
    end

    def announce(client, ends)
      @locks.announce(type, id, operator, client, department: department, wait: ends && [(ends - Clock.now).ceil, 1].max)
    end

    # A waiter that was paused for long is not listed any more, like one that has just begun.
    def sleep_until_free(client, most, ends)
      row = @locks.poll(client).first
      return announce(client, ends) unless row

      left = ends ? ends - Clock.now : most
      @locks.connection.wait([row[:free_in_us] / 1e6, most, left].min.clamp(0, most), "#{type}:#{id}")
    end

    # Renews until the lease ends or is lost. A connection that fails is replaced.
    def keep
      locks, pause = nil, @ttl / 3.0
      while pause_for(pause) && !lost?
        pause = [@ttl / 9.0, 1].min
        begin
          locks ||= @open.call
          pause = @ttl / 3.0 if renew(locks)
        rescue StandardError
          close(locks)
          locks = nil
        end
      end
    ensure
      close(locks)
    end

    # Whether the lease has not ended meanwhile.
    def pause_for(seconds)
      @mutex.synchronize do
        @end.wait(@mutex, seconds) unless @ended
        !@ended
      end
    end

    # Whether it is renewed. A transaction that is changing or asserting it is in the way: there is no row then.
    def renew(locks)
      asked = Clock.now
      renewal = locks.renew([{ type: type, id: id, operator: operator, fence: fence, ttl: @ttl }]).first
      return unless renewal
      return @lost ||= !@ended unless renewal.granted?

      trust(asked, fence)
    end

    # Releases the grant, and tells whether it was there. A connection that fails is replaced, once.
    def release
      released = ["RELEASED"]
      begin
        @locks ||= @open.call
        released.include?(@locks.release(type, id, operator, fence: fence).outcome)
      rescue StandardError => error
        raise if released.length > 1 || (error.is_a?(Error) && !busy?(error))

        close(@locks)
        @locks = nil
        released << "FREE" # the first call may have done it
        retry
      end
    end

    # Nobody else has this operator, so that a release without a fence ends what the get may have taken, and nothing else.
    def give_back
      quietly { released_apart }
      Thread.new { LATE.each { |seconds| quietly { sleep(seconds) && released_apart } } }
    end

    def released_apart
      locks = @open.call
      locks.release(type, id, operator)
    ensure
      close(locks)
    end

    def busy?(error)
      error.is_a?(Contention) || @locks&.connection&.busy?(error)
    end

    def close(locks)
      quietly { locks&.connection&.close }
    end

    # What is left ends after the ttl.
    def quietly
      yield
    rescue StandardError
      nil
    end
  end

  # Seconds that go on while the machine sleeps, where it can tell.
  module Clock
    KIND = Process.const_defined?(:CLOCK_BOOTTIME) ? Process::CLOCK_BOOTTIME : Process::CLOCK_MONOTONIC

    module_function

    def now
      Process.clock_gettime(KIND)
    end
  end
  private_constant :Clock
end
