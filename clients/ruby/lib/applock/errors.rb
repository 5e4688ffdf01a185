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

  # The database and this gem do not fit together. The message says which of them to update.
  class WrongVersion < Error
  end

  # Somebody else has what a lease was to get.
  class Held < Error
    # The refused Grant, whose holder has it.
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
