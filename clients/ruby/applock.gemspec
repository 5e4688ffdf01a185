# frozen_string_literal: true

require_relative "lib/applock/version"

Gem::Specification.new do |spec|
  spec.name = "applock"
  spec.version = Applock::VERSION
  spec.summary = "Locks of an application in its PostgreSQL, MariaDB or MySQL database"
  spec.description = "Who works on what: locks that belong to people and programs, last for seconds or days, and are rows that can be " \
                     "read. For the gems pg and mysql2, and for ActiveRecord on them."
  spec.authors = ["The applock authors"]
  spec.license = "Apache-2.0"
  spec.homepage = "https://github.com/applock/applock"
  spec.metadata = { "source_code_uri" => "https://github.com/applock/applock/tree/main/clients/ruby",
                    "changelog_uri" => "https://github.com/applock/applock/blob/main/CHANGELOG.md",
                    "rubygems_mfa_required" => "true" }
  spec.files = Dir["lib/**/*.rb", "*.md", "LICENSE", base: __dir__].sort
  spec.required_ruby_version = ">= 3.1"
end
