#!/usr/bin/env python3
"""Hooks for agents and git: nobody edits or commits a file of a repository that somebody else has locked.

    applock_hook.py before   before a tool edits a file: get or renew its lock, or deny the edit
    applock_hook.py after    after any tool: renew all locks of this agent, and say which are lost
    applock_hook.py end      when the agent ends: release its locks
    applock_hook.py commit   as git's pre-commit hook: refuse files that somebody else has locked
    applock_hook.py install  set these hooks up in the repository of this folder, and overwrite nothing

The first three read the JSON of an agent's hook on stdin. Exit code 0 allows. Exit code 2 denies, and the agent reads the reason on stderr;
whatever goes wrong denies, too. It calls applockctl, which finds the database in APPLOCK_DSN or APPLOCK_DSN_FILE.

    APPLOCK_OPERATOR    who you are: each agent has a name of its own
    APPLOCK_REPOSITORY  what everybody calls this repository: src/a.go is locked as file:NAME/src/a.go
    APPLOCK_TTL         how long a lock lasts that nobody renews, 10m without it
"""

import contextlib
import fcntl
import filecmp
import json
import os
import shutil
import subprocess
import sys

DEAD = "the database cannot be reached or has refused; nothing is locked; do not write. applockctl says: "


class Denied(Exception):
    """Why something may not be done, for the agent or the person to read."""


def setting(name):
    value = os.environ.get(name, "")
    if not value:
        raise Denied(f"{name} is not set: whoever set up this hook has to set it")
    return value


def applockctl(*words):
    """Return the answers of a command, and whether they say yes. Words behind -- are no flags, whatever they begin with."""
    done = subprocess.run(["applockctl", "--output", "json", *words], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise Denied(DEAD + json.dumps(done.stderr.strip()))
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode == 0


def git(*words, folder):
    return subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True, check=True).stdout


def repository_of(folder):
    """Return the top folder of the repository, or None outside of one."""
    try:
        return os.path.realpath(git("rev-parse", "--show-toplevel", folder=folder).rstrip("\n"))
    except subprocess.CalledProcessError:
        return None


def object_of(path):
    return f"file:{setting('APPLOCK_REPOSITORY')}/{path}"


def spelled(top, path):
    """Return a path as the folders have it. On many systems names that differ only in case are one file."""
    found = ""
    for part in path.split("/"):
        folder = os.path.join(top, found)
        names = os.listdir(folder) if os.path.isdir(folder) else []
        if part not in names:
            part = next((name for name in names if name.casefold() == part.casefold()), part)
        found = os.path.join(found, part)
    return found


def holder_in(answer):
    """Say who holds a file. Names and notes are others' text: in quotes, escaped, and in one line."""
    said = f"{json.dumps(answer['holder_id'])} until {answer['expires_ts'] or 'an unknown time'}"
    return said + (f", whose note is the text {json.dumps(answer['note'])}" if answer["note"] else "")


@contextlib.contextmanager
def fences(top):
    """The fences that this agent has, by object, in git's own folder of the working tree; one hook at a time."""
    name = "".join(c if c.isalnum() else f"%{ord(c):x}" for c in setting("APPLOCK_OPERATOR"))
    folder = git("rev-parse", "--absolute-git-dir", folder=top).rstrip("\n")
    with open(os.path.join(folder, f"applock-{name}.json"), "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        known = json.loads(file.read() or "{}")
        try:
            yield known
        finally:
            file.seek(0)
            file.truncate()
            file.write(json.dumps(known))


def renew(thing, known):
    """Renew a lock. One that is lost is forgotten: what was read under it may have changed."""
    _, still = applockctl("renew", "--operator", setting("APPLOCK_OPERATOR"), "--fence", str(known[thing]), "--", thing)
    if not still:
        del known[thing]
    return still


def before(hook):
    tool = hook.get("tool_input", {})
    path = tool.get("file_path") or tool.get("notebook_path")
    if not path:
        return
    path = os.path.realpath(os.path.join(hook.get("cwd", "."), path))
    folder = os.path.dirname(path)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    top = repository_of(folder)
    if top is None:
        return
    path = os.path.relpath(path, top)
    if path != spelled(top, path):
        raise Denied(f"write this path as the repository does: {json.dumps(spelled(top, path))}. Each file has one lock, under one name")
    thing = object_of(path)
    with fences(top) as known:
        if thing in known:
            if not renew(thing, known):
                raise Denied(f"you have lost the lock on {json.dumps(thing)}: read the file anew, and then edit it")
            return
        answers, mine = applockctl("get", "--operator", setting("APPLOCK_OPERATOR"), "--ttl", os.environ.get("APPLOCK_TTL", "10m"), "--", thing)
        if not mine:
            raise Denied(f"{json.dumps(thing)} is locked by {holder_in(answers[0])}. Do not edit it: work on something else, or wait")
        known[thing] = answers[0]["fence"]


def after(hook):
    top = repository_of(hook.get("cwd", "."))
    if top is None:
        return
    with fences(top) as known:
        lost = [thing for thing in list(known) if not renew(thing, known)]
    if lost:
        raise Denied(f"you have lost the locks on {json.dumps(lost)}: others may change these files now. Do not write them before you have read them anew")


def end(hook):
    top = repository_of(hook.get("cwd", "."))
    if top is None:
        return
    with fences(top) as known:
        for thing in list(known):
            applockctl("release", "--operator", setting("APPLOCK_OPERATOR"), "--fence", str(known[thing]), "--", thing)
            del known[thing]


def commit():
    top = repository_of(".")
    changed = git("diff", "--cached", "--name-only", "--no-renames", "-z", folder=top).split("\0")[:-1]
    answers, _ = applockctl("list", "--prefix", object_of(""))
    me = os.environ.get("APPLOCK_OPERATOR")
    held = {f"{a['object_type']}:{a['object_id']}": a for a in answers if a["holder_id"] != me}
    refused = [(path, held[object_of(path)]) for path in changed if object_of(path) in held]
    if refused:
        raise Denied("not committed:\n" + "\n".join(f"{json.dumps(path)} is locked by {holder_in(answer)}" for path, answer in refused))


def put(source, target):
    """Copy a file to a place where there is none. Return whether it is there now."""
    if os.path.lexists(target):
        return filecmp.cmp(source, target, shallow=False)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy(source, target)
    return True


def add_settings(source, target):
    """Add the hooks to an agent's settings, which keep all others."""
    with open(source, encoding="utf-8") as file:
        ours = json.load(file)["hooks"]
    settings = {}
    if os.path.exists(target):
        with open(target, encoding="utf-8") as file:
            settings = json.load(file)
    hooks = settings.setdefault("hooks", {})
    for event, entries in ours.items():
        hooks.setdefault(event, []).extend(entry for entry in entries if entry not in hooks[event])
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "w", encoding="utf-8") as file:
        file.write(json.dumps(settings, indent=2, ensure_ascii=False) + "\n")


def install():
    here, top = os.path.dirname(os.path.realpath(__file__)), repository_of(".")
    if top is None:
        raise Denied("this folder is in no git repository")
    add_settings(os.path.join(here, "settings.json"), os.path.join(top, ".claude", "settings.json"))
    script = os.path.join(top, ".agents", "applock_hook.py")
    if not put(os.path.join(here, "applock_hook.py"), script):
        raise Denied(f"another {script} is there already, and stays as it is. To replace it, remove it and call this again")
    hook = os.path.join(top, git("rev-parse", "--git-path", "hooks/pre-commit", folder=top).rstrip("\n"))
    if not put(os.path.join(here, "pre-commit"), hook):
        raise Denied(f"{hook} is there already, and stays as it is. Add this line to it:\n"
                     'python3 "$(git rev-parse --show-toplevel)/.agents/applock_hook.py" commit || exit 1')


def main():
    try:
        what = sys.argv[1] if len(sys.argv) == 2 else ""
        if what in ("commit", "install"):
            {"commit": commit, "install": install}[what]()
            return 0
        {"before": before, "after": after, "end": end}[what](json.load(sys.stdin))
        return 0
    except Denied as why:
        print(f"applock: {why}", file=sys.stderr)
    except Exception as failure:  # pylint: disable=broad-except
        print(f"applock: the hook has failed; do not write: {failure!r}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
