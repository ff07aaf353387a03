// Copyright 2026 the @proc/group authors. MIT license.

// How contained groups end. A test of contain_refusal_test.ts runs this file
// again, as an ordinary user.

import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { spawnGroup, stopGroup, waitGone } from "../process_group.ts";
import { DeadlineExceededError, withDeadline } from "../timeout.ts";
import { start, WAITS } from "./_contain.ts";
import {
  alive,
  allFlags,
  assertNoneAlive,
  type Case,
  decode,
  fromRoot,
  importMap,
  readUntil,
  runAtOnce,
  uniqueSleep,
  until,
  untilAsleep,
  watchLeaks,
} from "./_util.ts";

const flags = [...importMap, "--no-prompt", ...allFlags];

watchLeaks();

/** A script that says "ready" when its tree stands, which calls itself `$0`. */
interface Tree {
  readonly name: string;
  readonly script: string;
  /** How many of its processes are `sleep` in the end. */
  readonly sleeps: number;
  readonly ignoresTerm?: boolean;
}

/** Trees that are hard to end. */
const TREES: readonly Tree[] = [{
  name: "a daemon without an environment",
  script: "setsid env -i sleep $0 >/dev/null & echo ready; exec sleep $0",
  sleeps: 2,
}, {
  name: "a storm of daemons",
  script:
    "for i in $(seq 100); do setsid env -i sleep $0 >/dev/null & done; echo ready; sleep $0",
  sleeps: 101,
}, {
  name: "a stopped member",
  script:
    "sh -c 'kill -STOP $$; sleep $0' $0 & setsid sh -c 'kill -STOP $$; sleep $0' $0 >/dev/null & echo ready; sleep $0",
  sleeps: 1,
}, {
  name: "a daemon that ignores SIGTERM",
  script:
    "trap '' TERM; setsid env -i sleep $0 >/dev/null & trap - TERM; echo ready; exec sleep $0",
  sleeps: 2,
  ignoresTerm: true,
}];

function plant({ script }: Tree): [script: string, unique: string] {
  const unique = uniqueSleep();
  return [script.replaceAll("$0", unique), unique];
}

/** Stops a group of such a tree. */
async function stopTree(tree: Tree): Promise<void> {
  const [script, unique] = plant(tree);
  const { ignoresTerm = false } = tree;
  const graceMs = ignoresTerm ? 500 : 20_000;
  await using group = await start(script, { graceMs });
  assert((await alive(unique)).length > 0);
  const report = await stopGroup(group);
  await assertNoneAlive(unique);
  assertEquals([report.escaped, report.survivors], [[], []]);
  assertEquals(report.forced, ignoresTerm);
  assert(report.durationMs < 15_000, `${report.durationMs}`);
}

/** Lets the deadline of such a tree pass. */
async function exceedTree(tree: Tree): Promise<void> {
  const [script, unique] = plant(tree);
  await using group = spawnGroup("sh", ["-c", script], {
    contain: true,
    graceMs: 500,
    stdin: "null",
    stdout: "piped",
  });
  await until(
    "the tree stands",
    async () => (await alive(`sleep\0${unique}`)).length === tree.sleeps,
  );
  const error = await assertRejects(
    () => withDeadline(group, 100),
    DeadlineExceededError,
  );
  await assertNoneAlive(unique);
  assertEquals(decode(error.output?.stdout), "ready\n");
  assertEquals(error.report?.escaped, []);
  assertEquals(error.report?.survivors, []);
  assertStringIncludes(error.message, "sleep");
}

/** Leaves the scope of such a tree. */
async function disposeTree(tree: Tree): Promise<void> {
  const [script, unique] = plant(tree);
  {
    await using _group = await start(script, { graceMs: 500 });
    assert((await alive(unique)).length > 0);
  }
  await assertNoneAlive(unique);
}

Deno.test(
  "a contained group ends whole, by whatever ends it",
  WAITS,
  async (t) => {
    const ways = Object.entries({
      "stopGroup()": stopTree,
      "withDeadline()": exceedTree,
      "its disposal": disposeTree,
    });
    const trees = ways.flatMap(([way, end]) =>
      TREES.map((tree): Case => [`${way} ends ${tree.name}`, () => end(tree)])
    );
    await runAtOnce(t, [
      ...trees,
      ["SIGKILL of the program ends all of its groups", async () => {
        const trees = TREES.map(plant);
        const program = fromRoot("tests/testdata/contain_parent.ts");
        await using parent = new Deno.Command(Deno.execPath(), {
          args: ["run", ...flags, program, ...trees.map(([script]) => script)],
          stdout: "piped",
        }).spawn();
        await readUntil(parent.stdout, "ready\n");
        for (const [, unique] of trees) {
          assert((await alive(unique)).length > 0);
        }
        parent.kill("SIGKILL");
        await parent.status;
        await parent.stdout.cancel();
        for (const [, unique] of trees) {
          await until(
            "all have ended",
            async () => (await alive(unique)).length === 0,
          );
        }
      }],
      [
        "one that is to outlive the program does, and ends by itself",
        async () => {
          const unique = uniqueSleep();
          const script =
            `setsid env -i sleep ${unique} >/dev/null & echo ready`;
          const program = fromRoot("tests/testdata/contain_parent.ts");
          await using parent = new Deno.Command(Deno.execPath(), {
            args: ["run", ...flags, program, script],
            env: { OUTLIVE: "1" },
            stdout: "piped",
          }).spawn();
          await readUntil(parent.stdout, "ready\n");
          await untilAsleep(unique);
          parent.kill("SIGKILL");
          await parent.status;
          await parent.stdout.cancel();
          const [daemon] = await alive(`sleep\0${unique}`);
          assert(daemon !== undefined);
          Deno.kill(daemon!, "SIGKILL");
          // The init of its namespace ends after it, within five seconds.
          await until(
            "the namespace is empty",
            async () => (await alive(unique)).length === 0,
            20_000,
          );
        },
      ],
      ["waitGone() waits for all that the command leaves behind", async () => {
        const unique = uniqueSleep();
        // Each is gone before the next is there.
        const hops =
          `setsid env -i sh -c 'setsid env -i sh -c "sleep .5; : ${unique}" & exit' & exit`;
        await using group = spawnGroup("sh", [
          "-c",
          `(${hops}) >/dev/null 2>&1`,
        ], {
          contain: true,
        });
        const begin = performance.now();
        await waitGone(group);
        assert(performance.now() - begin > 400);
        await assertNoneAlive(unique);
      }],
    ]);
  },
);

Deno.test(
  "stopGroup() lets all inside a contained group end in the grace period",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    // It has no child, which could lose a signal while it starts.
    const daemon = `trap "echo obeyed; exit" TERM; echo up; kill -STOP $$`;
    await using group = spawnGroup("sh", [
      "-c",
      `setsid env -i sh -c '${daemon}' & sleep ${unique}`,
    ], { contain: true, stdout: "piped" });
    await readUntil(group.stdout, "up\n");
    const { forced } = await stopGroup(group);
    assertEquals(await readUntil(group.stdout, "obeyed\n"), "obeyed\n");
    assertEquals(forced, false);
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "stopGroup() ends a contained command that has just been started",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    for (let ms = 0; ms < 10; ms++) {
      await using group = spawnGroup("sleep", [unique], { contain: true });
      await new Promise((resolve) => setTimeout(resolve, ms));
      // The init would take no signal before the command is there.
      const { forced } = await stopGroup(group);
      assertEquals([forced, (await group.status).code], [false, 143]);
    }
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "stopGroup() with SIGKILL ends a contained group at once",
  WAITS,
  async () => {
    const [script, unique] = plant(TREES[1]!);
    await using group = await start(script, { graceMs: 20_000 });
    const report = await stopGroup(group, { killSignal: "SIGKILL" });
    await assertNoneAlive(unique);
    assert(report.forced && report.durationMs < 15_000);
    assertEquals(await group.status, {
      success: false,
      code: 137,
      signal: "SIGKILL",
    });
  },
);
