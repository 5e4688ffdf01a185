# frozen_string_literal: true

module Applock
  VERSION = "0.1.0"

  # The contract that the database must have at least, as appl_lock_version tells it.
  CONTRACT = 1
end
