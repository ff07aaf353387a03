// Copyright 2026 the @proc/group authors. MIT license.

/**
 * The guard: a small shell in a session of its own that ends this process's
 * groups when this process dies, however it dies. It learns of the death by the
 * end of a pipe whose other end only this process has.
 *
 * There are two kinds, since no one way of starting it serves all:
 *
 * - On libc, one that stays for as long as this process: a raw pipe is invisible
 *   to the sanitizers of `deno test` and takes a line synchronously.
 * - By `Deno.Command`, one that stays while there are groups, and is gone before
 *   the last of them is stood down. A Worker has this kind on libc as well,
 *   because a raw pipe outlives `worker.terminate()`.
 */

import { startCommandGuard } from "./guard_command.ts";
import { startFfiGuard } from "./guard_ffi.ts";
import { isWorker } from "./worker.ts";

/** How often a guard is replaced at once: one may die again and again. */
const MAX_REPLACEMENTS = 10;

/** A guard process. A guard that is dead takes everything and does nothing. */
export interface Guard {
  /** Whether the process still runs, as far as that is known by now. */
  readonly alive: boolean;
  /** Finds out whether the process still runs. */
  check(): boolean;
  announce(leader: Announced): void;
  /** The session is over: its number may be anybody's. */
  standDown(pid: number): void;
  /** Ends the process without a harm to any group; resolves when it is gone. */
  close(): Promise<void>;
}

/** The leader of a session that is not over. */
export interface Announced {
  readonly pid: number;
  /** When that was said first, by `performance.now()`. */
  readonly at: number;
  /** The last clock tick since boot at which it can have been born, if known. */
  readonly bornBy: number | undefined;
}

/** One group's claim on the guard, from before its start to after its end. */
export interface GuardHold {
  /**
   * Whether a guard runs; once the group is over, whether one did. A guard that
   * somebody has killed is replaced.
   */
  isGuarded(): boolean;
  /**
   * Tells the guard of the group, right after its leader was started.
   *
   * @param bornBy The clock tick since boot by which that was, if known.
   */
  announce(pid: number, bornBy?: number): void;
  /**
   * The group is over, or was not started after all. If nothing else is
   * guarded, a guard that would be in the way of the sanitizers is ended, and
   * the promise resolves when it is gone. Idempotent; never rejects.
   */
  standDown(): Promise<void>;
}

/**
 * Makes sure that a guard runs, before a group is started: the other way round
 * a death in between leaves the group behind. Never throws, never asks for a
 * permission; where `sh` is missing or may not be run, the group is unguarded.
 *
 * @param platform The implementation that starts the group.
 */
export function holdGuard(platform: "portable" | "linux"): GuardHold {
  return keeperFor(platform).hold();
}

/** Whether a guard for such a group runs already. */
export function guardRuns(platform: "portable" | "linux"): boolean {
  return keeperFor(platform).runs;
}

/** Keeps one guard of a kind running and knows what it has to know. */
class GuardKeeper {
  readonly #start: (onDeath: () => void) => Guard | null;
  readonly #lasting: boolean;
  #guard: Guard | null = null;
  /** Claims that are not stood down, groups in the middle of a start included. */
  #holds = 0;
  #replacements = 0;
  /** By the leader's pid. */
  readonly #announced = new Map<number, Announced>();

  constructor(
    start: (onDeath: () => void) => Guard | null,
    options: { lasting: boolean },
  ) {
    this.#start = start;
    this.#lasting = options.lasting;
  }

  get runs(): boolean {
    return this.#guard?.alive ?? false;
  }

  hold(): GuardHold {
    this.#holds++;
    let guarded = this.#ensure();
    let announced: Announced | null = null;
    let over = false;
    return {
      isGuarded: () => {
        if (!over) guarded = this.#check();
        return guarded;
      },
      announce: (leader, bornBy) => {
        announced = { pid: leader, at: performance.now(), bornBy };
        this.#announce(announced);
      },
      standDown: async () => {
        if (over) return;
        over = true;
        await this.#standDown(announced);
      },
    };
  }

  /** Whether a guard runs. One that has died is replaced for the time to come. */
  #check(): boolean {
    const isAlive = this.#guard?.check() ?? false;
    if (this.#guard !== null && !isAlive) this.#ensure();
    return isAlive;
  }

  /** A guard has died while there were groups, as far as the runtime tells. */
  #replace(): void {
    if (this.#holds === 0 || this.#replacements >= MAX_REPLACEMENTS) return;
    this.#replacements++;
    this.#ensure();
  }

  /** Starts a guard if there is none or it has died; false if that fails. */
  #ensure(): boolean {
    if (this.#guard?.alive) return true;
    const died = this.#guard;
    // Lets go of its end of the pipe, and there is nothing to wait for.
    void died?.close();
    try {
      this.#guard = this.#start(() => this.#replace());
    } catch {
      // The start of the group fails for the same reason, and tells it.
      this.#guard = null;
    }
    for (const leader of this.#announced.values()) {
      this.#guard?.announce(leader);
    }
    return this.#guard !== null;
  }

  #announce(leader: Announced): void {
    this.#guard?.announce(leader);
    this.#announced.set(leader.pid, leader);
    // If the guard turns out to be dead, a new one is told of all groups.
    this.#ensure();
  }

  async #standDown(leader: Announced | null): Promise<void> {
    this.#holds--;
    // The number may be a later group's by now.
    if (leader && this.#announced.get(leader.pid) === leader) {
      this.#announced.delete(leader.pid);
      this.#guard?.standDown(leader.pid);
    }
    if (this.#holds > 0 || this.#lasting) return;
    // The next group starts a guard of its own while this one ends.
    const guard = this.#guard;
    this.#guard = null;
    await guard?.close();
  }
}

function keeperFor(platform: "portable" | "linux"): GuardKeeper {
  return platform === "linux" && !isWorker() ? lasting : temporary;
}

const lasting = new GuardKeeper(startFfiGuard, { lasting: true });

const temporary = new GuardKeeper(startCommandGuard, { lasting: false });
