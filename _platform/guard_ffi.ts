// Copyright 2026 the @proc/group authors. MIT license.

/** The guard on libc, which stays for as long as this process. */

import { C } from "./constants.ts";
import { Errno } from "./errno.ts";
import type { Guard } from "./guard.ts";
import { guardCommand } from "./guard_programs.ts";
import { errno, libc } from "./libc.ts";
import { reap } from "./linux_exit.ts";
import { posixSpawn } from "./posix_spawn.ts";

const encoder = new TextEncoder();

/** Bytes that a pipe takes whole or not at all, pipe(7). */
const PIPE_BUF = 4096;

/** Guards that have ended, or are about to, and are not reaped yet. */
const ended = new Set<number>();

function reapEnded(): void {
  for (const pid of ended) {
    if (reap(pid) !== null) ended.delete(pid);
  }
}

/** Starts a guard, or gives null where that is not possible. */
export function startFfiGuard(): Guard | null {
  reapEnded();
  const command = guardCommand();
  if (command === null) return null;
  const ends = new Int32Array(2);
  if (libc().pipe2(ends, C.O_CLOEXEC) === -1) return null;
  const [read = -1, write = -1] = ends;
  const { pid } = posixSpawn({
    path: command.sh,
    argv: ["sh", ...command.args],
    // Above all without the mark of an outer group, whose sweep would kill it.
    env: [],
    cwd: "/",
    actions: [
      { fd: 0, from: read },
      { fd: 1, open: "/dev/null", flags: C.O_WRONLY },
      { fd: 2, open: "/dev/null", flags: C.O_WRONLY },
    ],
    newSession: true,
    resetSignals: "all",
  });
  libc().close(read);
  if (pid === 0) {
    libc().close(write);
    return null;
  }
  return new FfiGuard(pid, write);
}

/**
 * A direct child. It dies after its parent, so it leaves no zombie unless it is
 * killed, and then it is reaped when the next group starts. A second fork would
 * spare even that, for the price of a second start.
 */
class FfiGuard implements Guard {
  /** Null once it is reaped, when the number may be any other child's. */
  #pid: number | null;
  /** Write end of the pipe; null once the guard is dead or closed. */
  #fd: number | null;
  /** What the pipe had no room for. */
  #backlog = "";

  constructor(pid: number, fd: number) {
    this.#pid = pid;
    this.#fd = fd;
    // A guard that is stopped must not stop the event loop.
    libc().fcntl(fd, C.F_SETFL, C.O_NONBLOCK);
    // With the isolate the groups end, though the process may go on: with
    // --watch it runs the next version, with `deno test` the next module.
    globalThis.addEventListener("unload", this.#onUnload);
  }

  get alive(): boolean {
    return this.#fd !== null;
  }

  announce(pid: number, age: number): void {
    this.#send(`+ ${pid} ${age}\n`);
  }

  standDown(pid: number): void {
    this.#send(`- ${pid}\n`);
  }

  close(): Promise<void> {
    this.#send("q\n");
    this.#letGo();
    this.#reap();
    return Promise.resolve();
  }

  /** Closes the pipe, which the guard takes for this process's death. */
  #letGo = (): void => {
    if (this.#fd === null) return;
    libc().close(this.#fd);
    this.#fd = null;
    this.#backlog = "";
    globalThis.removeEventListener("unload", this.#onUnload);
  };

  #onUnload = (): void => {
    try {
      this.#letGo();
    } catch {
      // The permission was revoked: the end of the process closes the pipe.
    }
  };

  /**
   * Writes what the pipe has room for, and the rest with the next line. Pieces
   * are small enough for the kernel to take them whole or not at all, so that
   * this process never dies in the middle of one.
   */
  #send(line: string): void {
    this.#backlog += line;
    while (this.#fd !== null && this.#backlog !== "") {
      const bytes = encoder.encode(this.#backlog.slice(0, PIPE_BUF));
      const count = libc().write(this.#fd, bytes, bytes.length);
      if (count > 0) this.#backlog = this.#backlog.slice(count);
      else if (errno() === Errno.EAGAIN) return;
      // Nobody has the other end any more, so the guard is dead.
      else {
        this.#letGo();
        this.#reap();
      }
    }
  }

  #reap(): void {
    if (this.#pid !== null) ended.add(this.#pid);
    this.#pid = null;
    reapEnded();
  }
}
