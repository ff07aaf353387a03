// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Process trees that outlive the usual time limits, each with dash and with
 * bash: nothing of them is left, all output is kept, and nobody waits long.
 */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { type ProcessGroup, spawnGroup } from "../process_group.ts";
import { DeadlineExceededError, withDeadline } from "../timeout.ts";
import {
  assertNoneAlive,
  decode,
  uniqueSleep,
  untilAsleep,
  watchLeaks,
} from "./_util.ts";

const WAITS = { timeout: 30_000 };
const DEADLINE_MS = 100;
const GRACE_MS = 1500;

watchLeaks();

/** A script whose two sleeps are `a` and `b`, and what is to come of it. */
interface Case {
  title: string;
  script: (a: string, b: string) => string;
  check: (error: DeadlineExceededError) => void;
}

const CASES: Case[] = [{
  title: "S1: grandchildren hold the pipe",
  script: (a, b) => `echo hi; sleep ${a} & sleep ${b}`,
  check: (error) => {
    assertEquals(decode(error.output?.stdout), "hi\n");
    assertEquals(error.report?.forced, false);
  },
}, {
  title: "S2: the leader dies of SIGTERM, which its child ignores",
  script: (a, b) =>
    `(trap '' TERM; exec sleep ${a} >/dev/null 2>&1 </dev/null) & exec sleep ${b}`,
  check: (error) => {
    assertEquals(error.report?.forced, true);
    assertEquals(error.output?.signal, "SIGTERM");
    assert(error.durationMs >= DEADLINE_MS + GRACE_MS, `${error.durationMs}`);
  },
}, {
  title: "S3: an escapee holds the pipe",
  script: (a, b) => `echo hi; setsid sleep ${a} & exec sleep ${b}`,
  check: (error) => {
    assertEquals(decode(error.output?.stdout), "hi\n");
    assertEquals(commands(error.report?.escaped), ["sleep"]);
  },
}, {
  title: "S4: an orphan is in the group",
  script: (a, b) =>
    `(sleep ${a} >/dev/null 2>&1 </dev/null &); sleep .1; exec sleep ${b}`,
  check: (error) => assertEquals(error.report?.escaped, []),
}, {
  title: "S5: a daemon is in a session of its own",
  script: (a, b) =>
    `(setsid sleep ${a} >/dev/null 2>&1 </dev/null &); sleep .1; exec sleep ${b}`,
  check: (error) => {
    const escaped = error.report?.escaped ?? [];
    assertEquals(commands(escaped), ["sleep"]);
    assertEquals(escaped[0]?.sid, escaped[0]?.pid);
  },
}];

function spawnPiped(shell: string, script: string): ProcessGroup {
  return spawnGroup(shell, ["-c", script], {
    stdout: "piped",
    graceMs: GRACE_MS,
  });
}

function commands(processes: { command: string }[] | undefined): string[] {
  return processes?.map(({ command }) => command) ?? [];
}

async function runLate({ script, check }: Case, shell: string): Promise<void> {
  const [a, b] = [uniqueSleep(), uniqueSleep()];
  await using group = spawnPiped(shell, script(a, b));
  await untilAsleep(a, b);
  const error = await assertRejects(
    // Longer than by default, for the sake of a busy machine.
    () => withDeadline(group, DEADLINE_MS, { drainMs: 3000 }),
    DeadlineExceededError,
  );
  await assertNoneAlive(a, b);
  const { durationMs } = error;
  assert(durationMs >= DEADLINE_MS, `${durationMs}`);
  // Whoever waits for a sleep or a pipe takes half a minute longer.
  assert(durationMs < DEADLINE_MS + GRACE_MS + 8000, `${durationMs}`);
  assertEquals(error.report?.survivors, []);
  assertEquals([error.output?.drained, error.output?.leftovers], [true, []]);
  check(error);
}

Deno.test(
  "withDeadline() leaves nothing of any tree at its deadline",
  WAITS,
  async (t) => {
    await Promise.all(
      CASES.flatMap((each) =>
        ["dash", "bash"].map((shell) =>
          t.step({
            name: `${each.title} (${shell})`,
            fn: () => runLate(each, shell),
            // Steps that run at once can only be watched together.
            sanitizeOps: false,
            sanitizeResources: false,
            sanitizeExit: false,
          })
        )
      ),
    );
  },
);

for (const shell of ["dash", "bash"]) {
  Deno.test(
    `withDeadline() names what ${shell} left behind, and ends it (S6)`,
    WAITS,
    async () => {
      const unique = uniqueSleep();
      await using group = spawnPiped(shell, `sleep ${unique} & echo out`);
      const output = await withDeadline(group, 20_000);
      await assertNoneAlive(unique);
      assertEquals(decode(output.stdout), "out\n");
      assertEquals([output.code, output.drained], [0, true]);
      assertEquals(commands(output.leftovers), ["sleep"]);
      assert(output.durationMs < 20_000, `${output.durationMs}`);
    },
  );
}
