// Copyright 2026 the @proc/group authors. MIT license.

import { assert, assertEquals, assertFalse, assertThrows } from "@std/assert";
import { linux } from "../_platform/linux.ts";
import { groupMarkPrefix } from "../_platform/marks.ts";
import type {
  Leader,
  ProcessInfo,
  Snapshot,
  SpawnRequest,
} from "../_platform/platform.ts";
import { readProcess } from "../_platform/procfs.ts";
import {
  alive,
  isAlive,
  isPortable,
  readUntil,
  runProgram,
  skipIf,
  textOf,
  uniqueSleep,
  until,
  watchLeaks,
} from "./_util.ts";

const FFI = { timeout: 60_000, ...skipIf(isPortable, "it needs FFI") };

/** Number of a group that nobody else uses in this module instance. */
let lastGroup = 1_000_000;

// The guard of this process stays, and so does its pipe.
Deno.test.beforeAll(async () => {
  if (!isPortable) await start("true").status;
});

watchLeaks();

function start(
  command: string,
  args: string[] = [],
  options: Partial<SpawnRequest> = {},
): Leader {
  return linux.spawn({
    command,
    args,
    cwd: undefined,
    clearEnv: false,
    env: {},
    uid: undefined,
    gid: undefined,
    stdin: "null",
    stdout: "null",
    stderr: "null",
    group: ++lastGroup,
    outlive: false,
    ...options,
  });
}

/** A running leader that has said "ready". */
async function startReady(script: string): Promise<Leader> {
  const leader = start("sh", ["-c", script], { stdout: "piped" });
  await readUntil(leader.stdout!, "ready");
  return leader;
}

async function end(leader: Leader): Promise<void> {
  leader.signalGroup("SIGKILL");
  await leader.status;
  await leader.stdout?.cancel();
  await leader.release();
}

/** The process as procfs shows it. */
function look(pid: number): ProcessInfo {
  const process = readProcess(pid);
  if (process === null) throw new Error(`There is no process ${pid}`);
  return process;
}

function snapshotOf(
  processes: ProcessInfo[],
  marks: [number, number[]][] = [],
): Snapshot {
  return {
    processes,
    marks: new Map(marks),
    members: "procfs",
    escapees: "environ",
  };
}

const SIGNALS = "grep -E 'Sig(Ign|Blk)' /proc/self/status";

const forever = { ms: Infinity, round: 0 };
const never = new AbortController().signal;

Deno.test(
  "linux.spawn() gives the leader of a session with default signals",
  FFI,
  async () => {
    const leader = start("sh", [
      "-c",
      `read -r stat </proc/self/stat; echo $stat; ${SIGNALS}`,
    ], { stdout: "piped" });
    const text = await leader.stdout!.text();
    await leader.status;
    assert(text.includes(` ${leader.pid} ${leader.pid} `), text);
    // Which others are ignored is up to whoever has started this process.
    const plain = await textOf("sh", "-c", SIGNALS);
    assert(text.endsWith(`\n${plain}`), text + plain);
    assert(/SigBlk:\t0+\n/.test(plain), plain);
  },
);

Deno.test(
  "linux.spawn() gives pipes that block to the child",
  FFI,
  async () => {
    const leader = start("sh", [
      "-c",
      "cat /proc/self/fdinfo/0 /proc/self/fdinfo/1",
    ], {
      stdin: "piped",
      stdout: "piped",
    });
    await leader.stdin!.close();
    const text = await leader.stdout!.text();
    await leader.status;
    const flags = [...text.matchAll(/flags:\t(\d+)/g)].map(([, octal]) =>
      parseInt(octal!, 8)
    );
    // O_NONBLOCK
    assertEquals(flags.map((flag) => flag & 0o4000), [0, 0]);
  },
);

Deno.test(
  "linux.spawn() leaves no descriptor to the child or of a failed start",
  FFI,
  async () => {
    const other = start("sleep", ["20"], { stdin: "piped", stdout: "piped" });
    const leader = start("ls", ["/proc/self/fd"], { stdout: "piped" });
    // Some may come from where this process itself was started.
    const plain = await textOf("ls", "/proc/self/fd");
    assertEquals(await leader.stdout!.text(), plain);
    await leader.status;
    const piped = { stdin: "piped", stdout: "piped", stderr: "piped" } as const;
    for (let i = 0; i < 50; i++) {
      assertThrows(
        () => start("/nonexistent/program", [], piped),
        Deno.errors.NotFound,
      );
    }
    await other.stdin!.abort();
    await end(other);
  },
);

Deno.test(
  "linux.spawn() marks the environment, also of a cleared one",
  FFI,
  async () => {
    const env = { PATH: "/usr/bin:/bin", A: "1" };
    const leader = start("env", [], {
      stdout: "piped",
      clearEnv: true,
      env,
      outlive: true,
    });
    const text = await leader.stdout!.text();
    await leader.status;
    const mark = `${groupMarkPrefix}${lastGroup}=1`;
    assertEquals(
      text.trim().split("\n").sort(),
      ["A=1", "PATH=/usr/bin:/bin", mark].sort(),
    );
  },
);

Deno.test(
  "linux.spawn() passes bytes on that are not Unicode",
  FFI,
  async () => {
    const program = [
      "run",
      "-A",
      new URL("./testdata/print_environment.ts", import.meta.url).pathname,
    ];
    const script = `X=$(printf 'a\\377b') exec "$0" "$@"`;
    const text = await textOf("sh", "-c", script, Deno.execPath(), ...program);
    assert(text.includes("a 377   b"), text);
  },
);

Deno.test(
  "linux.spawn() starts under the directory that a URL or a relative path names",
  FFI,
  async () => {
    const leader = start("pwd", [], {
      stdout: "piped",
      cwd: "tests/../tests/testdata",
    });
    const text = await leader.stdout!.text();
    await leader.status;
    assert(text.endsWith("/tests/testdata\n"), text);
  },
);

Deno.test(
  "Leader.signalGroup() reaches members whose leader was reaped",
  FFI,
  async () => {
    const unique = uniqueSleep();
    const leader = await startReady(`sleep ${unique} >/dev/null & echo ready`);
    await leader.status;
    assertEquals(leader.signalGroup(0), "sent");
    assertEquals(leader.signalGroup("SIGKILL"), "sent");
    await until("the group is gone", () => leader.signalGroup(0) === "gone");
    assertEquals(leader.signalGroup("SIGKILL"), "gone");
    assertEquals(await alive(unique), []);
    await leader.stdout!.cancel();
  },
);

Deno.test("Leader.status alone leaves nothing open", FFI, async () => {
  for (let i = 0; i < 20; i++) {
    const { code } = await start("sh", ["-c", "exit 3"]).status;
    assertEquals(code, 3);
  }
});

Deno.test(
  "Leader.release() may come before the exit and again",
  FFI,
  async () => {
    const leader = start("sleep", ["20"]);
    const [process] = [look(leader.pid)];
    await leader.release();
    await leader.release();
    assertEquals(leader.signalGroup("SIGKILL"), "gone");
    assertEquals(linux.signalProcess(process, "SIGKILL"), "sent");
    assertEquals((await leader.status).signal, "SIGKILL");
  },
);

Deno.test(
  "Leader.startTime is not after what procfs tells, and near to it",
  FFI,
  async () => {
    const leader = start("sleep", ["20"]);
    assertEquals(leader.startTime, look(leader.pid).startTime);
    await end(leader);
  },
);

Deno.test(
  "Leader.owns() tells a stranger with the leader's number",
  FFI,
  async () => {
    const leader = start("sleep", ["20"]);
    const own = look(leader.pid);
    const stranger = { ...own, startTime: own.startTime + 1_000_000 };
    // A job of the session, born after the leader's end.
    const job = { ...stranger, pid: own.pid + 1, pgid: own.pid + 1 };
    const group = lastGroup;
    const owns = (process: ProcessInfo, ...marks: number[]) =>
      leader.owns(snapshotOf([process], [[process.pid, marks]]), group);
    assert(owns(own));
    leader.signalGroup("SIGKILL");
    await leader.status;
    assertFalse(owns(stranger));
    assertFalse(owns(job));
    assertFalse(owns(job, group - 1));
    assert(owns(job, group));
    assert(owns({ ...job, startTime: own.startTime }));
    // The leader's own group was seen empty.
    assertFalse(owns({ ...job, pgid: own.pid, startTime: own.startTime }));
  },
);

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

Deno.test(
  "linux.signalProcess() and signalGroup() spare others with the same number",
  FFI,
  async () => {
    const leader = start("sleep", ["20"]);
    const process = look(leader.pid);
    const older = { ...process, startTime: process.startTime - 1 };
    assertEquals(linux.signalProcess(older, "SIGKILL"), "gone");
    assertEquals(linux.signalGroup([older], "SIGKILL"), "gone");
    assert(await isAlive(leader.pid));
    assertEquals(linux.signalProcess(process, 0), "sent");
    assertEquals(linux.signalGroup([process], "SIGKILL"), "sent");
    assertEquals((await leader.status).signal, "SIGKILL");
    assertEquals(linux.signalProcess(process, 0), "gone");
  },
);

Deno.test(
  "linux.signalGroup() reaches all of a group by its leader",
  FFI,
  async () => {
    const unique = uniqueSleep();
    const leader = await startReady(
      `sleep ${unique} & sleep ${unique} & sleep ${unique} & echo ready; wait`,
    );
    await until(
      "the shell and three",
      async () => (await alive(unique)).length === 4,
    );
    // The snapshot need not show everybody.
    assertEquals(linux.signalGroup([look(leader.pid)], "SIGKILL"), "sent");
    await leader.status;
    await until(
      "nobody is left",
      async () => (await alive(unique)).length === 0,
    );
    await end(leader);
  },
);

for (const refused of ["all", "groups"]) {
  Deno.test(
    `linux does without pidfds where the kernel refuses ${refused}`,
    FFI,
    async () => {
      const { stdout, stderr, code } = await runProgram("refuse_pidfds.ts", {
        args: [refused],
      });
      assertEquals(stdout, "7\ntrue SIGKILL\nfalse\ntrue\n0\n", stderr);
      assertEquals(code, 0);
    },
  );
}

Deno.test(
  "killGroup() and stopGroup() spare strangers who have a group's number",
  {
    ...FFI,
    ...skipIf(isPortable || Deno.uid() !== 0, "it needs FFI and root"),
  },
  async () => {
    const { stdout, stderr } = await runProgram("reuse_numbers.ts", {
      args: ["20"],
    });
    const [reused, hit, again, overlooked] = stdout.match(/\d+/g) ?? [];
    assertEquals([hit, overlooked], ["0", "0"], stdout + stderr);
    assert(Number(reused) >= 10 && Number(again) >= 10, stdout);
  },
);
