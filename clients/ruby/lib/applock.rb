# frozen_string_literal: true

# Application locks in a PostgreSQL, MariaDB or MySQL database: see Applock::Locks for the operations, and Applock::Leases for a
# lock that lasts as long as a block.
module Applock
end

require "applock/version"
require "applock/errors"
require "applock/answers"
require "applock/connections"
require "applock/locks"
require "applock/leases"
require "applock/model"
