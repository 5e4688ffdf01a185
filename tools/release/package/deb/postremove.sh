#!/bin/sh
# A purge removes the files with passwords. It leaves other files in /etc/applock, which are not ours, and the user, who may own files.
set -e
if [ "$1" = purge ]; then
    if command -v deb-systemd-helper >/dev/null; then
        deb-systemd-helper purge applock-purge.timer applock-purge-history.timer >/dev/null || true
    fi
    rm -f /etc/applock/janitor.dsn /etc/applock/administrator.dsn
    rmdir --ignore-fail-on-non-empty /etc/applock 2>/dev/null || true
fi
