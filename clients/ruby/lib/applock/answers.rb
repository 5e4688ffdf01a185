# frozen_string_literal: true

module Applock
  # The common part of all answers. They are frozen, and only have the fields of their operation. Times are in UTC.
  module Frozen
    def initialize(**)
      super
      freeze
    end
  end

  # An answer about one lock. granted? reports whether the caller got what it asked for; outcome is the answer in one word.
  module Answer
    include Frozen

    def granted?
      granted
    end
  end

  # An operator, with its department, which may be empty.
  Holder = Struct.new(:operator, :department, keyword_init: true) { include Frozen }

  # The answer of get. A refusal has the holder, and the times and the note of its lock.
  Grant = Struct.new(:granted, :outcome, :holder, :fence, :acquired_at, :expires_at, :seconds_left, :note, keyword_init: true) { include Answer }

  # The answer of permit. slot_id is the id of the slot for all other operations. A refusal has the holders, each a Slot, the earliest to
  # expire first.
  Permit = Struct.new(:granted, :outcome, :slot_id, :fence, :acquired_at, :expires_at, :seconds_left, :note, :holders, keyword_init: true) { include Answer }

  # The holder of a slot, since when and until when. The operator is empty if the slot became free during the call.
  Slot = Struct.new(:slot_id, :operator, :department, :fence, :acquired_at, :expires_at, :seconds_left, :note, keyword_init: true) { include Frozen }

  # The answer of release and note.
  Change = Struct.new(:granted, :outcome, :holder, keyword_init: true) { include Answer }

  # The answer of transfer, take and ask; former had the object before a take, or before it was given to the asker.
  Handover = Struct.new(:granted, :outcome, :holder, :former, :fence, :acquired_at, :expires_at, :seconds_left, keyword_init: true) { include Answer }

  # The answer of answer. The times are those of the present holder's lock. There are none for FREE and GONE.
  Told = Struct.new(:granted, :outcome, :holder, :acquired_at, :expires_at, :seconds_left, keyword_init: true) { include Answer }

  # One lock of transfer_all or release_all.
  Changed = Struct.new(:granted, :outcome, :type, :id, :holder, :fence, :expires_at, :seconds_left, keyword_init: true) { include Answer }

  # One lock of renew. acquired_at is the start of a holder's grant.
  Renewal = Struct.new(:granted, :outcome, :type, :id, :holder, :acquired_at, :expires_at, :seconds_left, keyword_init: true) { include Answer }

  # The answer of set_policy and drop_policy.
  Policy = Struct.new(:granted, :outcome, keyword_init: true) { include Answer }

  # A live lock, which inquire returns.
  Lock = Struct.new(:operator, :department, :fence, :acquired_at, :locked_at, :expires_at, :seconds_left, :note, keyword_init: true) { include Frozen }

  # The outcomes of each operation, and whether the caller then has what it asked for.
  GRANTED = {
    # outcomes: made by `make generate`
    "get_appl_lock" => { "ACQUIRED" => true, "RENEWED" => true, "HELD" => false },
    "get_appl_lock_permit" => { "ACQUIRED" => true, "RENEWED" => true, "FULL" => false },
    "release_appl_lock" => { "RELEASED" => true, "FREE" => true, "HELD" => false },
    "release_appl_locks" => { "RELEASED" => true, "BUSY" => false, "HELD" => false, "FREE" => false, "WOULD_RELEASE" => false },
    "transfer_appl_lock" => { "TRANSFERRED" => true, "HELD" => false, "FREE" => false },
    "take_appl_lock" => { "TAKEN" => true, "HELD" => false, "FREE" => false },
    "transfer_appl_locks" => { "TRANSFERRED" => true, "BUSY" => false, "HELD" => false, "FREE" => false, "WOULD_TRANSFER" => false },
    "note_appl_lock" => { "NOTED" => true, "FREE" => false, "HELD" => false },
    "renew_appl_locks" => { "RENEWED" => true, "HELD" => false, "FREE" => false },
    "set_appl_lock_policy" => { "SET" => true },
    "drop_appl_lock_policy" => { "DROPPED" => true, "NONE" => false },
    "ask_appl_lock" => { "ASKED" => true, "GIVEN" => true, "WITHDRAWN" => true, "FREE" => false, "OWN" => false },
    "answer_appl_lock" => { "GIVEN" => true, "TOLD" => true, "HELD" => false, "FREE" => false, "GONE" => false },
    # outcomes: end
  }.freeze

  private_constant :Frozen, :GRANTED

  # Makes answers from rows: hashes with the contract's names as keys.
  module Answers
    RENAMED = { acquired_ts: :acquired_at, lock_ts: :locked_at, expires_ts: :expires_at, object_type: :type, object_id: :id,
                operator_id: :operator, department_id: :department }.freeze

    # The outcomes whose other operator is the former holder.
    CHANGED_HANDS = %w[TAKEN GIVEN].freeze

    module_function

    def granted(operation, row)
      GRANTED.fetch(operation).fetch(row[:outcome]) do |outcome|
        raise WrongVersion, "#{operation} has answered #{outcome}, which this version of the gem does not know: install a newer applock"
      end
    end

    # An answer of an operation with outcomes, as a struct of the kind.
    def answer(kind, operation, row)
      values = { granted: granted(operation, row), **renamed(row) }
      unless values.key?(:old_operator_id)
        return kind.new(**values)
      end

      operator, department = values.delete(:old_operator_id), values.delete(:old_department_id)
      whose = CHANGED_HANDS.include?(row[:outcome]) ? :former : :holder
      values[whose] = Holder.new(operator: operator, department: department) unless operator.empty?
      kind.new(**values)
    end

    def permit(rows)
      first = rows.first
      granted = granted("get_appl_lock_permit", first)
      values = renamed(first).slice(:outcome, :slot_id, :fence, :acquired_at, :expires_at, :seconds_left, :note)
      return Permit.new(granted: true, holders: [].freeze, **values) if granted

      slots = rows.map { |row| Slot.new(**renamed(row).except(:outcome)) }
      Permit.new(**values, granted: false, slot_id: nil, fence: 0, note: "", holders: slots.freeze)
    end

    def lock(row)
      Lock.new(**renamed(row).except(:ok_fl)) if row[:ok_fl] == "Y"
    end

    def renamed(row)
      row.except(:ok_fl).transform_keys { |name| RENAMED.fetch(name, name) }
    end
  end
  private_constant :Answers
end
