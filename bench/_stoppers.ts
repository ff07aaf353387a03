// Copyright 2026 the @proc/group authors. MIT license.

/** Those that stop trees, behind one interface. */

import type { Programs } from "./_build.ts";
import { Contestant } from "./_contestant.ts";
import { peerName } from "./_peers.ts";
import { cpuTime, MARK, statFields } from "./_procfs.ts";
import { createLines } from "./_serve.ts";
import type { Tree } from "./_trees.ts";

/** How a tree is to be stopped. */
export interface StopOptions {
  readonly killSignal: Deno.Signal;
  readonly graceMs: number;
  readonly limitMs: number;
}

/** Time from the signal to known-gone, and the CPU time for that. */
export interface Stopped {
  readonly ms: number;
  readonly cpuMs: number;
}

/** Starts a tree and stops it, again and again. */
export interface Stopper extends AsyncDisposable {
  readonly name: string;
  start(tree: Tree, mark: string, options: StopOptions): Promise<void>;
  /** Throws {@linkcode TooSlowError} at the limit. */
  stop(options: StopOptions): Promise<Stopped>;
}

/** How this package is called in the report. */
export const OURS = {
  ffi: "this package, FFI",
  portable: "this package, portable",
};

/** A contestant in Deno that serves `start` and `stop`. */
class DenoStopper implements Stopper {
  readonly name: string;
  readonly #module: string;
  readonly #flags: readonly string[];
  readonly #call: string;
  #contestant: Contestant | null = null;
  #leader = 0;

  constructor(
    name: string,
    module: string,
    flags: readonly string[] = [],
    call = "stop",
  ) {
    this.name = name;
    this.#module = `contestants/${module}`;
    this.#flags = flags;
    this.#call = call;
  }

  async start(tree: Tree, mark: string, options: StopOptions): Promise<void> {
    this.#contestant ??= Contestant.deno(this.name, this.#module, this.#flags);
    const { command, args } = tree;
    const env = { [MARK]: mark };
    const { value } = await this.#contestant.ask<number>("start", {
      command,
      args,
      env,
      graceMs: options.graceMs,
    });
    this.#leader = value;
  }

  async stop(options: StopOptions): Promise<Stopped> {
    const contestant = this.#contestant!;
    const tree = cpuTime(this.#leader);
    const before = cpuTime(contestant.pid).childrenMs;
    try {
      const { value, cpuMs } = await contestant.ask<number>(
        this.#call,
        options,
        options.limitMs,
      );
      const after = cpuTime(contestant.pid).childrenMs;
      // Helpers count; the reaped leader's own work before the stop does not.
      const reaped = statFields(this.#leader).length === 0;
      const own = reaped ? tree.ownMs + tree.childrenMs : 0;
      return { ms: value, cpuMs: cpuMs + Math.max(0, after - before - own) };
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#contestant?.[Symbol.asyncDispose]();
    this.#contestant = null;
  }
}

/** The C program, a process for each tree. */
class FloorStopper implements Stopper {
  readonly name: string;
  readonly #program: string;
  readonly #way: string;
  #child: Deno.ChildProcess | null = null;
  #lines: AsyncGenerator<string> | null = null;

  constructor(name: string, program: string, way: "pidfd" | "subreaper") {
    this.name = name;
    this.#program = program;
    this.#way = way;
  }

  async start(tree: Tree, mark: string, options: StopOptions): Promise<void> {
    const { killSignal, graceMs } = options;
    const number = killSignal === "SIGKILL" ? "9" : "15";
    // The mark is for the tree alone: env(1) sets it behind the floor.
    const command = ["env", `${MARK}=${mark}`, tree.command];
    this.#child = new Deno.Command(this.#program, {
      args: [this.#way, number, `${graceMs}`, ...command, ...tree.args],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    this.#lines = createLines(this.#child.stdout);
    await this.#lines.next();
  }

  async stop(): Promise<Stopped> {
    const writer = this.#child!.stdin.getWriter();
    await writer.write(new TextEncoder().encode("\n"));
    const { value } = await this.#lines!.next();
    const [us, cpuUs] = `${value}`.split(" ").map(Number);
    await writer.close();
    await this.#lines!.return(undefined);
    await this.#child!.status;
    this.#child = null;
    return { ms: us! / 1000, cpuMs: cpuUs! / 1000 };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child?.kill("SIGKILL");
    await this.#lines?.return(undefined);
    await this.#child?.status;
    this.#child = null;
  }
}

/** All contestants of the whole job. */
export function allStoppers(programs: Programs | null): Stopper[] {
  return [
    new DenoStopper(OURS.ffi, "stop_group.ts"),
    new DenoStopper(OURS.portable, "stop_group.ts", ["--deny-ffi"]),
    new DenoStopper("Deno.Command", "stop_command.ts"),
    new DenoStopper("GNU timeout", "stop_timeout.ts"),
    new DenoStopper(peerName("execa"), "stop_execa.ts"),
    new DenoStopper(peerName("zx"), "stop_zx.ts"),
    new DenoStopper(peerName("tree-kill"), "stop_tree_kill.ts"),
    ...floors(programs),
  ];
}

/** The C program in both its ways; none without a compiler. */
export function floors(programs: Programs | null): Stopper[] {
  if (programs === null) return [];
  return [
    new FloorStopper("C, pidfds", programs.floor, "pidfd"),
    new FloorStopper("C, subreaper", programs.floor, "subreaper"),
  ];
}

/** What the ratio to the C program is taken of. */
export function pairStoppers(floor: string): {
  wait: Stopper;
  stop: Stopper;
  floor: Stopper;
} {
  const module = "stop_group.ts";
  return {
    wait: new DenoStopper("killGroup, waitGone", module, [], "killAndWait"),
    stop: new DenoStopper("stopGroup", module),
    floor: new FloorStopper("C, pidfds", floor, "pidfd"),
  };
}
