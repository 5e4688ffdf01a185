# frozen_string_literal: true

require "json"
require "time"

module Applock
  # Calls on a connection, for Locks. A call passes all options that the user may have set differently, and changes no setting.
  class Connection
    # The class for a connection of the user's: a PG::Connection, a Mysql2::Client, a subclass of them, or one of ActiveRecord.
    def self.for(connection, dialect)
      case dialect&.to_s || dialect_of(raw(connection))
      when "postgres" then Postgres.new(connection)
      when "mysql" then MySQL.new(connection)
      when nil
        raise InvalidArgument, "#{connection.class} is neither a PG::Connection nor a Mysql2::Client: give the connection below it, or " \
                               "say dialect: \"postgres\" or \"mysql\" if it has the methods of one of them"
      else raise InvalidArgument, "dialect must be \"postgres\" or \"mysql\""
      end
    end

    def self.dialect_of(raw)
      return "postgres" if defined?(PG::Connection) && raw.is_a?(PG::Connection)

      "mysql" if defined?(Mysql2::Client) && raw.is_a?(Mysql2::Client)
    end

    # Asking ActiveRecord for this begins its transaction on the server. After a reconnect it may be another connection.
    def self.raw(connection)
      connection.respond_to?(:raw_connection) ? connection.raw_connection : connection
    end

    def initialize(connection)
      @connection = connection
    end

    def raw
      Connection.raw(@connection)
    end

    def close
      @connection.close
    end

    private

    def error_for(state, message)
      kind = { "LK001" => InvalidArgument, "LK002" => Lost, "LK003" => Contention }[state]
      kind&.new(message)
    end
  end

  class Postgres < Connection
    BUSY = %w[40001 40P01 55P03].freeze

    def default_schema
      "applock"
    end

    # The rows come as JSON, which no setting of the session or of the connection's type maps changes.
    def rows(source, values, rest = "")
      place = 0
      statement = "SELECT pg_catalog.row_to_json(r) FROM (SELECT * FROM #{source}) AS r #{rest}".gsub("?") { "$#{place += 1}" }
      result = raw.exec_params(statement, values.map { |value| value&.to_s }, 0, PG::TypeMapAllStrings.new)
      result.type_map = PG::TypeMapAllStrings.new
      result.column_values(0).map { |json| JSON.parse(json).to_h { |name, value| [name, timed(name, value)] } }
    rescue PG::Error => error
      raise error_for(field(error, PG::Result::PG_DIAG_SQLSTATE), field(error, PG::Result::PG_DIAG_MESSAGE_PRIMARY)) || error
    end

    def transaction?
      raw.transaction_status != PG::PQTRANS_IDLE
    end
    alias begun? transaction?

    def ago(seconds)
      "statement_timestamp() - #{seconds} * interval '1 second'"
    end

    # The condition for the rows after a row, in the order of the key.
    def behind(key, after)
      ["(#{key.join(', ')}) > (#{(['?'] * key.length).join(', ')})", key.map { |name| after.fetch(name) }]
    end

    def busy?(error)
      error.is_a?(PG::Error) && BUSY.include?(field(error, PG::Result::PG_DIAG_SQLSTATE))
    end

    def listen(channel)
      raw.exec("LISTEN #{raw.quote_ident(channel)}")
    end

    def unlisten(channel)
      raw.exec("UNLISTEN #{raw.quote_ident(channel)}")
    end

    # Waits for this message, or for that many seconds.
    def wait(seconds, payload)
      ends = Clock.now + seconds
      until (left = ends - Clock.now) <= 0
        return if raw.wait_for_notify(left) { |_, _, told| break told == payload }
      end
    end

    private

    def timed(name, value)
      value && name.end_with?("_ts") ? Time.iso8601(value).utc : value
    end

    def field(error, code)
      error.result&.error_field(code)
    end
  end

  class MySQL < Connection
    # All options that a client's query_options may have set.
    OPTIONS = { as: :array, symbolize_keys: false, cast: true, cast_booleans: false, cache_rows: true, stream: false, async: false,
                database_timezone: :utc, application_timezone: :utc }.freeze
    BUSY = [1020, 1205, 1213].freeze
    FOR_A_TRANSACTION = /(serialize|assert)_appl_lock_row/

    def default_schema
      nil # a schema is a database, and the connection's own one needs no name
    end

    # Where the server has autocommit off, a call begins a transaction that its caller does not know of: it ends with the call.
    def rows(source, values, rest = "")
      is_whole = !autocommit? && !source.match?(FOR_A_TRANSACTION) && !begun?
      rows = select(source.end_with?(")") ? "CALL #{source}" : "SELECT * FROM #{source} AS r #{rest}", values)
      raw.query("COMMIT", OPTIONS) if is_whole
      rows
    rescue Exception
      roll_back if is_whole
      raise
    end

    # Whether a transaction has begun, also by a statement without autocommit. Then the next one cannot be set any more.
    def begun?
      return transaction? if autocommit?

      raw.query("SET TRANSACTION READ WRITE", OPTIONS)
      false
    rescue Mysql2::Error => error
      raise unless error.error_number == 1568

      true
    end

    # Without a transaction the savepoint ends with its statement. Without autocommit there always is one.
    def transaction?
      raw.query("SAVEPOINT applock_in_transaction", OPTIONS)
      raw.query("RELEASE SAVEPOINT applock_in_transaction", OPTIONS)
      true
    rescue Mysql2::Error => error
      raise unless error.error_number == 1305

      false
    end

    def ago(seconds)
      "UTC_TIMESTAMP(6) - INTERVAL #{seconds} SECOND"
    end

    # The servers read a range of the key only if each column is compared.
    def behind(key, after)
      name, *rest = key
      value = after.fetch(name)
      return ["#{name} > ?", [value]] if rest.empty?

      condition, values = behind(rest, after)
      ["(#{name} > ? OR #{name} = ? AND #{condition})", [value, value, *values]]
    end

    def busy?(error)
      error.is_a?(Mysql2::Error) && BUSY.include?(error.error_number)
    end

    def listen(_channel); end

    def unlisten(_channel); end

    def wait(seconds, _payload)
      sleep(seconds)
    end

    private

    def roll_back
      raw.query("ROLLBACK", OPTIONS)
    rescue Mysql2::Error
      nil # the connection has failed, and the transaction with it
    end

    # Asked once of each connection.
    def autocommit?
      client = raw
      @autocommit = client.query("SELECT @@autocommit", OPTIONS).first.first == 1 unless client.equal?(@asked)
      @asked = client
      @autocommit
    end

    def select(statement, values)
      values = values.dup
      result = raw.query(statement.gsub("?") { literal(values.shift) }, OPTIONS)
      rows = result.map { |row| result.fields.map(&:to_s).zip(row.map { |value| value.is_a?(String) ? value.encode("UTF-8") : value }).to_h }
      # A CALL ends with a second result, which must be read before the next statement.
      raw.store_result while raw.next_result
      rows
    rescue Mysql2::Error => error
      raise error_for(error.sql_state, error.message) || error
    end

    def literal(value)
      case value
      when nil then "NULL"
      when Integer then value.to_s
      else "'#{raw.escape(value.to_s)}'"
      end
    end
  end
  private_constant :Connection, :Postgres, :MySQL
end
