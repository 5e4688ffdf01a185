#!/bin/sh
# 0 is a removal, 1 an upgrade.
set -e
if [ "$1" = 0 ] && [ -d /run/systemd/system ]; then
    systemctl disable --now applock-purge.timer applock-purge-history.timer >/dev/null 2>&1 || true
fi
