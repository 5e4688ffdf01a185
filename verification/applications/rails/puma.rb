# Two workers, forked after the application has been loaded.
bind "tcp://127.0.0.1:#{ENV.fetch('PORT')}"
rackup "config.ru"
workers 2
threads 1, 5
preload_app!
