// Copyright 2026 the @proc/group authors. MIT license.

/** What is read about processes, whatever they call themselves. */

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { linux } from "../_platform/linux.ts";
import { groupMarkPrefix, parseGroupMark } from "../_platform/marks.ts";
import type { ProcessInfo } from "../_platform/platform.ts";
import { portable } from "../_platform/portable.ts";
import { parseMarks, parseStatLines } from "../_platform/portable_scan.ts";
import { isLive, parseStat } from "../_platform/stat.ts";
import { listGroup, spawnGroup, stopGroup } from "../process_group.ts";
import { runs } from "./_fuzz.ts";
import {
  assertNoneAlive,
  isPortable,
  readUntil,
  skipIf,
  uniqueSleep,
  until,
  watchLeaks,
} from "./_util.ts";

/** Names are read as they are, with a byte order mark if they have one. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const decode = (bytes: Uint8Array<ArrayBuffer>) => decoder.decode(bytes);

const WAITS = { timeout: 30_000 };
const PROCFS = skipIf(Deno.build.os !== "linux", "there is no procfs");

watchLeaks();

/** Names made of what confuses a parser, and of anything. */
const name = fc.oneof(
  fc.string({
    unit: fc.constantFrom(
      ...["(", ")", " ", "\n", ":", "=", "/", "Z", "1", "\\", "\r"],
      ...["/proc/1/stat:", ") S 1 1 1", "\n=\n", "\uFFFD", "-"],
    ),
    maxLength: 6,
  }),
  fc.string({ maxLength: 15 }),
).map((text) => text.replaceAll("\0", ""));

const number = fc.nat({ max: 4_194_304 });

/** A process as the kernel tells of it, and what is to be read of that. */
const written = fc.record({
  pid: number,
  ppid: number,
  pgid: number,
  sid: number,
  state: fc.constantFrom(..."RSDZTtXxKWPI"),
  command: name,
  startTime: fc.nat({ max: 2 ** 40 }),
  threads: fc.nat({ max: 3 }),
  others: fc.array(fc.integer(), { minLength: 30, maxLength: 30 }),
}).map(({ threads, others, ...info }) => {
  const { pid, command, state, ppid, pgid, sid, startTime } = info;
  const middle = [...others.slice(0, 12), 20, threads, 0];
  const fields = [ppid, pgid, sid, ...middle, startTime, ...others.slice(12)];
  // The first of several threads may be a zombie while the others run.
  const running = state === "Z" && threads > 1;
  return {
    text: `${pid} (${command}) ${state} ${fields.join(" ")}\n`,
    info: { ...info, state: running ? "S" : state } satisfies ProcessInfo,
  };
});

/** What `grep -Has '' PATH` prints for a file. */
function grep(path: string, text: string): string {
  const lines = text.replace(/\n$/, "").split("\n");
  return lines.map((line) => `${path}:${line}\n`).join("");
}

Deno.test("parseStat() reads a process of any name", () => {
  fc.assert(
    fc.property(written, ({ text, info }) => {
      assertEquals(parseStat(info.pid, text), info);
      const ended = ["Z", "X", "x"].includes(info.state);
      assertEquals(isLive(info), !ended);
    }),
    runs(2000),
  );
});

Deno.test("parseStat() gives null for a text that was cut anywhere before its use", () => {
  fc.assert(
    fc.property(written, fc.nat(), ({ text, info }, at) => {
      const rest = text.slice(text.lastIndexOf(")"));
      const start = text.length - rest.length;
      const needed = start + rest.split(" ").slice(0, 21).join(" ").length;
      const cut = text.slice(0, at % (needed + 1));
      // A name may imitate a text, but not a whole one in fifteen bytes.
      assertEquals(parseStat(info.pid, cut), null, cut);
    }),
    runs(2000),
  );
});

Deno.test("parseStat() gives null or whole numbers, for any text", () => {
  const text = fc.oneof(
    fc.string(),
    fc.string({
      unit: fc.constantFrom(..."()SZ 0123456789-\n.e"),
      maxLength: 200,
    }),
  );
  fc.assert(
    fc.property(text, (text) => {
      const info = parseStat(7, text);
      if (info === null) return;
      assertEquals(info.pid, 7);
      assert(Number.isSafeInteger(info.startTime));
    }),
    runs(3000),
  );
});

Deno.test("parseStatLines() joins the lines of each process and mixes none up", () => {
  const all = fc.uniqueArray(written, {
    selector: ({ info }) => info.pid,
    maxLength: 8,
  });
  fc.assert(
    fc.property(all, (processes) => {
      const text = processes.map(({ info, text }) =>
        grep(`/proc/${info.pid}/stat`, text)
      ).join("");
      assertEquals(parseStatLines(text), processes.map(({ info }) => info));
      // The separator of the marks stands alone on a line; no name does.
      assertEquals(`${text}\n=\nrest`.split("\n=\n").length, 2);
    }),
    runs(1000),
  );
});

Deno.test("parseStatLines() shows no process that was cut", () => {
  fc.assert(
    fc.property(written, written, fc.nat(), (first, second, at) => {
      fc.pre(first.info.pid !== second.info.pid);
      const whole = grep(`/proc/${first.info.pid}/stat`, first.text);
      const other = grep(`/proc/${second.info.pid}/stat`, second.text);
      const cut = other.slice(0, at % other.length);
      const [found, ...more] = parseStatLines(whole + cut);
      assertEquals(found, first.info);
      // Behind the start time nothing is needed, so the cut one may be there.
      for (const process of more) assertEquals(process, second.info);
    }),
    runs(1000),
  );
});

Deno.test("parseGroupMark() takes nothing but a mark of this program", () => {
  fc.assert(
    fc.property(fc.nat(), (group) => {
      assertEquals(parseGroupMark(`${groupMarkPrefix}${group}=1`), group);
    }),
    runs(200),
  );
  const almost = fc.tuple(
    fc.string({ maxLength: 2 }),
    fc.constantFrom(groupMarkPrefix, groupMarkPrefix.slice(1), ""),
    fc.string({ unit: fc.constantFrom(..."0123456789 -+.ex\n"), maxLength: 4 }),
    fc.constantFrom("=1", "=11", "=1\n", "=", "=2", "1"),
  ).map((parts) => parts.join(""));
  fc.assert(
    fc.property(almost, (entry) => {
      const digits = entry.slice(groupMarkPrefix.length, -2);
      const isMark = entry === `${groupMarkPrefix}${digits}=1` &&
        digits !== "" && [...digits].every((digit) =>
          "0123456789".includes(digit)
        );
      assertEquals(parseGroupMark(entry), isMark ? Number(digits) : null);
    }),
    runs(2000),
  );
});

Deno.test("parseMarks() finds the marks of each process between other texts", () => {
  const marked = fc.array(
    fc.tuple(fc.integer({ min: 2, max: 9 }), fc.integer({ min: 1, max: 9 })),
    { maxLength: 6 },
  );
  const noise = fc.array(fc.string().map((text) => text.replaceAll("\0", "")));
  fc.assert(
    fc.property(marked, noise, fc.boolean(), (marked, noise, works) => {
      const entries = [
        ...noise,
        ...marked.map(([pid, group]) =>
          `/proc/${pid}/environ:${groupMarkPrefix}${group}=1`
        ),
        ...(works ? [`/proc/77/environ:${groupMarkPrefix}0=1`] : []),
        ...noise,
      ];
      const expected = Map.groupBy(marked, ([pid]) => pid);
      const found = parseMarks(entries.map((entry) => `${entry}\0`).join(""));
      assertEquals(found.works, works);
      assertEquals(
        found.marks,
        new Map(
          [...expected].map((
            [pid, all],
          ) => [pid, all.map(([, group]) => group)]),
        ),
      );
    }),
    runs(1000),
  );
});

/** Bytes of a name that the kernel keeps. */
const MAX_NAME = 15;

/** Takes names from standard input as octal escapes and wears each. */
const RENAME = `while read -r name; do
  printf "$name" >/proc/$$/comm
  echo "worn "
done`;

Deno.test(
  "listGroup() finds a process under each of its names",
  { ...WAITS, ...PROCFS },
  async () => {
    await using group = spawnGroup("bash", ["-c", RENAME], {
      stdin: "piped",
      stdout: "piped",
    });
    const writer = group.stdin.getWriter();
    const bytes = fc.uint8Array({ min: 1, minLength: 1, maxLength: 15 });
    const names = fc.oneof(
      bytes,
      name.filter((text) => text !== "").map((text) =>
        new TextEncoder().encode(text)
      ),
    );
    await fc.assert(
      fc.asyncProperty(names, async (bytes) => {
        const octal = [...bytes].map((byte) =>
          `\\${byte.toString(8).padStart(3, "0")}`
        );
        await writer.write(new TextEncoder().encode(`${octal.join("")}\n`));
        await readUntil(group.stdout, "worn ");
        const [leader, ...others] = await listGroup(group);
        assertEquals(others, []);
        assertEquals([leader?.pid, leader?.pgid], [group.pid, group.pid]);
        // Some shells write line by line, and the last one wins.
        if (bytes.includes(10)) return;
        assertEquals(leader?.command, decode(bytes.slice(0, MAX_NAME)));
      }),
      runs(40),
    );
    await writer.close();
  },
);

Deno.test("linux.scan() and portable.scan() see the same", {
  ...WAITS,
  ...skipIf(isPortable, "it needs FFI"),
}, async () => {
  const unique = uniqueSleep();
  await using group = spawnGroup("sh", [
    "-c",
    `sleep ${unique} & setsid sleep ${unique} &
     printf 'a) S 1 (' >/proc/$$/comm; wait`,
  ]);
  const query = { marks: true, since: 0 };
  const own = ({ pid, ppid, sid }: ProcessInfo) =>
    [pid, ppid, sid].includes(group.pid);
  const isDaemon = ({ pid, ppid, sid, command }: ProcessInfo) =>
    pid === sid && ppid === group.pid && command === "sleep";
  await until("the daemon is one", async () => {
    const { processes } = await linux.scan(query);
    return processes.some(isDaemon) &&
      (await listGroup(group)).every(({ command }) => command !== "sh");
  });
  const [a, b] = [await linux.scan(query), await portable.scan(query)];
  const order = (x: ProcessInfo, y: ProcessInfo) => x.pid - y.pid;
  const [ours, theirs] = [a, b].map(({ processes }) =>
    processes.filter(own).map((
      { pid, ppid, pgid, sid, command, startTime },
    ) => (
      { pid, ppid, pgid, sid, command, startTime, state: "" }
    )).toSorted(order)
  );
  assertEquals(ours, theirs);
  assertEquals(ours?.length, 3);
  const marks = [a, b].map(({ marks }) =>
    ours?.map(({ pid }) => marks.get(pid))
  );
  assertEquals(marks[0], marks[1]);
  assertEquals([a.members, a.escapees], [b.members, b.escapees]);
  await stopGroup(group);
  await assertNoneAlive(unique);
});

/** Starts processes without end that are gone before they can be looked at. */
const CHURN = `echo ready
while :; do (:) & (exec true) & (: & : & :) & wait; done`;

Deno.test(
  "listGroup() is not disturbed by processes that vanish while it looks",
  WAITS,
  async () => {
    await using group = spawnGroup("sh", ["-c", CHURN], {
      stdout: "piped",
      graceMs: 0,
    });
    await readUntil(group.stdout, "ready");
    for (let i = 0; i < 25; i++) {
      const members = await listGroup(group);
      assert(members.some(({ pid }) => pid === group.pid), `${i}`);
      assert(members.every(({ pgid }) => pgid === group.pid));
    }
    assertEquals((await stopGroup(group)).survivors, []);
    assertEquals(await listGroup(group), []);
  },
);
