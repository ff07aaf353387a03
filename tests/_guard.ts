// Copyright 2026 the @proc/group authors. MIT license.

/** A program that has groups, and how to see what it leaves behind. */

import { assert } from "@std/assert";
import { toText } from "@std/streams/to-text";
import {
  alive,
  allFlags,
  fromRoot,
  importMap,
  readUntil,
  skipIf,
  statOf,
  uniqueSleep,
  until,
} from "./_util.ts";

/** Options of a test that waits for processes to end. */
export const WAITS: { ignore: boolean; timeout: number } = {
  ...skipIf(Deno.build.os !== "linux", "there is no procfs"),
  timeout: 60_000,
};

/** A tree of processes, with the number of its sleeps. */
export type Shape = readonly [script: string, count: number];

export const PLAIN: Shape = ["sleep $0 & sleep $0 & sleep $0", 3];
export const JOBS: Shape = ["exec bash -ic 'sleep $0 & sleep $0 & wait' $0", 2];
export const STUBBORN: Shape = [
  "(trap '' TERM; sleep $0) & trap '' TERM; sleep $0",
  2,
];
export const DAEMON: Shape = ["setsid sleep $0 & exec sleep $0", 2];
export const BARE: Shape = ["exec env -i sleep $0", 1];

/** A program that has groups. */
export class Parent implements AsyncDisposable {
  readonly child: Deno.ChildProcess;
  /** Its own name of the mark, an argument of its guard; empty if unknown. */
  #mark = "";
  readonly #unique: string;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;

  constructor(args: string[], unique: string) {
    this.#unique = unique;
    this.child = new Deno.Command(Deno.execPath(), {
      args,
      env: { NO_COLOR: "1" },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#writer = this.child.stdin.getWriter();
  }

  /** Starts the program with these trees and waits until they are there. */
  static async start(
    shapes: readonly Shape[],
    { flags = allFlags, program = "guard_parent.ts" } = {},
  ): Promise<Parent> {
    const unique = uniqueSleep();
    const args = [...importMap, "--no-prompt", ...flags];
    const scripts = shapes.map(([script]) => script.replaceAll("$0", unique));
    const path = fromRoot(`tests/testdata/${program}`);
    const parent = new Parent(["run", ...args, path, ...scripts], unique);
    await parent.learnMark();
    await parent.#hasSleeps(shapes);
    return parent;
  }

  /** Takes the first line of the output; a program with a Worker has no mark. */
  async learnMark(): Promise<void> {
    const text = await readUntil(this.child.stdout, "\n");
    this.#mark = /^PROC_GROUP_PARENT_[0-9a-f]{16}(?=\n)/.exec(text)?.[0] ?? "";
  }

  async #hasSleeps(shapes: readonly Shape[]): Promise<void> {
    const count = shapes.reduce((sum, shape) => sum + shape[1], 0);
    await until(
      `${count} sleeps run`,
      async () => (await this.sleeps()).length === count,
    );
  }

  /** Pids of its sleeps. */
  sleeps(): Promise<number[]> {
    return alive(`sleep\0${this.#unique}\0`);
  }

  /** Pids of its guards and of their subshells. */
  guards(): Promise<number[]> {
    // An empty text would be found in every process of the machine.
    return this.#mark === "" ? Promise.resolve([]) : alive(this.#mark);
  }

  /** Pid of its only guard, which leads a session; a subshell does not. */
  async guard(): Promise<number> {
    let leaders: number[] = [];
    await until("there is one guard", async () => {
      const pids = await this.guards();
      const stats = await Promise.all(pids.map(statOf));
      leaders = pids.filter((pid, i) => stats[i]?.[3] === `${pid}`);
      return leaders.length === 1;
    });
    return leaders[0]!;
  }

  /** Gives a line to the program and waits for its answer. */
  async say(line: string): Promise<void> {
    await this.order(line);
    await readUntil(this.child.stdout, "done\n");
  }

  /** Gives a line to a program that does not answer. */
  async order(line: string): Promise<void> {
    const text = line.replaceAll("$0", this.#unique);
    await this.#writer.write(new TextEncoder().encode(`${text}\n`));
  }

  /** Waits for the end of the program and of all that it has printed. */
  async end(): Promise<Deno.CommandStatus & { stderr: string }> {
    const [status, , stderr] = await Promise.all([
      this.child.status,
      this.child.stdout.cancel(),
      toText(this.child.stderr),
    ]);
    await this.#writer.close().catch(() => {
      // The program has closed its end.
    });
    return { ...status, stderr };
  }

  /** Fails unless its groups end soon, and the guard after them. */
  async assertAllEnd(): Promise<void> {
    await this.untilNoSleep();
    await until("no guard is left", async () => {
      return (await this.guards()).length === 0;
    });
  }

  /** Waits for the end of its sleeps. */
  async untilNoSleep(): Promise<void> {
    await until("no sleep is left", async () => {
      return (await this.sleeps()).length === 0;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pid of [...await this.sleeps(), ...await this.guards()]) {
      kill(pid, "SIGKILL");
    }
    try {
      this.child.kill("SIGKILL");
    } catch {
      // The program has ended already.
    }
    await this.child.status;
  }
}

/** A process that has just ended is no error. */
export function kill(pid: number, signal: Deno.Signal): void {
  assert(pid > 1 && pid !== Deno.pid, `Cannot signal ${pid}`);
  try {
    Deno.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
