# Copyright 2026 the @proc/group authors. MIT license.
# Runs a command line in an interactive shell on a terminal, types Ctrl-C when
# the command has printed its first line, and says whether the shell is back.
# Arguments: the command line, and text that only its output holds.

import os
import pty
import select
import sys
import time


def read_until(text, seconds):
    """Reads the terminal until the text has come, once."""
    data, end = b"", time.monotonic() + seconds
    while text not in data:
        left = end - time.monotonic()
        if left <= 0 or not select.select([master], [], [], left)[0]:
            sys.exit(f"No {text!r} in {data!r}")
        data += os.read(master, 4096)
    return data


pid, master = pty.fork()
if pid == 0:
    os.environ["PS1"] = "ready> "
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])

read_until(b"ready> ", 20)
os.write(master, sys.argv[1].encode() + b"\n")
read_until(sys.argv[2].encode(), 20)
print("running", flush=True)
sys.stdin.readline()
os.write(master, b"\x03")
read_until(b"ready> ", 20)
os.write(master, b"echo back$((1 + 1))\n")
read_until(b"back2", 20)
print("back", flush=True)
os.write(master, b"exit\n")
os.waitpid(pid, 0)
