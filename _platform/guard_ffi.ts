// Copyright 2026 the @proc/group authors. MIT license.

/** The guard on libc, which stays for as long as this process. */

import { C } from "./constants.ts";
import { Errno } from "./errno.ts";
import type { Announced, Guard } from "./guard.ts";
import { guardCommand } from "./guard_programs.ts";
import { errno, libc } from "./libc.ts";
import { bootTicks } from "./linux_birth.ts";
import { reap } from "./linux_exit.ts";
import { posixSpawn } from "./posix_spawn.ts";

const encoder = new TextEncoder();

/** Bytes that a pipe takes whole or not at all, pipe(7). */
const PIPE_BUF = 4096;

/** The part of the pipe in which lines may wait to be read. */
const UNREAD_PART = 1 / 8;

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
  const lines = new Int32Array(2);
  const end = new Int32Array(2);
  if (libc().pipe2(lines, C.O_CLOEXEC) === -1) return null;
  if (libc().pipe2(end, C.O_CLOEXEC) === -1) {
    closeAll(lines);
    return null;
  }
  const { pid } = posixSpawn({
    path: command.sh,
    argv: ["sh", ...command.args, "quiet"],
    // Above all without the mark of an outer group, whose sweep would kill it.
    env: [],
    cwd: "/",
    actions: [
      { fd: 0, from: lines[0]! },
      { fd: 1, open: "/dev/null", flags: C.O_WRONLY },
      { fd: 2, open: "/dev/null", flags: C.O_WRONLY },
      { fd: 3, from: end[0]! },
    ],
    newSession: true,
    resetSignals: "all",
  });
  if (pid === 0) {
    closeAll([...lines, ...end]);
    return null;
  }
  closeAll([lines[0]!, end[0]!]);
  return new FfiGuard(pid, { lines: lines[1]!, end: end[1]! });
}

function closeAll(fds: Iterable<number>): void {
  for (const fd of fds) libc().close(fd);
}

/** Write ends of the pipes to a guard. */
interface Pipes {
  /** Takes what is to be known, which nobody reads before there is a reason. */
  readonly lines: number;
  /** Ends with this process, and wakes the guard up. */
  readonly end: number;
}

/**
 * A direct child. It dies after its parent, so it leaves no zombie unless it is
 * killed, and then it is reaped when the next group starts. A second fork would
 * spare even that, for the price of a second start.
 */
class FfiGuard implements Guard {
  /** Null once it is reaped, when the number may be any other child's. */
  #pid: number | null;
  /** Null once the guard is dead or closed. */
  #pipes: Pipes | null;
  /** What the pipe had no room for. */
  #backlog = "";
  /** What the guard was not asked to read yet, and how much that may be. */
  #unreadBytes = 0;
  readonly #maxUnreadBytes: number;

  constructor(pid: number, pipes: Pipes) {
    this.#pid = pid;
    this.#pipes = pipes;
    // A user with very many pipes gets small ones.
    const pipeBytes = libc().fcntl(pipes.lines, C.F_GETPIPE_SZ, 0);
    this.#maxUnreadBytes = pipeBytes * UNREAD_PART;
    // A guard that is stopped must not stop the event loop.
    libc().fcntl(pipes.lines, C.F_SETFL, C.O_NONBLOCK);
    libc().fcntl(pipes.end, C.F_SETFL, C.O_NONBLOCK);
    // With the isolate the groups end, though the process may go on: with
    // --watch it runs the next version, with `deno test` the next module.
    globalThis.addEventListener("unload", this.#onUnload);
  }

  get alive(): boolean {
    return this.#pipes !== null;
  }

  check(): boolean {
    if (this.#pid !== null && reap(this.#pid) !== null) {
      this.#pid = null;
      this.#letGo();
    }
    return this.alive;
  }

  announce({ pid, bornBy = bootTicks() }: Announced): void {
    this.#send(`@ ${pid} ${bornBy}\n`);
  }

  standDown(pid: number): void {
    this.#send(`- ${pid}\n`);
  }

  close(): Promise<void> {
    this.#wake("q\n");
    this.#letGo();
    this.#reap();
    return Promise.resolve();
  }

  /** Closes the pipes, which the guard takes for this process's death. */
  #letGo = (): void => {
    if (this.#pipes === null) return;
    closeAll([this.#pipes.lines, this.#pipes.end]);
    this.#pipes = null;
    this.#backlog = "";
    globalThis.removeEventListener("unload", this.#onUnload);
  };

  #onUnload = (): void => {
    try {
      this.#letGo();
    } catch {
      // The permission was revoked: the end of the process closes the pipes.
    }
  };

  /**
   * Writes what the pipe has room for, and the rest with the next line. Pieces
   * are small enough for the kernel to take them whole or not at all, so that
   * this process never dies in the middle of one.
   */
  #send(line: string): void {
    this.#backlog += line;
    this.#unreadBytes += line.length;
    if (this.#unreadBytes > this.#maxUnreadBytes) {
      this.#unreadBytes = 0;
      this.#backlog += "=\n";
      this.#wake("=\n");
    }
    while (this.#pipes !== null && this.#backlog !== "") {
      const bytes = encoder.encode(this.#backlog.slice(0, PIPE_BUF));
      const count = libc().write(this.#pipes.lines, bytes, bytes.length);
      if (count > 0) this.#backlog = this.#backlog.slice(count);
      else if (errno() === Errno.EAGAIN) return;
      // Nobody has the other end any more, so the guard is dead.
      else {
        this.#letGo();
        this.#reap();
      }
    }
  }

  /** A guard that does not read, or is dead, shows that in other ways. */
  #wake(line: string): void {
    if (this.#pipes === null) return;
    const bytes = encoder.encode(line);
    libc().write(this.#pipes.end, bytes, bytes.length);
  }

  #reap(): void {
    if (this.#pid !== null) ended.add(this.#pid);
    this.#pid = null;
    reapEnded();
  }
}
