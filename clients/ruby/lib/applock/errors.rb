# frozen_string_literal: true

module Applock
  # The base of the errors of this library. What the driver raises passes through unchanged.
  class Error < StandardError
  end

  # A mistake in the call, LK001: the same call fails again.
  class InvalidArgument < Error
  end

  # The grant is not live any more, LK002, or a lease has ended before its block.
  class Lost < Error
  end

  # The object changed hands too often during the call, LK003: call again.
  class Contention < Error
  end

  # The database and this gem have different contracts. The message says which of them to update.
  class WrongVersion < Error
  end

  # Another holder has the object of a lease.
  class Held < Error
    # The refused Grant, with the holder.
    attr_reader :answer

    def initialize(answer)
      super("held by #{answer.holder.operator} for another #{answer.seconds_left} s")
      @answer = answer
    end

    def holder
      answer.holder
    end
  end
end
