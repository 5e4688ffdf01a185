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
  # The block of new makes a connection. A lease has one as long as it lasts, and its thread another one from the first renewal on. It
  # closes both; one of ActiveRecord's pool goes back there.
  class Leases
    # Leases with the same scope re-enter each other. By default these are the leases of this object.
    def initialize(schema: nil, dialect: nil, scope: self, &connect)
      raise InvalidArgument, "a block that makes a connection is missing" unless connect

      @scope = scope
      @open = -> { own(connect.call, schema, dialect) }
    end

    # Calls the block while it holds the object, and returns the block's result. ttl is how many seconds the object stays locked after a
    # crash. wait is how many seconds to wait for a held object, nil for no limit; then it raises Held. Within the block the same thread
    # gets the same lease again, whatever the options are.
    #
    # If the lock was lost meanwhile, lease.check raises Lost, and so does the end of the block, unless it raises another exception. A block
    # that was paused cannot know: pass operator and fence to Locks#assert in the transaction that writes.
    def with_lock(type, id, ttl: 30, wait: 0, department: nil)
      held = (Thread.current[:applock_leases] ||= {})
      key = [@scope, Process.pid, type.to_s, id.to_s] # a child process has none of its parent's leases
      return yield held[key].tap(&:check) if held.key?(key)

      lease = Lease.new(@open, type, id, ttl: ttl, wait: wait, department: department)
      begin
        lease.during { yield held[key] = lease }
      ensure
        held.delete(key)
      end
    end

    private

    # A connection that cannot be used is given back, too.
    def own(connection, schema, dialect)
      Locks.new(connection, schema: schema, dialect: dialect).alone
    rescue Exception
      connection.close rescue nil # the first error counts
      raise
    end
  end

  # The argument of the block of Leases#with_lock.
  class Lease
    # After that many seconds a get without an answer is released once more: it may have arrived late.
    LATE = [1, 5, 15].freeze

    attr_reader :type, :id, :department, :operator, :fence

    def initialize(open, type, id, ttl:, wait:, department:) # :nodoc:
      raise InvalidArgument, "ttl must be a whole number of seconds, 1 or greater" unless ttl.to_i == ttl && ttl >= 1

      @open, @type, @id, @department, @ttl, @patience = open, type, id, department, ttl.to_i, wait&.to_f
      @operator = "#{Socket.gethostname[0, 30]}/#{Process.pid}/#{SecureRandom.hex(8)}"
      @process = Process.pid
      @mutex, @end = Mutex.new, ConditionVariable.new
    end

    # Whether the lease is no longer to be trusted: its lock was taken, it could not be renewed in time, it has ended, or this is a child of
    # the process that entered it.
    def lost?
      !ours? || @ended || (@lost ||= Clock.now >= @deadline)
    end

    # Raises Lost if it is lost.
    def check
      return unless lost?

      unless ours?
        raise Lost, "the lock of #{type}:#{id} belongs to process #{@process}, which entered the lease: a child process needs a lease of its own"
      end
      raise Lost, "the lock of #{type}:#{id} is #{@lost || !@ended ? 'lost' : 'released'}"
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
      if ours?
        leave(keeper, quietly: failed)
      elsif !failed
        check # a child, which leaves the lock and the connections alone
      end
    end

    private

    def ours?
      @process == Process.pid
    end

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
      check if @lost && !quietly
    end

    def acquire
      answer = ask
      unless answer&.granted? || @patience&.zero?
        refuse_itself(answer)
        answer = wait(answer)
      end
      refuse(answer) unless answer&.granted?
      check
    end

    def refuse(answer)
      raise answer ? Held.new(answer) : @busy
    end

    # A thread that is in the block of a lease cannot wait for its end. Leases of one scope re-enter each other, and do not come here.
    def refuse_itself(answer)
      return unless Thread.current[:applock_leases]&.any? { |(_, pid), held| pid == Process.pid && held.operator == answer&.holder&.operator }

      raise InvalidArgument, "this thread is in a block with a lease of #{type}:#{id}, and would wait for its end: " \
                             "use the same Leases, or the same scope, to enter it again"
    end

    # Gets the lock, or returns nil if other transactions were in the way. A call without an answer may have taken it, and is released.
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

    # How long this process trusts the lock: from before the call, and a little less than in the database.
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

    # A waiter that was paused for long is no longer listed, like one that has just begun.
    def sleep_until_free(client, most, ends)
      row = @locks.poll(client).first
      return announce(client, ends) unless row

      left = ends ? ends - Clock.now : most
      @locks.connection.wait([row[:free_in_us] / 1e6, most, left].min.clamp(0, most), "#{type}:#{id}")
    end

    # Renews until the lease ends or is lost. A failed connection is replaced.
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

    # Whether it is renewed. There is no row while another transaction changes or asserts the lock.
    def renew(locks)
      asked = Clock.now
      renewal = locks.renew([{ type: type, id: id, operator: operator, fence: fence, ttl: @ttl }]).first
      return unless renewal
      return @lost ||= !@ended unless renewal.granted?

      trust(asked, fence)
    end

    # Releases the grant, and returns whether it was there. A failed connection is replaced once.
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

    # No other caller has this operator, so a release without a fence ends only what the get may have taken.
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

    # A lock that remains ends after the ttl.
    def quietly
      yield
    rescue StandardError
      nil
    end
  end

  # Seconds of a clock that counts the machine's sleep, too, if there is one.
  module Clock
    KIND = Process.const_defined?(:CLOCK_BOOTTIME) ? Process::CLOCK_BOOTTIME : Process::CLOCK_MONOTONIC

    module_function

    def now
      Process.clock_gettime(KIND)
    end
  end
  private_constant :Clock
end
