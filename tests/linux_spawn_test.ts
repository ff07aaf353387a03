// Copyright 2026 the @proc/group authors. MIT license.

/** What is started on libc, and what its leader tells. */

import { assert, assertEquals, assertFalse, assertThrows } from "@std/assert";
import { linux } from "../_platform/linux.ts";
import { groupMarkPrefix } from "../_platform/marks.ts";
import type { ProcessInfo } from "../_platform/platform.ts";
import { end, FFI, lastGroup, look, snapshotOf, start } from "./_linux.ts";
import {
  fromRoot,
  importMap,
  runProgram,
  textOf,
  watchLeaks,
} from "./_util.ts";

const SIGNALS = "grep -E 'Sig(Ign|Blk)' /proc/self/status";

watchLeaks();

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
      ...importMap,
      fromRoot("tests/testdata/print_environment.ts"),
    ];
    const script = `X=$(printf 'a\\377b') exec "$0" "$@"`;
    const text = await textOf("sh", "-c", script, Deno.execPath(), ...program);
    assert(text.includes("a 377   b"), text);
  },
);

Deno.test(
  "linux.spawn() reads an environment that a Worker is changing",
  FFI,
  async () => {
    const { code, stdout } = await runProgram("environment_race.ts");
    assertEquals([code, stdout], [0, "wrong 0\n"]);
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
