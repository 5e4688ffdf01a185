"""Runs a Python module, such as mkdocs, in the versions of requirements.txt.

It installs them once for all checkouts, into the user's cache, and changes nothing else on the system. Exit code 69
(EX_UNAVAILABLE) means that they cannot be installed; stderr says why.
"""

import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

UNAVAILABLE = 69
REQUIREMENTS = pathlib.Path(__file__).with_name("requirements.txt")


def installed() -> pathlib.Path:
    """Returns the folder of the modules. One process makes it while others wait."""
    version = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()[:12]
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "applock"
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / f"python-{version}"
    with open(cache / f"python-{version}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            half = folder.with_suffix(".half")
            shutil.rmtree(half, ignore_errors=True)
            install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", half, "--requirement", REQUIREMENTS]
            pip = subprocess.run(install, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if pip.returncode != 0:
                print(pip.stdout, f"{REQUIREMENTS} cannot be installed", sep="\n", file=sys.stderr)
                sys.exit(UNAVAILABLE)
            half.rename(folder)
    return folder


if __name__ == "__main__":
    modules = str(installed())
    os.execve(sys.executable, [sys.executable, "-m", *sys.argv[1:]], os.environ | {"PYTHONPATH": modules})
