#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    deb-systemd-invoke stop applock-purge.timer applock-purge-history.timer >/dev/null || true
fi
