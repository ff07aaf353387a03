// Copyright 2026 the @proc/group authors. MIT license.

// Starts groups, makes a condition come true, and lives on with the groups.
// Arguments: the condition, "linux" or "portable", and the length of the sleeps.
// Prints one line of JSON for each step: its name, its time, what came of it.

import {
  killGroup,
  listGroup,
  type ProcessGroup,
  spawnGroup,
  stopGroup,
  waitGone,
  withDeadline,
} from "../../mod.ts";

const [condition = "", platform, unique = ""] = Deno.args;

const libc = Deno.dlopen("libc.so.6", {
  setresuid: { parameters: ["u32", "u32", "u32"], result: "i32" },
  setrlimit: { parameters: ["i32", "buffer"], result: "i32" },
}).symbols;
// What is open already stays usable.
if (platform === "portable") Deno.permissions.revokeSync({ name: "ffi" });

const RLIMIT_NPROC = 6;
const STEP_LIMIT_MS = 12_000;

const options = {
  stdin: "null",
  stdout: "piped",
  graceMs: 200,
} as const;

const files: Deno.FsFile[] = [];

interface Condition {
  /** Before any group is there. */
  prepare?(): void;
  /** Makes it come true. */
  begin?(): void | Promise<void>;
  /** Before each step. */
  renew?(): void;
  /** Makes it end. */
  end?(): void;
}

const CONDITIONS: Record<string, Condition> = {
  none: {},
  descriptors: {
    renew() {
      try {
        for (;;) files.push(Deno.openSync("/dev/null"));
      } catch {
        // That was the last one.
      }
    },
    end() {
      for (const file of files.splice(0)) file.close();
    },
  },
  processes: {
    // The limit does not bind the superuser.
    prepare() {
      if (Deno.uid() === 0) libc.setresuid(12345, 12345, 12345);
    },
    begin() {
      limitProcesses(1n);
    },
  },
  procfs: {
    begin() {
      run("mount", "-t", "tmpfs", "none", "/proc");
    },
  },
  directory: {
    prepare() {
      Deno.chdir(Deno.makeTempDirSync());
    },
    begin() {
      Deno.removeSync(Deno.cwd(), { recursive: true });
    },
  },
  numbers: {
    prepare() {
      run("sh", "-c", "echo 400 >/proc/sys/kernel/pid_max");
    },
    // Each number is given out more than once.
    async begin() {
      const forks =
        "for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do (:) & done";
      for (let i = 0; i < 40; i++) {
        const group = spawnGroup("sh", ["-c", forks], options);
        await group.output();
        await waitGone(group);
      }
    },
  },
};

function run(command: string, ...args: string[]): void {
  const { success } = new Deno.Command(command, { args }).outputSync();
  if (!success) throw new Error(`Cannot run ${command} ${args.join(" ")}`);
}

function limitProcesses(count: bigint): void {
  const limit = new BigUint64Array(16).fill(count);
  if (libc.setrlimit(RLIMIT_NPROC, limit) !== 0) throw new Error("No limit");
}

const { prepare, begin, renew, end } = CONDITIONS[condition]!;

/** Does something within bounds and prints what came of it. */
async function step(name: string, run: () => unknown): Promise<void> {
  renew?.();
  const start = performance.now();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, STEP_LIMIT_MS, { error: "It hangs" });
  });
  const done = Promise.try(run).then(
    (value) => ({ value }),
    (error) => ({ error: `${error.name}: ${error.message}` }),
  );
  const result = await Promise.race([done, late]);
  clearTimeout(timer);
  const ms = Math.round(performance.now() - start);
  console.log(JSON.stringify({ name, ms, ...result as object }));
}

/** A group that has said that it is there. */
async function start(script: string): Promise<ProcessGroup> {
  const group = spawnGroup("bash", ["-c", script], options);
  const reader = group.stdout.getReader();
  await reader.read();
  reader.releaseLock();
  return group;
}

async function summarize(
  group: ProcessGroup,
  graceMs?: number,
): Promise<unknown> {
  const report = await stopGroup(
    group,
    graceMs === undefined ? {} : { graceMs },
  );
  const { forced, survivors, escaped, members } = report;
  return { forced, members, survivors, escaped: escaped.length };
}

// Deno makes a pipe for signals when it has nothing to do for the first time,
// and does not survive it if it cannot.
const nothing = () => {};
Deno.addSignalListener("SIGWINCH", nothing);
Deno.removeSignalListener("SIGWINCH", nothing);

prepare?.();
const plain = await start(`sleep ${unique} & echo; sleep ${unique}; :`);
const proof = await start(`trap '' TERM; echo; sleep ${unique}; :`);
const jobs = await start(
  `set -m; sleep ${unique} & sleep ${unique} & echo; wait`,
);
const killed = await start(`echo; exec sleep ${unique}`);
const headless = await start(
  `trap '' TERM; sleep ${unique} >/dev/null & echo; exit 0`,
);
const ending = await start("echo; sleep 0.3; echo bye");
const late = await start(`echo; sleep ${unique} & sleep ${unique}; :`);
const scoped = await start(`echo; sleep ${unique}; :`);
await headless.status;

await begin?.();
await step("spawn", async () => {
  await using group = spawnGroup("/bin/sleep", ["0"], {
    stdin: "null",
    stdout: "null",
    stderr: "null",
    cwd: "/",
  });
  return (await group.status).code;
});
await step("spawnPiped", async () => {
  await using group = spawnGroup("echo", ["hi"], {
    ...options,
    cwd: "/",
  });
  return new TextDecoder().decode((await group.output()).stdout);
});
await step("list", async () => (await listGroup(plain)).length);
await step("kill", () => killGroup(killed, "SIGKILL"));
await step("status", async () => (await killed.status).signal);
await step("waitGone", () => waitGone(killed));
await step("killGone", () => killGroup(killed, "SIGKILL"));
await step("output", async () => {
  const { stdout } = await ending.output();
  return new TextDecoder().decode(stdout);
});
await step("waitEnding", () => waitGone(ending));
await step("deadline", () => withDeadline(late, 100));
await step("stop", () => summarize(plain, 3000));
await step("stopProof", () => summarize(proof));
await step("stopHeadless", () => summarize(headless));
await step("stopJobs", () => summarize(jobs, 3000));
await step("dispose", () => scoped[Symbol.asyncDispose]());

end?.();
for (const group of [plain, proof, jobs, killed, headless, ending, late]) {
  await step("end", async () => {
    await summarize(group, 0);
    await group[Symbol.asyncDispose]();
  });
}
await step("zombies", () => {
  const pids = [plain, proof, jobs, killed, headless, ending, late, scoped].map(
    ({ pid }) => `/proc/${pid}/status`,
  );
  const { stdout } = new Deno.Command("grep", {
    args: ["-s", "^State:.Z", ...pids],
    cwd: "/",
  }).outputSync();
  return new TextDecoder().decode(stdout);
});
