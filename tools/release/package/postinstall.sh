#!/bin/sh
# Creates the user of the units. It enables and starts no unit: to run the purge, write a DSN and enable its timer.
set -e
if ! getent group applock >/dev/null; then groupadd --system applock; fi
if ! getent passwd applock >/dev/null; then
    useradd --system --gid applock --home-dir /var/lib/applock --no-create-home --shell /usr/sbin/nologin applock
fi
chgrp applock /etc/applock
if [ -e /etc/applock/janitor.dsn.example ]; then chgrp applock /etc/applock/janitor.dsn.example; fi
