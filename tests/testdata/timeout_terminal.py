# Copyright 2026 the @proc/group authors. MIT license.
"""Runs a command in a terminal of its own and types into it.

Arguments: a JSON list of [text to wait for, text to type] pairs, the command.
Prints a JSON object: output, exit code (negative for a signal), milliseconds.
"""

import json
import os
import pty
import select
import signal
import sys
import time

LIMIT_SECONDS = 12

steps = json.loads(sys.argv[1])
start = time.monotonic()
pid, master = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])

output = b""
matched = 0
status = None
while status is None:
    if time.monotonic() - start > LIMIT_SECONDS:
        os.kill(pid, signal.SIGKILL)
    if select.select([master], [], [], 0.02)[0]:
        try:
            output += os.read(master, 65536)
        except OSError:
            time.sleep(0.02)
    if steps:
        at = output.find(steps[0][0].encode(), matched)
        if at >= 0:
            matched = at + len(steps[0][0].encode())
            os.write(master, steps.pop(0)[1].encode())
    done, found = os.waitpid(pid, os.WNOHANG)
    if done:
        status = found
while select.select([master], [], [], 0.1)[0]:
    try:
        output += os.read(master, 65536)
    except OSError:
        break

json.dump({
    "output": output.decode(errors="replace"),
    "code": os.waitstatus_to_exitcode(status),
    "ms": round((time.monotonic() - start) * 1000),
}, sys.stdout)
