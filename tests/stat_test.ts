// Copyright 2026 the @proc/group authors. MIT license.

import { assert, assertEquals } from "@std/assert";
import { isLive, parseStat } from "../_platform/stat.ts";
import { listGroup, spawnGroup, stopGroup } from "../process_group.ts";
import {
  assertNoneAlive,
  isAlive,
  readUntil,
  runProgram,
  skipIf,
  textOf,
  uniqueSleep,
  watchLeaks,
} from "./_util.ts";

const WAITS = { timeout: 30_000 };

watchLeaks();

/** What follows the name in `/proc/PID/stat`. */
const REST = "S 10 20 30 34816 40 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 678 9";

Deno.test("parseStat() reads the fields after the name", () => {
  assertEquals(parseStat(99, `99 (sleep) ${REST}\n`), {
    pid: 99,
    ppid: 10,
    pgid: 20,
    sid: 30,
    state: "S",
    command: "sleep",
    startTime: 12345,
  });
});

Deno.test("parseStat() takes any name for a name", () => {
  const names = [
    "a b",
    "",
    ")",
    "(",
    "a) Z 1 1 1",
    "a (b) R",
    "x\n12 (y",
    ") (",
    "\n",
    "x\n12 (y) S 1 1 1",
  ];
  for (const name of names) {
    const info = parseStat(99, `99 (${name}) ${REST}\n`);
    assertEquals(
      [info?.pid, info?.command, info?.pgid, info?.state],
      [99, name, 20, "S"],
    );
  }
});

Deno.test("parseStat() believes the path, not the text, about the pid", () => {
  assertEquals(parseStat(99, `12 (x) ${REST}`)?.pid, 99);
});

Deno.test("parseStat() gives null for a text that was cut short", () => {
  const text = `99 (sleep) ${REST}`;
  const end = text.indexOf(" 12345");
  for (let length = 0; length <= end; length++) {
    assertEquals(parseStat(99, text.slice(0, length)), null, `${length}`);
  }
  for (const other of ["garbage", "99 )sleep( S 1", "99 (x) 5 6 7"]) {
    assertEquals(parseStat(99, other), null);
  }
});

Deno.test("isLive() counts neither zombies nor the dead", () => {
  const live = ["R", "S", "D", "T", "t", "I", "Z", "X", "x"].filter((state) => {
    const info = parseStat(99, `99 (a) ${REST.replace("S", state)}`);
    return info !== null && isLive(info);
  });
  assertEquals(live, ["R", "S", "D", "T", "t", "I"]);
});

Deno.test(
  "stopGroup() finds members whatever they call themselves, and nobody else",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    await using stranger = spawnGroup("sleep", [uniqueSleep()]);
    const names = [
      `x\\n${stranger.pid} (y`,
      "a) Z 1 1 1",
      "a (b) (",
      "\\n/proc/9/stat:9",
      "\\n=\\n",
      "\\377\\n",
      `1 (x) S 1 1 1`,
    ];
    await Promise.all(names.map(async (name) => {
      // It ignores SIGTERM, so that only whoever is found is killed. Unlike
      // bash, dash writes the name at once though it has a newline.
      await using group = spawnGroup("dash", [
        "-c",
        `trap '' TERM; printf '${name}' >/proc/$$/comm; sleep ${unique} & echo ready; wait`,
      ], { stdout: "piped", graceMs: 100 });
      await readUntil(group.stdout, "ready");
      const members = await listGroup(group);
      const leader = members.find(({ pid }) => pid === group.pid);
      assertEquals(
        [leader?.command, leader?.pgid, leader?.ppid],
        [nameOf(name), group.pid, Deno.pid],
      );
      assertEquals(members.length, 2, name);
      const report = await stopGroup(group);
      assertEquals([report.forced, report.survivors], [true, []]);
    }));
    await assertNoneAlive(unique);
    assert(await isAlive(stranger.pid));
  },
);

/** What the format of printf(1) stands for, as the text that bytes give. */
function nameOf(format: string): string {
  return format.replaceAll("\\n", "\n").replaceAll("\\377", "\ufffd");
}

/** Path of a program; empty if there is none. */
async function find(name: string): Promise<string> {
  return (await textOf("sh", "-c", `command -v ${name}`)).trim();
}

/** Runs a program that may use nothing but what is in one directory. */
async function scanWith(
  links: Record<string, string>,
  script: (sleep: string, setsid: string) => string,
) {
  const [sh = "", sleep = "", setsid = ""] = await Promise.all(
    ["sh", "sleep", "setsid"].map(find),
  );
  const dir = await Deno.makeTempDir();
  try {
    for (const [name, program] of Object.entries(links)) {
      await Deno.symlink(program, `${dir}/${name}`);
    }
    const { stdout, stderr } = await runProgram("scan.ts", {
      flags: ["-A", "--deny-ffi"],
      args: [sh, "-c", script(sleep, setsid)],
      env: { PATH: dir },
    });
    assertEquals(stderr, "");
    return JSON.parse(stdout);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

const ps = await find("ps");
const busybox = await find("busybox");

Deno.test("stopGroup() uses ps where there is no grep", {
  ...WAITS,
  ...skipIf(ps === "", "there is no ps"),
}, async () => {
  const unique = uniqueSleep();
  const result = await scanWith(
    { ps },
    (sleep) => `${sleep} ${unique} & echo ready; exec ${sleep} ${unique}`,
  );
  assertEquals(result, {
    listed: ["sleep", "sleep"],
    refusesOwn: true,
    members: "ps",
    escapees: "none",
    escaped: 0,
    survivors: 0,
  });
  await assertNoneAlive(unique);
});

Deno.test(
  "stopGroup() asks with signal 0 where there is neither grep nor ps",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    const result = await scanWith(
      {},
      (sleep) => `echo ready; exec ${sleep} ${unique}`,
    );
    assertEquals(result, {
      listed: [""],
      refusesOwn: true,
      members: "signal0",
      escapees: "none",
      escaped: 0,
      survivors: 0,
    });
    await assertNoneAlive(unique);
  },
);

Deno.test("stopGroup() tells whether the grep of busybox finds marks", {
  ...WAITS,
  ...skipIf(busybox === "", "there is no busybox"),
}, async () => {
  const [unique, daemon] = [uniqueSleep(), uniqueSleep(10)];
  const result = await scanWith(
    { sh: busybox, grep: busybox },
    (sleep, setsid) =>
      `${setsid} ${sleep} ${daemon} & ${sleep} ${unique} & echo ready; wait`,
  );
  assertEquals([result.members, result.survivors], ["procfs", 0]);
  assertEquals(result.escaped, result.escapees === "environ" ? 1 : 0);
  await assertNoneAlive(unique);
});
