// Copyright 2026 the @proc/group authors. MIT license.

import { assertEquals, assertRejects } from "@std/assert";
import { DeadlineExceededError } from "@proc/group";
import { runJobs } from "../examples/jobs.ts";
import { scoped } from "../examples/scope.ts";
import {
  assertNoneAlive,
  fromRoot,
  isPortable,
  runAtOnce,
  skipIf,
  uniqueSleep,
} from "./_util.ts";

const TIMEOUT = { timeout: 30_000 };

Deno.test("runJobs() leaves nothing", TIMEOUT, async (t) => {
  await runAtOnce(t, [
    ["of jobs that have a deadline each", async () => {
      const length = uniqueSleep();
      const jobs = [
        "echo hi",
        `echo hu; sleep ${length} & sleep ${length}`,
        "exit 3",
      ];
      const seen: string[] = [];
      const results = await runJobs(jobs, {
        concurrency: 2,
        jobMs: 1500,
        allMs: 20_000,
        onProgress: ({ command }, done, total) =>
          seen.push(`${done}/${total} ${command}`),
      });
      assertEquals(results.map(({ outcome, output }) => [outcome, output]), [
        ["ok", "hi\n"],
        ["too late", "hu\n"],
        ["failed", ""],
      ]);
      assertEquals(results.map(({ code }) => code), [0, undefined, 3]);
      assertEquals(seen.length, 3);
      await assertNoneAlive(length);
    }],
    ["of jobs that have one deadline", async () => {
      const length = uniqueSleep();
      const job = `sleep ${length} & sleep ${length}`;
      const results = await runJobs([job, job, job], {
        concurrency: 2,
        jobMs: 20_000,
        allMs: 300,
      });
      assertEquals(results.map(({ outcome }) => outcome), [
        "too late",
        "too late",
        "not started",
      ]);
      await assertNoneAlive(length);
    }],
  ]);
});

for (const transport of ["pipe", "pty"] as const) {
  const why = "a terminal needs FFI";
  const options = {
    ...TIMEOUT,
    ...skipIf(transport === "pty" && isPortable, why),
  };
  const server = 'echo ready; read -r line; echo "got $line"';

  Deno.test(
    `scoped() lets a case talk through a ${transport} and ends its programs`,
    options,
    async () => {
      const length = uniqueSleep();
      await scoped(20_000, async (scope) => {
        const script = `sleep ${length} & ${server}; sleep ${length}`;
        const talk = scope.start("sh", ["-c", script], { transport });
        await talk.expect("ready");
        await talk.send("hello");
        await talk.expect("got hello");
      });
      await assertNoneAlive(length);
    },
  );

  Deno.test(
    `scoped() ends the programs of a case that fails, on a ${transport}`,
    options,
    async () => {
      const length = uniqueSleep();
      const run = scoped(20_000, async (scope) => {
        const talk = scope.start("sh", ["-c", `sleep ${length} & ${server}`], {
          transport,
        });
        await talk.expect("ready");
        throw new Error("The case fails");
      });
      await assertRejects(() => run, Error, "The case fails");
      await assertNoneAlive(length);
    },
  );

  Deno.test(
    `scoped() ends the programs of a case that hangs, on a ${transport}`,
    options,
    async () => {
      const length = uniqueSleep();
      const run = scoped(200, async (scope) => {
        const talk = scope.start("sh", [
          "-c",
          `sleep ${length} & sleep ${length}`,
        ], { transport });
        await talk.expect("never");
      });
      await assertRejects(() => run, DeadlineExceededError);
      await assertNoneAlive(length);
    },
  );
}

Deno.test("the example deno.json wraps its tasks in the timeout command", async () => {
  const path = fromRoot("examples/tasks/deno.json");
  const { tasks } = JSON.parse(await Deno.readTextFile(path));
  // The published name stands for the file of this tree.
  const args = tasks.check.replace("jsr:@proc/group/timeout", "TIMEOUT");
  const command = args.replace(
    "deno run -A TIMEOUT",
    `'${Deno.execPath()}' run -A --import-map='${
      fromRoot("std_from_npm.json")
    }' '${fromRoot("timeout.ts")}'`,
  );
  const { code, stdout } = await new Deno.Command("sh", {
    args: ["-c", command],
  }).output();
  assertEquals([code, new TextDecoder().decode(stdout)], [0, "checked\n"]);
});
