// Copyright 2026 the @proc/group authors. MIT license.

// The scripts around a contained command, in each shell that is here.

import { assertEquals } from "@std/assert";
import { initScript, outerScript } from "../_platform/contain_script.ts";
import { findUnshare } from "../_platform/contain.ts";
import { isContainable, WAITS } from "./_contain.ts";
import {
  alive,
  assertNoneAlive,
  decode,
  readUntil,
  runAtOnce,
  skipIf,
  uniqueSleep,
  until,
  untilAsleep,
  watchLeaks,
} from "./_util.ts";

/** Options for user namespaces, which root could do without. */
const USER_OPTIONS = "--user --map-current-user";

watchLeaks();

/** Links of the name `sh`, by which a shell knows that it is to be one. */
const directory = await Deno.makeTempDir();
globalThis.addEventListener("unload", () => {
  Deno.removeSync(directory, { recursive: true });
});

const shells: Record<string, string> = {};
for (const name of ["dash", "bash", "busybox"]) {
  const path = [`/bin/${name}`, `/usr/bin/${name}`].find(isExecutable);
  if (path === undefined) {
    skipIf(true, `there is no ${name}`);
    continue;
  }
  await Deno.mkdir(`${directory}/${name}`);
  await Deno.symlink(path, shells[name] = `${directory}/${name}/sh`);
}

function isExecutable(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    // Not installed.
    return false;
  }
}

/** Runs a shell command between the two scripts. */
function spawn(
  shell: string,
  options: string,
  script: string,
): Deno.ChildProcess {
  const { path } = findUnshare({ uid: undefined, gid: undefined });
  const own = [path, shell, initScript, options];
  return new Deno.Command(shell, {
    args: ["-c", outerScript, "proc-group", ...own, "/bin/sh", "-c", script],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    detached: true,
  }).spawn();
}

/** Each shell with each kind of namespaces, by a name. */
const KINDS = Object.entries(shells).flatMap(([name, shell]) =>
  [...new Set([USER_OPTIONS, findOptions()])].map((options) => ({
    name: `${name} ${options || "without a user namespace"}`,
    shell,
    options,
  }))
);

/** Runs a case with each kind at once. */
async function withEach(
  t: Deno.TestContext,
  run: (shell: string, options: string) => Promise<void>,
): Promise<void> {
  await runAtOnce(
    t,
    KINDS.map(({ name, shell, options }) => [name, () => run(shell, options)]),
  );
}

Deno.test("the scripts pass streams and the status on", WAITS, async (t) => {
  await withEach(t, async (shell, options) => {
    const child = spawn(
      shell,
      options,
      "read line; echo out $line $(cd /proc; echo [0-9]*); echo err >&2; exit 9",
    );
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode("in\n"));
    await writer.close();
    const { code, stdout, stderr } = await child.output();
    // The init, the shell, and its subshell.
    assertEquals(decode(stdout), "out in 1 2 3\n");
    assertEquals(decode(stderr), "err\n");
    assertEquals(code, 9);
  });
});

Deno.test(
  "the scripts survive the signals that the command gets",
  WAITS,
  async (t) => {
    await withEach(t, async (shell, options) => {
      const unique = uniqueSleep();
      const child = spawn(shell, options, `echo ready; exec sleep ${unique}`);
      await readUntil(child.stdout, "ready\n");
      Deno.kill(-child.pid, "SIGTERM");
      const { code, stderr } = await finish(child);
      assertEquals([code, stderr], [143, ""]);
      await assertNoneAlive(unique);
    });
  },
);

Deno.test(
  "the outer script exits before a daemon, and the init after it",
  WAITS,
  async (t) => {
    await withEach(t, async (shell, options) => {
      const unique = uniqueSleep();
      const daemon = `setsid env -i sleep ${unique} >/dev/null 2>&1 </dev/null`;
      const child = spawn(shell, options, `${daemon} & echo ready; exit 4`);
      await readUntil(child.stdout, "ready\n");
      const { code, stderr } = await finish(child);
      assertEquals([code, stderr], [4, ""]);
      await untilAsleep(unique);
      const [pid] = await alive(`sleep\0${unique}`);
      // To look who is there does no harm while somebody is.
      Deno.kill(-child.pid, "SIGURG");
      assertEquals((await alive(unique)).length, 2);
      Deno.kill(pid!, "SIGKILL");
      // Bash looks every five seconds.
      await until(
        "the init has ended",
        async () => (await alive(unique)).length === 0,
        20_000,
      );
    });
  },
);

Deno.test("the scripts end with the init by SIGKILL", WAITS, async (t) => {
  await withEach(t, async (shell, options) => {
    const unique = uniqueSleep();
    const daemon = `setsid env -i sleep ${unique} >/dev/null 2>&1`;
    const child = spawn(
      shell,
      options,
      `${daemon} & echo ready; sleep ${unique}`,
    );
    await readUntil(child.stdout, "ready\n");
    Deno.kill(-child.pid, "SIGKILL");
    const { signal } = await finish(child);
    assertEquals(signal, "SIGKILL");
    await until(
      "all have ended",
      async () => (await alive(unique)).length === 0,
    );
  });
});

Deno.test("the scripts tell when unshare fails", WAITS, async (t) => {
  const fail = async (shell: string) => {
    const child = spawn(shell, "--nonsense", "echo it ran");
    const { code, stderr } = await finish(child);
    assertEquals(code, 125);
    assertEquals(/nonsense/.test(stderr), true);
  };
  const cases = Object.entries(shells);
  await runAtOnce(t, cases.map(([name, shell]) => [name, () => fail(shell)]));
});

/** What this user's namespaces are made with. */
function findOptions(): string {
  if (!isContainable) return "";
  return findUnshare({ uid: undefined, gid: undefined }).options;
}

async function finish(
  child: Deno.ChildProcess,
): Promise<{ code: number; signal: Deno.Signal | null; stderr: string }> {
  await child.stdin.close();
  await child.stdout.cancel();
  const stderr = decode(await new Response(child.stderr).bytes());
  const { code, signal } = await child.status;
  return { code, signal, stderr };
}
