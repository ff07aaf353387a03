// Copyright 2026 the @proc/group authors. MIT license.

/** What is seen in procfs, and how the end of a process is. */

import { assert, assertEquals, assertFalse } from "@std/assert";
import { linux } from "../_platform/linux.ts";
import { groupMarkPrefix } from "../_platform/marks.ts";
import type { Snapshot } from "../_platform/platform.ts";
import { end, FFI, lastGroup, look, start, startReady } from "./_linux.ts";
import { isAlive, watchLeaks } from "./_util.ts";

const forever = { ms: Infinity, round: 0 };
const never = new AbortController().signal;

watchLeaks();

Deno.test("linux.scan() finds processes, names and marks", FFI, async () => {
  const name = "x\n1 (y) S";
  const leader = await startReady(
    `printf '%s' '${name}' >/proc/$$/comm; echo ready; sleep 20`,
  );
  const { processes, marks, members, escapees } = await linux.scan({
    marks: true,
    since: 0,
  });
  const found = processes.find(({ pid }) => pid === leader.pid);
  assertEquals(found?.command, name);
  assertEquals([found?.pgid, found?.sid], [leader.pid, leader.pid]);
  assertEquals(marks.get(leader.pid), [lastGroup]);
  assertEquals([members, escapees], ["procfs", "environ"]);
  const own = processes.find(({ pid }) => pid === Deno.pid);
  assertEquals(own?.pgid, linux.ownGroup());
  await end(leader);
});

Deno.test(
  "linux.scan() reads an environment of any size, and none from before",
  FFI,
  async () => {
    const env = Object.fromEntries(
      Array.from({ length: 20 }, (_, i) => [`LONG_${i}`, "x".repeat(20_000)]),
    );
    const leader = start("sleep", ["20"], { env });
    const { startTime, pid } = look(leader.pid);
    const all = await linux.scan({ marks: true, since: startTime });
    assertEquals(all.marks.get(pid), [lastGroup]);
    const later = await linux.scan({ marks: true, since: startTime + 1 });
    assertFalse(later.marks.has(pid));
    const plain = await linux.scan({ marks: false, since: 0 });
    assertEquals([plain.marks.size, plain.escapees], [0, "none"]);
    await end(leader);
  },
);

Deno.test(
  "linux.scan() waits for the environment of who is loading a program",
  FFI,
  async () => {
    for (let i = 0; i < 100; i++) {
      const leader = start("sleep", ["20"]);
      const { startTime, pid } = leader;
      const { marks } = await linux.scan({ marks: true, since: startTime });
      assertEquals(marks.get(pid), [lastGroup], `round ${i}`);
      await end(leader);
    }
  },
);

Deno.test(
  "linux.scan() leaves out who is older than asked, but not its own ancestors",
  FFI,
  async () => {
    const older = start("sleep", ["20"]);
    const all = await linux.scan({ marks: false, since: 0 });
    const pids = ({ processes }: Snapshot) => processes.map(({ pid }) => pid);
    assert(pids(all).includes(older.pid) && pids(all).includes(Deno.ppid));
    const since = look(older.pid).startTime + 1;
    // Twice, since the second time they are known.
    for (let i = 0; i < 2; i++) {
      const some = await linux.scan({ marks: true, since });
      assertFalse(pids(some).includes(older.pid));
      assert(pids(some).includes(Deno.pid) && pids(some).includes(Deno.ppid));
      assertEquals(new Set(pids(some)).size, some.processes.length);
    }
    await end(older);
  },
);

Deno.test(
  "linux.scan() takes only the whole mark of this module instance",
  FFI,
  async () => {
    const mark = `${groupMarkPrefix}7`;
    const env = {
      [`${mark}X`]: "1",
      [mark]: "2",
      [`X${mark}`]: "1",
      TEXT: `${mark}=1`,
    };
    const leader = start("sleep", ["20"], { env });
    const { marks } = await linux.scan({ marks: true, since: 0 });
    assertEquals(marks.get(leader.pid), [lastGroup]);
    await end(leader);
  },
);

Deno.test(
  "linux.ended() resolves when the last of many has ended",
  FFI,
  async () => {
    const leaders = Array.from({ length: 100 }, () => start("sleep", ["20"]));
    const processes = leaders.map(({ pid }) => look(pid));
    let isOver = false;
    const over = linux.ended(processes, { ...forever, signal: never }).then(
      () => isOver = true,
    );
    for (const leader of leaders.slice(1)) leader.signalGroup("SIGKILL");
    await Promise.all(leaders.slice(1).map(({ status }) => status));
    assertEquals(isOver, false);
    leaders[0]!.signalGroup("SIGKILL");
    await over;
    await leaders[0]!.status;
  },
);

Deno.test(
  "linux.ended() resolves at its time or when its signal aborts",
  FFI,
  async () => {
    const leader = start("sleep", ["20"]);
    const processes = [look(leader.pid)];
    await linux.ended(processes, { ms: 1, round: 0, signal: never });
    const controller = new AbortController();
    const over = linux.ended(processes, {
      ...forever,
      signal: controller.signal,
    });
    controller.abort();
    await over;
    await linux.ended(processes, { ...forever, signal: controller.signal });
    await end(leader);
  },
);

Deno.test(
  "linux.ended() does not wait for others with the same number",
  FFI,
  async () => {
    const leader = start("sleep", ["20"]);
    const process = look(leader.pid);
    const older = { ...process, startTime: process.startTime - 1 };
    await linux.ended([older], { ...forever, signal: never });
    assert(await isAlive(leader.pid));
    await end(leader);
  },
);
