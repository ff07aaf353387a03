// Copyright 2026 the @proc/group authors. MIT license.

/** The guard by `Deno.Command`, which stays while there are groups. */

import { childStatus } from "./child_status.ts";
import type { Announced, Guard } from "./guard.ts";
import { type GuardCommand, guardCommand } from "./guard_programs.ts";

const encoder = new TextEncoder();

/** Milliseconds of a clock tick in which procfs tells start times. */
const TICK_MS = 10;

/**
 * Starts a guard, or gives null where that is not possible.
 *
 * @param onDeath Called when it has ended although nobody has closed it.
 */
export function startCommandGuard(onDeath: () => void): Guard | null {
  const command = guardCommand();
  if (command === null) return null;
  const child = (command.setsid && start(command, command.setsid)) ||
    start(command, "");
  return child && new CommandGuard(child, onDeath);
}

/**
 * In a session of its own, since the terminal's signals end the parent, not
 * the guard. Through setsid(1) where there is one: `detached` forks, which
 * takes the longer the more memory this process has.
 */
function start(
  { sh, args }: GuardCommand,
  setsid: string,
): Deno.ChildProcess | null {
  try {
    return new Deno.Command(setsid || sh, {
      args: setsid ? [sh, ...args] : [...args],
      cwd: "/",
      // Above all without the mark of an outer group, whose sweep would kill it.
      clearEnv: true,
      stdin: "piped",
      stdout: "null",
      stderr: "null",
      detached: !setsid,
    }).spawn();
  } catch {
    // No such program, or no more processes: the group is unguarded.
    return null;
  }
}

class CommandGuard implements Guard {
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #status: Promise<Deno.CommandStatus>;
  #alive = true;
  #onDeath: () => void;

  constructor(child: Deno.ChildProcess, onDeath: () => void) {
    this.#onDeath = onDeath;
    this.#child = child;
    this.#status = childStatus(child);
    this.#writer = child.stdin.getWriter();
    this.#writer.closed.catch(ignore);
    // This process ends when it has nothing to do but to be guarded.
    child.unref();
    void this.#watch();
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** The runtime tells. */
  check(): boolean {
    return this.#alive;
  }

  announce({ pid, at }: Announced): void {
    const age = Math.floor((performance.now() - at) / TICK_MS);
    this.#send(`+ ${pid} ${age}\n`);
  }

  standDown(pid: number): void {
    this.#send(`- ${pid}\n`);
  }

  /** By SIGKILL, which ends a guard that is still starting, or stopped, too. */
  async close(): Promise<void> {
    this.#onDeath = ignore;
    // Else the event loop may end before the status is there.
    this.#child.ref();
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It is dead already.
    }
    await this.#status;
    await this.#letGo();
  }

  async #watch(): Promise<void> {
    await this.#status;
    await this.#letGo();
    this.#onDeath();
  }

  async #letGo(): Promise<void> {
    this.#alive = false;
    await this.#writer.abort().catch(ignore);
  }

  #send(line: string): void {
    if (this.#alive) this.#writer.write(encoder.encode(line)).catch(ignore);
  }
}

/** The guard is dead, which shows in other ways. */
function ignore(): void {}
