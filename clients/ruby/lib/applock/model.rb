# frozen_string_literal: true

module Applock
  # For models of ActiveRecord: class ApplicationRecord; include Applock::Model; end
  #
  #   Report.with_appl_lock("job", "nightly", wait: 10) { |lease| ... }
  #   invoice.with_appl_lock(ttl: 60) { |lease| ... }             # its table and its id
  #
  # The options are those of Leases#with_lock. A lease takes a connection of the pool, and another one while it renews.
  module Model
    def self.included(model)
      model.extend(ClassMethods)
    end

    # The methods of the model's class.
    module ClassMethods
      def with_appl_lock(type, id, **options, &block)
        pool = connection_pool
        Leases.new(scope: pool) { pool.checkout }.with_lock(type, id, **options, &block)
      end
    end

    def with_appl_lock(**options, &block)
      self.class.with_appl_lock(self.class.table_name, id, **options, &block)
    end
  end
end
