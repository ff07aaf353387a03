// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Any calls in any order, several at once, against a model: what was seen to be
 * gone stays gone, everything settles in time, nothing is left.
 */

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  killGroup,
  listGroup,
  type ProcessGroup,
  spawnGroup,
  stopGroup,
  waitGone,
} from "../process_group.ts";
import { DeadlineExceededError, withDeadline } from "../timeout.ts";
import { runs } from "./_fuzz.ts";
import {
  assertNoneAlive,
  countListeners,
  uniqueSleep,
  watchLeaks,
} from "./_util.ts";

const GRACE_MS = 150;

/** No call takes longer than the grace period and two seconds, but for load. */
const BOUND_MS = GRACE_MS + 2000 + 4000;

watchLeaks();

/** Trees to start, made of a text that only they have among their arguments. */
const TREES: Readonly<Record<string, (unique: string) => string>> = {
  nothing: () => ":",
  fails: () => "exit 3",
  sleeps: (unique) => `exec sleep ${unique}`,
  children: (unique) => `sleep ${unique} & sleep ${unique} & echo hi; wait`,
  proof: (unique) =>
    `trap '' TERM; sleep ${unique} & echo hi; sleep ${unique}; :`,
  orphan: (unique) => `(sleep ${unique} >/dev/null &); echo hi`,
  holdsPipe: (unique) => `sleep ${unique} & echo hi`,
  daemon: (unique) => `setsid sleep ${unique} & echo hi; exec sleep ${unique}`,
  jobs: (unique) => `set -m; sleep ${unique} & sleep ${unique} & echo hi; wait`,
  stopped: (unique) => `sleep ${unique} & echo hi; kill -STOP $$; wait`,
  prints: (unique) => `sleep ${unique} & while echo hi; do sleep 0.05; done`,
};

const CALLS = [
  "kill",
  "signal",
  "stop",
  "abort",
  "dispose",
  "waitGone",
  "waitAWhile",
  "list",
  "output",
  "deadline",
  "status",
  "unref",
  "pause",
] as const;

/** One call, and whether the next one waits for it. */
const call = fc.record({
  name: fc.constantFrom(...CALLS),
  on: fc.nat({ max: 2 }),
  isAwaited: fc.boolean(),
  n: fc.nat({ max: 5 }),
});

const world = fc.record({
  trees: fc.array(fc.constantFrom(...Object.keys(TREES)), {
    minLength: 1,
    maxLength: 3,
  }),
  calls: fc.array(call, { minLength: 1, maxLength: 12 }),
});

type Call = typeof call extends fc.Arbitrary<infer T> ? T : never;

/** A group and what is known about it. */
class Subject {
  readonly group: ProcessGroup;
  readonly controller = new AbortController();
  readonly listeners = countListeners(this.controller.signal);
  readonly unique = uniqueSleep(25);
  /** Whether a call has said that nobody is left. */
  isGone = false;
  /** Stops that a later one would join, however the group is by then. */
  stopping = 0;

  constructor(tree: string) {
    // Job control is bash's, and the rest is for the smaller shell.
    const shell = tree === "jobs" ? "bash" : "sh";
    this.group = spawnGroup(shell, ["-c", TREES[tree]!(this.unique)], {
      stdin: "null",
      stdout: "piped",
      stderr: "null",
      graceMs: GRACE_MS,
      signal: this.controller.signal,
    });
  }

  async run({ name, n }: Call): Promise<void> {
    const { group } = this;
    const wasGone = this.isGone;
    switch (name) {
      case "kill": {
        const signal = (["SIGTERM", "SIGKILL", "SIGINT"] as const)[n % 3]!;
        const isSent = killGroup(group, signal);
        assert(!(wasGone && isSent));
        return;
      }
      case "signal":
        return group.kill((["SIGSTOP", "SIGCONT", 0] as const)[n % 3]);
      case "stop": {
        const joins = this.stopping > 0;
        const graceMs = n % 2 ? GRACE_MS : 0;
        const report = await this.stop(() => stopGroup(group, { graceMs }));
        assertEquals(report.survivors, []);
        if (wasGone && !joins) assertEquals(report.forced, false);
        return;
      }
      case "abort":
        // Nobody tells when this one is over.
        this.stopping++;
        return this.controller.abort(new Error("aborted"));
      case "dispose":
        return await this.stop(() => group[Symbol.asyncDispose]());
      case "waitGone":
        await waitGone(group);
        this.isGone = true;
        return;
      case "waitAWhile":
        return await this.waitAWhile(n * 20);
      case "list": {
        const members = await listGroup(group);
        if (wasGone) assertEquals(members, []);
        return;
      }
      case "output":
        await group.output().catch((error) => {
          // Somebody was quicker, or it was disposed of.
          if (!(error instanceof TypeError)) throw error;
        });
        return;
      case "deadline":
        return await this.stop(() => this.waitUntilDeadline(n * 20));
      case "status": {
        const { code, success } = await group.status;
        assertEquals(success, code === 0);
        return;
      }
      case "unref":
        group.unref();
        return group.ref();
      case "pause":
        return await new Promise((resolve) => setTimeout(resolve, n * 10));
    }
  }

  async waitAWhile(ms: number): Promise<void> {
    const controller = new AbortController();
    const reason = new Error("waited");
    const timer = setTimeout(() => controller.abort(reason), ms);
    try {
      await waitGone(this.group, { signal: controller.signal });
      this.isGone = true;
    } catch (error) {
      assertEquals(error, reason);
    } finally {
      clearTimeout(timer);
    }
  }

  async waitUntilDeadline(ms: number): Promise<void> {
    try {
      await withDeadline(this.group, ms, { drainMs: 50 });
    } catch (error) {
      if (!(error instanceof DeadlineExceededError)) throw error;
      assertEquals(error.report?.survivors, []);
    }
  }

  /** Does what leaves nobody. */
  async stop<T>(run: () => Promise<T>): Promise<T> {
    this.stopping++;
    try {
      return await run();
    } finally {
      this.stopping--;
      this.isGone = true;
    }
  }

  /** Ends it and looks at what is there afterwards. */
  async end(): Promise<void> {
    await this.group[Symbol.asyncDispose]();
    await this.group.status;
    assertEquals(killGroup(this.group, "SIGTERM"), false);
    assertEquals(killGroup(this.group, 0), false);
    assertEquals(await listGroup(this.group), []);
    const again = await stopGroup(this.group);
    assertEquals([again.forced, again.survivors], [false, []]);
    assertEquals(this.listeners(), 0);
    this.controller.abort();
  }
}

/** Rejects if what may take a while takes too long. */
async function inTime<T>(what: string, promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`${what} has not settled in ${BOUND_MS} ms`)),
    BOUND_MS,
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether a call ends by itself, whatever others do. */
function isBounded({ name }: Call): boolean {
  return name !== "waitGone" && name !== "output" && name !== "status";
}

async function play(trees: string[], calls: Call[]): Promise<void> {
  const subjects = trees.map((tree) => new Subject(tree));
  const pending: Promise<void>[] = [];
  let failure: unknown;
  try {
    for (const call of calls) {
      const subject = subjects[call.on % subjects.length]!;
      const done = subject.run(call);
      if (call.isAwaited && isBounded(call)) await inTime(call.name, done);
      else pending.push(done);
      // What is rejected later is looked at below.
      done.catch(() => {});
    }
  } catch (error) {
    failure = error;
  }
  await inTime("the end", Promise.all(subjects.map((one) => one.end())));
  await inTime("a call in flight", Promise.all(pending));
  if (failure) throw failure;
  const uniques = subjects.map(({ unique }) => unique);
  await assertNoneAlive(...uniques);
}

Deno.test(
  "a group survives any calls in any order, and leaves nothing",
  { timeout: 120_000 },
  async () => {
    const property = fc.asyncProperty(
      world,
      ({ trees, calls }) => play(trees, calls),
    );
    // Each waits most of its time.
    await Promise.all(
      [0, 1, 2].map((lane) =>
        fc.assert(property, runs(10, { endOnFailure: true, lane }))
      ),
    );
  },
);

Deno.test(
  "many groups survive all calls at once",
  { timeout: 60_000 },
  async () => {
    const calls = fc.array(call, { minLength: 4, maxLength: 8 });
    const all = fc.array(calls, { minLength: 11, maxLength: 11 });
    const names = Object.keys(TREES);
    await fc.assert(
      fc.asyncProperty(all, async (all) => {
        await Promise.all(all.map((calls, i) => play([names[i]!], calls)));
      }),
      runs(3, { endOnFailure: true }),
    );
  },
);

Deno.test(
  "spawnGroup() and an abort at any moment leave nothing",
  { timeout: 60_000 },
  async () => {
    const controllers: AbortController[] = [];
    const uniques: string[] = [];
    const statuses: Promise<Deno.CommandStatus>[] = [];
    const groups: ProcessGroup[] = [];
    for (let i = 0; i < 30; i++) {
      const controller = new AbortController();
      const unique = uniqueSleep(25);
      const group = spawnGroup("sh", [
        "-c",
        `sleep ${unique} & sleep ${unique}`,
      ], {
        signal: controller.signal,
        graceMs: 100,
      });
      controllers.push(controller);
      uniques.push(unique);
      groups.push(group);
      statuses.push(group.status);
      if (i % 3 === 0) controller.abort();
      else if (i % 3 === 1) queueMicrotask(() => controller.abort());
      else setTimeout(() => controller.abort(), i);
    }
    await inTime("all exits", Promise.all(statuses));
    await inTime("all groups", Promise.all(groups.map((one) => waitGone(one))));
    await assertNoneAlive(...uniques);
    await Promise.all(groups.map((group) => stopGroup(group)));
  },
);
