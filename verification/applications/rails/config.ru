# frozen_string_literal: true

# Rails in one file, below Puma.
ENV["DATABASE_URL"] = ENV.fetch("DATABASE_URL").sub("mysql:", "mysql2:")

require "logger"
require "active_record/railtie"
require "action_controller/railtie"
require "applock"

class Application < Rails::Application
  config.load_defaults 6.1
  config.eager_load = true
  config.secret_key_base = "of an application that is played only"
  config.hosts << "127.0.0.1"
  config.logger = Logger.new($stderr, level: :warn)
  config.active_record.migration_error = false
  routes.append do
    post "lock/:id", to: "customers#lock"
    put "save/:id", to: "customers#save"
    post "rollback/:id", to: "customers#rollback"
    post "work/:id", to: "customers#work"
    get "list", to: "customers#list"
  end
end

class Customer < ActiveRecord::Base
  self.table_name = "customer"
  include Applock::Model

  LIVE = ENV["DATABASE_URL"].start_with?("mysql2:") ? "appl_lock_live" : "applock.appl_lock_live"

  # With who works on each, or nil.
  def self.with_operator
    joins("LEFT JOIN #{LIVE} AS l ON l.object_type = 'customer' AND l.object_id = customer.id")
      .select("customer.*, l.operator_id AS operator").order(:id)
  end

  # The locks on the connection of this thread, and so in its transaction.
  def self.locks
    Applock::Locks.new(connection)
  end
end

class CustomersController < ActionController::API
  rescue_from(Applock::Lost) { render json: { granted: false }, status: :conflict }
  rescue_from(Applock::Held) { |held| render json: { granted: false, holder: held.answer.holder.operator }, status: :conflict }

  def lock
    lock = Customer.locks.get("customer", params[:id], params[:operator], ttl: 3 * 24 * 3600)
    if lock.granted?
      render json: { granted: true, fence: lock.fence, expires: lock.expires_at }
    else
      render json: { granted: false, holder: lock.holder.operator, expires: lock.expires_at }, status: :conflict
    end
  end

  def save
    customer = Customer.transaction do
      Customer.locks.serialize("customer", params[:id])
      Customer.uncached { Customer.find_or_initialize_by(id: params[:id]) }.tap do |found|
        found.update!(name: params[:name], saves: found.saves.to_i + 1)
        Customer.locks.assert("customer", params[:id], params[:operator], params[:fence].to_i)
      end
    end
    render json: { granted: true, saves: customer.saves }
  end

  def rollback
    taken = refused = nil
    Customer.transaction do
      Customer.where(id: params[:id]).update_all("saves = saves + 1")
      taken = Customer.locks.get("invoice", params[:id], params[:operator])
      refused = Customer.locks.get("customer", params[:id], params[:operator])
      Customer.where(id: params[:id]).update_all("saves = saves + 1")
      raise ActiveRecord::Rollback if params[:end] == "rollback"
    end
    render json: { granted: taken.granted?, holder: refused.holder.operator }
  end

  # The lines of work, which the server sends as they come. The first is asked for here, so that a refusal is an answer.
  def work
    lines = Enumerator.new do |answer|
      Customer.with_appl_lock("job", params[:id], ttl: params[:ttl].to_i) do |lease|
        answer << "#{{ pid: Process.pid, operator: lease.operator, fence: lease.fence }.to_json}\n"
        until Customer.uncached { Customer.find(params[:id]) }.name == "done"
          lease.check
          sleep 0.2
        end
      end
      answer << "#{{ done: true }.to_json}\n"
    end
    lines.peek
    headers["Last-Modified"] = Time.now.httpdate # or Rack::ETag would wait for the end
    self.response_body = Enumerator.new { |answer| loop { answer << lines.next } }
  end

  def list
    render json: Customer.with_operator.map { |customer| { id: customer.id, name: customer.name, operator: customer.operator } }
  end
end

Application.initialize!
Customer.locks.inquire("customer", "none") # before the fork: ActiveRecord makes new connections in each worker
run Application
