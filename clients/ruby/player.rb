# Plays the scenarios for clients/player_test.go through the installed gem: player.rb DRIVER

require "applock"

STDIN.set_encoding("UTF-8")
STDOUT.set_encoding("UTF-8")
STDOUT.sync = true

DRIVER = ARGV[0]
require DRIVER

def connect
  return PG.connect if DRIVER == "pg"

  Mysql2::Client.new(host: ENV["MYSQL_HOST"], port: Integer(ENV["MYSQL_TCP_PORT"]), username: ENV["MYSQL_USER"],
                     password: ENV["MYSQL_PWD"], database: ENV["MYSQL_DATABASE"], encoding: "utf8mb4")
end

ESCAPES = { "\\" => "\\\\", "\t" => "\\t", "\n" => "\\n", "\r" => "\\r" }.freeze

def encode(value)
  case value
  when nil then "\\N"
  when Time then value.strftime("%Y-%m-%dT%H:%M:%S.%6N%:z")
  else value.to_s.gsub(/[\\\t\n\r]/, ESCAPES)
  end
end

def decode(field)
  return nil if field == "\\N"

  field.gsub(/\\[\\tnr]/, ESCAPES.invert)
end

def number(field)
  field && Integer(field)
end

# What is no flag goes to the library as it is, which has to refuse it.
def flag(field, blank: nil)
  { "Y" => true, "N" => false, "" => blank }.fetch(field&.rstrip, field)
end

def say(*fields)
  puts fields.map { |field| encode(field) }.join("\t")
end

def grants(fields)
  fields.each_slice(5).map do |type, id, operator, fence, ttl|
    { type: type, id: id, operator: operator, fence: number(fence), ttl: number(ttl) }
  end
end

def increment(connection, locks, operator)
  sleep 0.01 until operator.nil? || locks.get("counter", 1, operator, ttl: 60).granted?
  count(connection)
  locks.release("counter", 1, operator) if operator
  []
end

def increment_leased(connection)
  Applock::Leases.new { connect }.with_lock("counter", 1, wait: nil) { count(connection) }
  []
end

# The counter, between whose read and write the runner decides how long it takes.
def count(connection)
  n = Integer(connection.query("SELECT n FROM counter").first["n"])
  say("read", n)
  STDIN.gets
  connection.query("UPDATE counter SET n = #{n + 1}")
end

# A view, with names and values in turn.
def read(locks, view, fields)
  named = fields.each_slice(2).to_h
  max_rows = named.delete("max_rows") || 1000
  after, filters = named.partition { |name, _| name.start_with?("after_") }.map(&:to_h)
  after = after.transform_keys { |name| name.delete_prefix("after_").to_sym }
  locks.read(view, after: after.empty? ? nil : after, max_rows: max_rows, **filters.transform_keys(&:to_sym)).map(&:values)
end

def versions
  version = DRIVER == "pg" ? PG::VERSION : Mysql2::VERSION
  [["Ruby #{RUBY_VERSION}", "#{DRIVER} #{version}"]]
end

# The contract's columns of an answer, behind its truth.
def columns(answer)
  holder = answer.former if answer.is_a?(Applock::Handover)
  holder ||= answer.holder
  [holder&.operator || "", holder&.department || ""]
end

def row(answer)
  values = answer.to_h.except(:granted, :outcome, :holder, :former, :type, :id).values
  [answer.granted?, answer.granted? ? "Y" : "N", answer.outcome, *(columns(answer) if answer.respond_to?(:holder)), *values]
end

def list(answers)
  answers.map do |answer|
    values = answer.to_h.except(:granted, :outcome, :holder, :type, :id).values
    [answer.granted?, answer.type, answer.id, answer.outcome, *columns(answer), *values]
  end
end

def permit(answer, operator, department)
  return answer.holders.map { |slot| [false, answer.outcome, *slot.to_a] } unless answer.granted?

  [[true, answer.outcome, answer.slot_id, operator.rstrip, department, answer.fence, answer.acquired_at, answer.expires_at,
    answer.seconds_left, answer.note]]
end

def lock(found)
  found ? ["Y", *found.to_a] : ["N", "", "", 0, nil, nil, nil, 0, ""]
end

# What only a transaction may call, in one.
def in_transaction(connection)
  connection.query("BEGIN")
  yield
  connection.query("COMMIT")
  []
rescue StandardError
  connection.query("ROLLBACK")
  raise
end

def play(connection, locks, operation, a)
  case operation
  when "versions" then versions
  when "increment" then increment(connection, locks, *a)
  when "increment_leased" then increment_leased(connection)
  when "get_appl_lock" then [row(locks.get(*a[0..2], department: a[3], ttl: number(a[4]), new: flag(a[5])))]
  when "get_appl_lock_permit"
    answer = locks.permit(*a[0..1], number(a[2]), a[3], department: a[4], ttl: number(a[5]))
    permit(answer, a[3], answer.granted? && locks.inquire(a[0], answer.slot_id).department)
  when "release_appl_lock" then [row(locks.release(*a[0..2], fence: number(a[3]), actor: a[4], reason: a[5]))]
  when "inquire_appl_lock" then [lock(locks.inquire(*a))]
  when "transfer_appl_lock"
    [row(locks.transfer(*a[0..1], from: a[2], to: a[3], department: a[4], ttl: number(a[5]), actor: a[6], reason: a[7]))]
  when "note_appl_lock" then [row(locks.note(*a[0..2], a[4], fence: number(a[3])))]
  when "purge_appl_locks" then [[locks.purge(older_than: number(a[0]), max_rows: number(a[1]))]]
  when "purge_appl_lock_history" then [[locks.purge_history(older_than: number(a[0]), max_rows: number(a[1]))]]
  when "assert_appl_lock" then in_transaction(connection) { locks.assert(*a[0..2], number(a[3])) }
  when "serialize_appl_lock" then in_transaction(connection) { locks.serialize(*a) }
  when "transfer_appl_locks"
    list(locks.transfer_all(from: a[0], type: a[1], to: a[2], department: a[3], ttl: number(a[4]), actor: a[5], reason: a[6],
                            after_type: a[7], after_id: a[8], max_rows: number(a[9]), dry_run: flag(a[10])))
  when "release_appl_locks"
    list(locks.release_all(a[0], type: a[1], actor: a[2], reason: a[3],
                           after_type: a[4], after_id: a[5], max_rows: number(a[6]), dry_run: flag(a[7])))
  when "renew_appl_locks" then list(locks.renew(grants(a)))
  when "announce_appl_lock_waiter"
    locks.announce(*a[0..2], a[4], department: a[3], wait: number(a[5]))
    []
  when "retract_appl_lock_waiter"
    locks.retract(*a)
    []
  when "poll_appl_locks" then locks.poll(a[0], max_rows: number(a[1])).map(&:values)
  when "take_appl_lock"
    [row(locks.take(*a[0..2], reason: a[4], department: a[3], expected_fence: number(a[5]), ttl: number(a[6])))]
  when "ask_appl_lock" then [row(locks.ask(*a[0..2], a[4], message: a[5], department: a[3], wait: number(a[6])))]
  when "answer_appl_lock"
    [row(locks.answer(*a[0..2], fence: number(a[3]), asker: a[4], client: a[5], answer: a[6], reason: a[7]))]
  when "see_appl_lock" then locks.see(*a[0..2], a[4], a[5], department: a[3], ttl: number(a[6])).map(&:values)
  when "inbox_appl_locks"
    locks.inbox(a[0], position: a[1], max_rows: number(a[2])).map(&:values)
  when "set_appl_lock_policy"
    [row(locks.set_policy(a[0], default_ttl: number(a[1]), longest_ttl: number(a[2]), take_reason: flag(a[3], blank: ""),
                                actor: a[4], reason: a[5], history: a[6],
                                presence: flag(a[7], blank: ""), yield_after: number(a[8])))]
  when "drop_appl_lock_policy" then [row(locks.drop_policy(a[0], actor: a[1], reason: a[2]))]
  when *Applock::Locks::KEYS.keys then read(locks, operation, a)
  else raise "unknown operation #{operation}"
  end
end

STATES = { Applock::InvalidArgument => "LK001", Applock::Lost => "LK002", Applock::Contention => "LK003" }.freeze

# What the library refuses by itself has the name of its argument in front, which is said as the server says it.
def message(operation, error)
  error.cause ? error.message : error.message.sub(/\A(new|dry_run|take_reason|presence) /, "#{operation}: p_\\1_fl ")
end

connection = connect
locks = Applock::Locks.new(connection)
while (line = STDIN.gets(chomp: true))
  operation, *arguments = line.split("\t", -1).map { |field| decode(field) }
  begin
    play(connection, locks, operation, arguments).each { |fields| say("row", *fields) }
    say("end")
  rescue *STATES.keys => error
    say("error", STATES.fetch(error.class), message(operation, error))
  end
end
