# Tests of the installed gem, which ruby_test.go runs with each driver on each product: test_applock.rb DRIVER

DRIVER = ARGV.shift
require "minitest/autorun"
Warning[:deprecated] = false # of the drivers
require "delegate"
require "timeout"
require "active_support"
require "active_support/core_ext/integer/time"
require "applock"
require DRIVER

POSTGRES = DRIVER == "pg"
DRIVERS = POSTGRES ? PG::Connection : Mysql2::Client
LONG = 300 # for hangs: no test takes it

# A connection that lets a test see and replace each statement.
class Watched < DRIVERS
  attr_accessor :seen

  if POSTGRES
    def exec_params(statement, *rest)
      seen ? seen.call(statement, -> { super }) : super
    end
  else
    def query(statement, *rest)
      seen ? seen.call(statement, -> { super }) : super
    end
  end
end

def connect(kind = DRIVERS, **options)
  return kind.new(**options) if POSTGRES

  kind.new(host: ENV["MYSQL_HOST"], port: Integer(ENV["MYSQL_TCP_PORT"]), username: ENV["MYSQL_USER"], password: ENV["MYSQL_PWD"],
           database: ENV["MYSQL_DATABASE"], **options)
end

def watched(&seen)
  connect(Watched).tap { |connection| connection.seen = seen }
end

def in_transaction(connection)
  connection.query("BEGIN")
  yield
ensure
  connection.query("ROLLBACK")
end

class AnswersTest < Minitest::Test
  def setup
    @connection = connect
    @locks = Applock::Locks.new(@connection)
  end

  def teardown
    @connection.close
  end

  # Goal: no refusal can be read as granted, and no grant as refused (D1). Method: the operations whose answers have no flag.
  def test_granted_is_what_the_caller_asked_for
    slot = @locks.permit("room", "granted", 1, "JDOE")
    assert slot.granted?
    assert @locks.permit("room", "granted", 1, "JDOE").granted?
    full = @locks.permit("room", "granted", 1, "ASMITH")
    refute full.granted?
    assert_equal [["granted#1", "JDOE"]], full.holders.map { |holder| [holder.slot_id, holder.operator] }
    grant = { type: "room", id: slot.slot_id, operator: :JDOE, ttl: 60 }
    assert_raises(ArgumentError) { @locks.renew([{ **grant, fence: slot.fence, ttl_seconds: 60 }]) }
    assert @locks.renew([{ **grant, fence: slot.fence }]).first.granted?
    stale = @locks.renew([{ **grant, fence: slot.fence - 1 }]).first
    assert_equal [false, "HELD", "JDOE"], [stale.granted?, stale.outcome, stale.holder.operator]
    refute @locks.release_all("JDOE", type: "room", dry_run: true).first.granted?
  end

  # Goal: who asks who holds an object is told so, and there is no granted to misread.
  def test_inquire_is_a_lock_or_nothing
    assert_nil @locks.inquire("customer", "free")
    @locks.get("customer", "asked", "JDOE", department: "CS")
    found = @locks.inquire("customer", "asked")
    assert_equal %w[JDOE CS], [found.operator, found.department]
    assert_raises(NoMethodError) { found.granted? }
  end

  # Goal: a typo is an error, and an answer cannot be changed.
  def test_a_typo_is_an_error
    answer = @locks.get("customer", "typo", "JDOE")
    assert_raises(NoMethodError) { answer.expires_ts }
    assert_raises(FrozenError) { answer.outcome = "HELD" }
    assert_raises(KeyError) { @locks.read("appl_lock_live", object_id: "typo").first[:operator] }
    assert_raises(ArgumentError) { @locks.get("customer", "typo", "JDOE", ttl_seconds: 60) }
  end

  # Goal: a number is a whole one, a flag is a boolean, and a ttl may be a duration. The refusal names the argument.
  def test_arguments_are_checked
    assert_equal 120, @locks.get("customer", "arguments", "JDOE", ttl: 2.minutes).seconds_left
    assert_equal 60, @locks.get("customer", "arguments", :JDOE, ttl: 60.0).seconds_left
    [0.5, "60", true].each { |ttl| assert_match(/\Attl /, refused { @locks.get("customer", "arguments", "JDOE", ttl: ttl) }) }
    assert_match(/\Anew /, refused { @locks.get("customer", "arguments", "JDOE", new: "Y") })
    assert_match(/\Adry_run /, refused { @locks.release_all("JDOE", dry_run: "N") })
    assert_match(/not a column/, refused { @locks.read("appl_lock_live", "x OR 1": 1) })
    assert_match(/no view/, refused { @locks.read("appl_lock") })
  end

  def refused(&block)
    assert_raises(Applock::InvalidArgument, &block).message
  end

  # Goal: there are three errors, of one base, and what the driver raises passes through (D12).
  def test_three_errors
    assert_raises(Applock::InvalidArgument) { @locks.get("", 42, "JDOE") }
    in_transaction(@connection) { assert_raises(Applock::Lost) { @locks.assert("customer", "errors", "JDOE", 1) } }
    again = POSTGRES ? "DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = 'LK003'; END $$" : "SIGNAL SQLSTATE 'LK003'"
    contended = watched { |statement, run| statement.include?("get_appl_lock") ? @connection.query(again) : run.call }
    assert_kind_of Applock::Error, assert_raises(Applock::Contention) { Applock::Locks.new(contended).get("customer", 42, "JDOE") }
    contended.close
    assert_raises(POSTGRES ? PG::Error : Mysql2::Error) { Applock::Locks.new(contended).get("customer", 42, "JDOE") }
  end

  # Goal: serialize and assert outside of a transaction are refused, before anything is called (D4). Method: what the server is sent.
  def test_serialize_and_assert_want_a_transaction
    sent = []
    connection = watched { |statement, run| sent << statement && run.call }
    locks = Applock::Locks.new(connection)
    assert_match(/serialize .*transaction/, refused { locks.serialize("document", "number") })
    fence = @locks.get("customer", "asserted", "JDOE").fence
    assert_match(/assert .*transaction/, refused { locks.assert("customer", "asserted", "JDOE", fence) })
    assert_empty sent.grep(/appl_lock/)
    in_transaction(connection) do
      locks.serialize("document", "number")
      locks.assert("customer", "asserted", "JDOE", fence)
    end
    refused { locks.serialize("document", "number") }
    assert_equal 2, sent.grep(/serialize_appl_lock|assert_appl_lock/).length
  end

  # Goal: where the server has autocommit off, a call that is no part of a transaction is committed, and a transaction of the caller's is
  # left alone, as is the one that serialize needs. Method: what another connection sees, after calls that succeed and fail.
  def test_without_autocommit_a_call_is_committed
    object, without = ["customer", "no autocommit"], -> { connect(init_command: "SET autocommit = 0") }
    @connection.query("CREATE TABLE orders (n INTEGER) ENGINE = InnoDB")
    connection = without.call
    locks = Applock::Locks.new(connection)
    assert locks.get(*object, "JDOE").granted?
    assert @locks.release(*object, "JDOE").outcome == "RELEASED"
    refused { locks.get("", 42, "JDOE") }
    assert_nil locks.inquire(*object)
    assert_equal 0, locks.purge(older_than: LONG)
    connection.query("INSERT INTO orders VALUES (1)")
    assert locks.get(*object, "JDOE").granted?
    refused { locks.get("", 42, "JDOE") }
    connection.query("ROLLBACK")
    assert_nil @locks.inquire(*object)
    locks.serialize("document", "number")
    @connection.query("SET innodb_lock_wait_timeout = 1")
    assert_raises(Mysql2::Error) { in_transaction(@connection) { @locks.serialize("document", "number") } }
    connection.close
    Applock::Leases.new(&without).with_lock(*object) { |held| assert_equal held.fence, @locks.inquire(*object).fence }
    assert_empty @connection.query("SELECT n FROM orders").to_a
  end unless POSTGRES

  # Goal: an end in an hour that a zone skips or repeats is the same moment everywhere. Method: ends in both nights, in Amsterdam.
  def test_an_end_is_right_where_clocks_change
    zone, ENV["TZ"] = ENV["TZ"], "Europe/Amsterdam"
    @connection.query(POSTGRES ? "SET timezone = 'Europe/Amsterdam'" : "SET time_zone = '+02:00'")
    [3, 10].product([0, 1, 2, 3]) do |month, hour|
      day = Date.new(Time.now.year + 1, month, 31)
      ends = Time.utc(day.year, month, 31 - day.wday, hour, 30) # the last Sunday
      lock = @locks.get("clocks", "#{month} #{hour}", "JDOE", ttl: (ends - Time.now).to_i)
      assert_in_delta ends, lock.expires_at, 1800
      assert_equal lock.expires_at, @locks.inquire("clocks", "#{month} #{hour}").expires_at
    end
  ensure
    ENV["TZ"] = zone
  end

  # Goal: subclasses are what they are, a wrapper needs a dialect, and others are refused at once (D10).
  def test_connections_are_known
    subclass = watched { |_, run| run.call }
    wrapper = SimpleDelegator.new(@connection)
    [Applock::Locks.new(subclass), Applock::Locks.new(wrapper, dialect: POSTGRES ? "postgres" : :mysql)].each do |locks|
      assert locks.get("customer", "known", "JDOE").granted?
    end
    [Object.new, nil, wrapper].each { |other| assert_match(/dialect/, refused { Applock::Locks.new(other) }) }
    assert_match(/dialect/, refused { Applock::Locks.new(@connection, dialect: "oracle") })
  end

  # Goal: what the user has set changes no answer: numbers are integers, times are in UTC (D11). Method: a connection with all that can
  # be set otherwise, beside one without.
  def test_settings_change_nothing
    strange = strange_connection
    locks = Applock::Locks.new(strange)
    answer = locks.get("customer", "strange é", "JDOE", ttl: 60)
    assert_equal [true, "ACQUIRED", nil, 60, ""], [answer.granted?, answer.outcome, answer.holder, answer.seconds_left, answer.note]
    assert_kind_of Integer, answer.fence
    assert answer.expires_at.utc?
    assert_in_delta Time.now + 60, answer.expires_at, 3600
    assert_equal @locks.inquire("customer", "strange é"), locks.inquire("customer", "strange é")
    fence = locks.take("customer", "strange é", "ASMITH", reason: "why not").fence
    event, = locks.read("appl_lock_history", object_id: "strange é")
    assert_equal [answer.fence, fence], [event[:from_fence], event[:to_fence]]
    assert_kind_of Integer, event[:event_id]
    assert_equal @locks.read("appl_lock_history", object_id: "strange é"), [event]
    assert_equal event[:event_id], locks.inbox("JDOE").find { |row| row[:object_id] == "strange é" }[:event_id]
    assert_kind_of Integer, locks.purge
    strange.close
  end

  def strange_connection
    unless POSTGRES
      return connect(symbolize_keys: true, as: :array, cast: false, cast_booleans: true, cache_rows: false, database_timezone: :local,
                     application_timezone: :local, encoding: "latin1", init_command: "SET time_zone = '-05:00', sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES'")
    end
    connection = connect
    connection.type_map_for_results = PG::BasicTypeMapForResults.new(connection)
    connection.type_map_for_queries = PG::TypeMapByClass.new.tap { |map| map[String] = PG::TextEncoder::String.new(oid: 25) }
    connection.field_name_type = :symbol
    connection.internal_encoding = "ISO-8859-1"
    connection.exec("SET DateStyle = 'German'; SET TimeZone = 'Asia/Kolkata'; SET search_path = ''")
    connection
  end

  # Goal: an older database and an older gem are told from each other, at the first call. Method: a version of 0, and a new outcome.
  def test_versions_are_compared
    older = watched { |statement, run| statement.include?("version") ? answer(0) : run.call }
    assert_match(/applockctl migrate up/, assert_raises(Applock::WrongVersion) { Applock::Locks.new(older).inquire("customer", 42) }.message)
    newer = watched do |statement, run|
      statement.include?("get_") ? answer("PAINTED", "outcome") : run.call
    end
    assert_match(/install a newer/, assert_raises(Applock::WrongVersion) { Applock::Locks.new(newer).get("customer", 42, "JDOE") }.message)
    [older, newer].each(&:close)
  end

  def answer(value, column = "version")
    literal = value.is_a?(String) ? "'#{value}'" : value
    return @connection.exec("SELECT row_to_json(r) FROM (SELECT #{literal} AS #{column}) AS r") if POSTGRES

    @connection.query("SELECT #{literal} AS #{column}", as: :array)
  end
end

class LeasesTest < Minitest::Test
  def setup
    @connection = connect
    @locks = Applock::Locks.new(@connection)
    @leases = Applock::Leases.new { connect }
    @children = []
  end

  def teardown
    @children.each { |child| Process.kill(:KILL, child) && Process.wait(child) }
    @connection.close
  end

  # A child that ends with the test at the latest. It says what the block gives it to say, and is told when to go on.
  def child
    from_child, say = IO.pipe
    hear, to_child = IO.pipe
    @children << fork do
      from_child.close
      to_child.close
      yield Applock::Leases.new { connect }, say, hear
      exit!(0)
    rescue Exception => error
      say.puts(error.class)
      exit!(1)
    end
    say.close
    hear.close
    [@children.last, from_child, to_child]
  end

  def until_true
    Timeout.timeout(LONG) { sleep 0.05 until yield }
  end

  # Goal: leases exclude processes. Method: three of them count together, each reads and writes in two statements.
  def test_processes_exclude_each_other
    @connection.query("CREATE TABLE tally (n INTEGER)")
    @connection.query("INSERT INTO tally VALUES (0)")
    counting = Array.new(3) do
      child do |leases, say|
        5.times do
          leases.with_lock("tally", 1, ttl: LONG, wait: LONG) do
            connection = connect
            n = Integer(connection.query("SELECT n FROM tally").first["n"])
            connection.query("UPDATE tally SET n = #{n + 1}")
            connection.close
          end
        end
        say.puts("done")
      end
    end
    assert_equal ["done\n"] * 3, counting.map { |_, from_child, _| from_child.gets }
    assert_equal 15, Integer(@connection.query("SELECT n FROM tally").first["n"])
  end

  # Goal: a lease is refused at once without wait, with the holder; who waits is listed, comes in, and is not listed any more.
  def test_it_waits
    came = Queue.new
    follower = nil
    @leases.with_lock("customer", "waited for", department: "CS") do |held|
      refused = assert_raises(Applock::Held) { Applock::Leases.new { connect }.with_lock("customer", "waited for") { flunk } }
      assert_equal [held.operator, "CS"], [refused.holder.operator, refused.holder.department]
      follower = Thread.new { @leases.with_lock("customer", "waited for", wait: nil) { |lease| came << lease.operator } }
      until_true { @locks.read("appl_lock_waiting", object_id: "waited for").any? }
      assert came.empty?
    end
    Timeout.timeout(LONG) { refute_nil came.pop }
    follower.join
    assert_empty @locks.read("appl_lock_waiting", object_id: "waited for")
    assert_nil @locks.inquire("customer", "waited for")
  end

  # Goal: a release wakes who waits, on PostgreSQL, and that of another object does not. Method: releases, and then a wait that is
  # longer than the test may take.
  def test_a_release_wakes
    waiting = Applock::Locks.new(connect)
    waiting.connection.listen(waiting.channel)
    %w[other woken].each do |id|
      @locks.get("customer", id, "JDOE")
      waiting.announce("customer", id, "ASMITH", "desk")
      @locks.release("customer", id, "JDOE")
    end
    Timeout.timeout(LONG) { waiting.connection.wait(2 * LONG, "customer:woken") }
  end if POSTGRES

  # Goal: the block's value is what comes out, and its way out is its own: the object is free after each of them.
  def test_every_way_out_releases
    assert_equal 42, @leases.with_lock("customer", "left") { 42 }
    assert_raises(KeyError) { @leases.with_lock("customer", "left") { raise KeyError } }
    assert_equal 1, catch(:out) { @leases.with_lock("customer", "left") { throw :out, 1 } }
    @leases.with_lock("customer", "left") { break }
    killed = Thread.new { @leases.with_lock("customer", "left") { Thread.current.kill } }
    killed.join
    assert_nil @locks.inquire("customer", "left")
  end

  # Goal: a method that locks may call another one that does, and the outer one keeps the lock.
  def test_it_is_entered_again
    @leases.with_lock("customer", 42) do |outer|
      @leases.with_lock("customer", "42") { |inner| assert_same outer, inner }
      assert_equal outer.fence, @locks.inquire("customer", 42).fence
      Thread.new { assert_raises(Applock::Held) { @leases.with_lock("customer", 42) { flunk } } }.join
      Thread.new { assert_raises(Applock::Held) { @leases.with_lock("customer", 42, wait: 0.1) { flunk } } }.join
      [LONG, nil].each do |wait| # which would wait for itself
        nested = -> { Applock::Leases.new { connect }.with_lock("customer", 42, wait: wait) { flunk } }
        assert_match(/same scope/, assert_raises(Applock::InvalidArgument, &nested).message)
      end
    end
    @leases.with_lock("customer", 42) { |later| assert_equal later.fence, @locks.inquire("customer", 42).fence }
  end

  TTLS = { "renewed" => 15, "taken" => 6, "unrenewed" => 6 }.freeze

  # How a lease comes into each state of the table.
  STATES = {
    "entered" => nil, "released" => nil, "forked" => nil,
    # until a renewal has moved both ends, the database's and that of the trust here
    "renewed" => lambda do |held|
      trusted = held.instance_variable_get(:@deadline)
      until_true do
        held.check
        found = @locks.inquire("customer", "renewed")
        assert_equal [held.operator, held.fence], [found.operator, found.fence]
        found.expires_at - found.acquired_at > TTLS["renewed"] && held.instance_variable_get(:@deadline) > trusted
      end
    end,
    "reentered" => ->(held) { @leases.with_lock("customer", "reentered") { |inner| assert_same held, inner } },
    # and the clock tells of no loss
    "taken" => lambda do |held|
      held.instance_variable_set(:@deadline, Float::INFINITY)
      @locks.take("customer", "taken", "JDOE", reason: "a supervisor", ttl: LONG)
      until_true { held.lost? }
    end,
    "unrenewed" => ->(held) { until_true { held.lost? } }
  }.freeze

  # Goal: a lease answers in each state as in all languages, and leaves the lock to whoever has it then. Method: the table of the states,
  # which all languages read.
  def test_each_state_of_a_lease
    File.readlines("../../testdata/lease_states.txt").map { |line| line[/[^#]*/].split }.reject(&:empty?).each do |state, check, signal|
      lease = answer = nil
      connections = [connect]
      @leases = Applock::Leases.new { connections.shift || (state == "unrenewed" ? raise(IOError, "unreachable") : connect) }
      begin
        @leases.with_lock("customer", state, ttl: TTLS.fetch(state, LONG)) do |held|
          lease = held
          STATES.fetch(state)&.then { |play| instance_exec(held, &play) }
          answer = state == "forked" ? child { |_, say| say.puts(judged(held)) }[1].gets.chomp : judged(held)
        end
      rescue Applock::Lost
        assert_equal "fails", check
      end
      assert_equal "#{check} #{signal}", state == "released" ? judged(lease) : answer
      assert_equal [state == "taken" ? "JDOE" : nil], [@locks.inquire("customer", state)&.operator]
    end
  end

  def judged(held)
    signal = held.lost? ? "fired" : "quiet"
    held.check
    "passes #{signal}"
  rescue Applock::Lost
    "fails #{signal}"
  end

  # Goal: a block that was not alone does not end well, also if no renewal has noticed.
  def test_a_loss_is_noticed_at_the_end
    assert_raises(Applock::Lost) do
      @leases.with_lock("customer", "lost at the end", ttl: LONG) { |held| @locks.release("customer", "lost at the end", held.operator) }
    end
  end

  # Goal: the object is free at the end, also if the server has cut the connection meanwhile.
  def test_a_cut_connection_releases
    connections = []
    leases = Applock::Leases.new { connect.tap { |connection| connections << connection } }
    leases.with_lock("customer", "cut") { cut(connections.first) }
    assert_nil @locks.inquire("customer", "cut")
    assert_equal 2, connections.length
  end

  def cut(connection)
    return @connection.query("SELECT pg_terminate_backend(#{connection.backend_pid}, 60000)") if POSTGRES

    @connection.query("KILL #{connection.thread_id}")
  end

  # Goal: the lock of a get whose answer was lost is released. Method: cut the connection, or interrupt, behind the get.
  def test_a_lost_answer_leaves_nothing
    driver = POSTGRES ? PG::ConnectionBad : Mysql2::Error::ConnectionError
    [driver, Interrupt].each do |error|
      unlucky = watched { |statement, run| run.call.tap { raise error, "no answer" if statement.include?("get_appl_lock_row") } }
      connections = [unlucky]
      leases = Applock::Leases.new { connections.shift || connect }
      assert_raises(error) { leases.with_lock("customer", "unanswered", wait: nil) { flunk } }
      assert_nil @locks.inquire("customer", "unanswered")
    end
  end

  # Goal: a get that arrives after all is released, too. Method: it arrives when the caller has been told of the error.
  def test_a_late_get_is_released
    operator = nil
    unlucky = watched do |statement, run|
      operator = Thread.current[:applock_operator] if statement.include?("get_appl_lock_row")
      operator ? raise(IOError, "no answer") : run.call
    end
    connections = [unlucky]
    leases = Applock::Leases.new { connections.shift || connect }
    lease = nil
    Applock::Lease.class_eval { alias_method(:announced, :during) }
    Applock::Lease.define_method(:during) { |&block| lease = self; Thread.current[:applock_operator] = self.operator; announced(&block) }
    assert_raises(IOError) { leases.with_lock("customer", "late") { flunk } }
    assert @locks.get("customer", "late", lease.operator, ttl: LONG).granted?
    until_true { @locks.inquire("customer", "late").nil? }
  ensure
    Applock::Lease.alias_method(:during, :announced)
  end

  # Goal: operator and fence are those of the grant, with which the transaction that writes keeps a former holder out.
  def test_the_fence_protects_a_transaction
    former = @leases.with_lock("customer", "fenced") { |lease| lease }
    @leases.with_lock("customer", "fenced") do |held|
      assert_operator held.fence, :>, former.fence
      in_transaction(@connection) { @locks.assert("customer", "fenced", held.operator, held.fence) }
      in_transaction(@connection) do
        assert_raises(Applock::Lost) { @locks.assert("customer", "fenced", former.operator, former.fence) }
      end
    end
  end

  # Goal: what cannot be meant is refused at once, and not waited for.
  def test_a_mistake_is_an_error
    assert_raises(Applock::InvalidArgument) { Applock::Leases.new }
    [0.5, "30", nil, 0].each do |ttl|
      assert_raises(Applock::InvalidArgument) { @leases.with_lock("customer", 42, ttl: ttl) { flunk } }
    end
    assert_raises(Applock::InvalidArgument) { @leases.with_lock("", 42, wait: nil) { flunk } }
    in_one = Applock::Leases.new { connect.tap { |connection| connection.query("BEGIN") } }
    assert_match(/autocommit/, assert_raises(Applock::InvalidArgument) { in_one.with_lock("customer", 42) { flunk } }.message)
  end

  # Goal: the object of a process that was killed is free after the ttl, and the next fence is greater. Method: SIGKILL.
  def test_a_crash_is_overtaken
    pid, from_child, = child do |leases, say|
      leases.with_lock("customer", "crashed", ttl: 3) do |held|
        say.puts(held.fence)
        sleep
      end
    end
    fence = Integer(from_child.gets)
    assert_raises(Applock::Held) { @leases.with_lock("customer", "crashed") { flunk } }
    Process.kill(:KILL, pid)
    @leases.with_lock("customer", "crashed", wait: LONG) { |held| assert_operator held.fence, :>, fence }
  end

  # Goal: who was paused for longer than the ttl knows when it goes on. Method: SIGSTOP, until somebody else has had the lock.
  def test_a_pause_is_a_loss
    pid, from_child, to_child = child do |leases, say, hear|
      leases.with_lock("customer", "paused", ttl: 2) do |held|
        say.puts("in")
        hear.gets
        held.check
        say.puts("goes on")
      end
    end
    assert_equal "in\n", from_child.gets
    Process.kill(:STOP, pid)
    @leases.with_lock("customer", "paused", wait: LONG) { to_child.puts("go on") }
    Process.kill(:CONT, pid)
    assert_equal "Applock::Lost\n", from_child.gets
  end

  # Goal: only the process that entered renews and releases. Method: a child that leaves the block well, by exit, and by a lease of its own.
  def test_a_fork_leaves_the_lock_alone
    parent, (reader, writer) = Process.pid, IO.pipe
    own = -> { @leases.with_lock("customer", "forked") { flunk } }
    { "the lock of customer:forked belongs to process #{parent}" => -> {}, "exit" => -> { exit }, "held by" => own }.each do |told, way|
      @leases.with_lock("customer", "forked", ttl: LONG) do |held|
        pid = fork or next way.call
        Process.wait(pid)
        assert_operator reader.gets, :start_with?, told
        assert_equal held.fence, @locks.inquire("customer", "forked").fence
        held.check
      end
    rescue Applock::Error, SystemExit => error
      raise if Process.pid == parent
    ensure
      unless Process.pid == parent
        writer.puts(error&.message || "nothing")
        exit!(0)
      end
    end
    assert_nil @locks.inquire("customer", "forked")
  end
end
