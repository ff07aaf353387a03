// Copyright 2026 the @proc/group authors. MIT license.

// The same calls on each implementation and on Deno.Command itself.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { linux } from "../_platform/linux.ts";
import type { Platform, SpawnRequest } from "../_platform/platform.ts";
import { portable } from "../_platform/portable.ts";
import { decode, isPortable, skipIf, watchLeaks } from "./_util.ts";

const WAITS = { timeout: 60_000 };
const FFI = { ...WAITS, ...skipIf(isPortable, "it needs FFI") };

const platforms: Platform[] = isPortable ? [portable] : [linux, portable];

type Call = [command: string, args?: string[], options?: Deno.CommandOptions];

/** What came of a call: an error's class, code and message, or an output. */
type Result = unknown[];

let lastGroup = 2_000_000;

const run = (script: string): string[] => ["-c", script];

/** In a directory of programs: `dir/script` and others that cannot be run. */
const CALLS: Call[] = [
  ["true"],
  ["sh", run("exit 7")],
  ["sh", run("echo out; echo err >&2; exit 3")],
  ["sh", run("kill -TERM $$")],
  ["sh", run("kill -SEGV $$")],
  ["sh", run("exit 137")],
  ["sh", run("tr '\\0' ' ' </proc/$$/cmdline"), {}],
  ["sh", run("echo $A-$B-${HOME:-none}"), { env: { A: "1 2", B: "x=y" } }],
  ["/usr/bin/env", [], { clearEnv: true, env: { A: "" } }],
  ["sh", run("echo ${HOME:-none}"), { clearEnv: true }],
  ["pwd", [], { cwd: "/" }],
  ["pwd", [], { cwd: "dir" }],
  ["pwd", [], { cwd: "dir/../dir/" }],
  ["echo", ["a b", "", "é", "*", "$HOME"]],
  ["nope-nope"],
  [""],
  [".."],
  ["/nope/nope"],
  ["/etc/passwd/nope"],
  ["/"],
  ["true", [], { cwd: "/nope" }],
  ["true", [], { cwd: "nope/../nowhere" }],
  ["true", [], { cwd: "/etc/passwd" }],
  ["nope-nope", [], { cwd: "/nope" }],
  ["/nope/nope", [], { cwd: "/nope" }],
  ["true", ["x".repeat(200_000)]],
  ["/" + "x".repeat(300)],
  ["./dir/script", ["a"]],
  ["./script", ["a"], { cwd: "dir" }],
  ["dir/../dir/script", []],
  ["dir/script/", []],
  ["dir/plain", ["a", "b c"]],
  ["dir/empty", []],
  ["dir/locked", []],
  ["dir/lost", []],
  ["script", [], { env: { PATH: "dir" } }],
  ["script", [], { env: { PATH: "dir" }, cwd: "/" }],
  ["script", [], { env: { PATH: "/nope:./dir/:/bin" } }],
  ["top", ["x"], { env: { PATH: "/nope::/bin" } }],
  ["locked", [], { env: { PATH: "dir" } }],
  ["locked", [], { env: { PATH: "dir:other" } }],
  ["folder", [], { env: { PATH: "dir" } }],
  ["true", [], { env: { PATH: "" } }],
  ["true", [], { env: { PATH: "/nope" } }],
  ["true", [], { clearEnv: true, env: { PATH: "/bin" } }],
  ["script", [], { env: { PATH: "~" } }],
];

async function withPrograms(test: () => Promise<void>): Promise<void> {
  const before = Deno.cwd();
  const root = await Deno.makeTempDir();
  const write = async (path: string, text: string, mode = 0o755) => {
    await Deno.writeTextFile(`${root}/${path}`, text);
    await Deno.chmod(`${root}/${path}`, mode);
  };
  try {
    await Deno.mkdir(`${root}/dir/folder`, { recursive: true });
    await Deno.mkdir(`${root}/other`);
    await write("dir/script", '#!/bin/sh\necho "$0" "$@"\n');
    await write("dir/plain", 'echo "$0" "$@"\n');
    await write("dir/empty", "");
    await write("dir/locked", "#!/bin/sh\n", 0o644);
    await write("dir/lost", "#!/nope/interpreter\n");
    await write("other/locked", "#!/bin/sh\necho other\n");
    await write("top", '#!/bin/sh\necho "$0" "$@"\n');
    Deno.chdir(root);
    await test();
  } finally {
    Deno.chdir(before);
    await Deno.remove(root, { recursive: true });
  }
}

async function attempt(
  call: () => Promise<[Deno.CommandStatus, string, string]>,
): Promise<Result> {
  try {
    const [{ success, code, signal }, stdout, stderr] = await call();
    return [success, code, signal, withoutMarks(stdout), stderr];
  } catch (error) {
    const { code, message, name } = error as Error & { code?: string };
    return [name, code, message];
  }
}

/** The groups' marks are what a child has more than one of Deno.Command. */
function withoutMarks(text: string): string {
  return text.replaceAll(/^PROC_GROUP_.*\n/gm, "");
}

function onCommand([command, args = [], options = {}]: Call): Promise<Result> {
  return attempt(async () => {
    const output = await new Deno.Command(command, {
      ...options,
      args,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).output();
    return [output, decode(output.stdout), decode(output.stderr)];
  });
}

function request([command, args = [], options = {}]: Call): SpawnRequest {
  return {
    command,
    args,
    cwd: options.cwd?.toString(),
    clearEnv: options.clearEnv ?? false,
    env: options.env ?? {},
    uid: undefined,
    gid: undefined,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    group: ++lastGroup,
    outlive: true,
  };
}

function onPlatform(platform: Platform, call: Call): Promise<Result> {
  return attempt(async () => {
    const leader = platform.spawn(request(call));
    const [status, stdout, stderr] = await Promise.all([
      leader.status,
      leader.stdout?.text() ?? "",
      leader.stderr?.text() ?? "",
    ]);
    await leader.release();
    return [status, stdout, stderr];
  });
}

watchLeaks();

for (const platform of platforms) {
  Deno.test(
    `${platform.name}.spawn() does and throws what Deno.Command does`,
    WAITS,
    async () => {
      await withPrograms(async () => {
        for (const call of CALLS) {
          const expected = await onCommand(call);
          const actual = await onPlatform(platform, call);
          assertEquals(actual, expected, JSON.stringify(call).slice(0, 200));
        }
      });
    },
  );
}

/** No programs of the system have these names. */
const NAME = "of-this-test";
const LOST = "lost-of-this-test";

/** What becomes of a program that was found in PATH before. */
const CHANGES: ((root: string) => Promise<void>)[] = [
  async (root) => {
    // Another one is the first.
    await Deno.writeTextFile(`${root}/other/${NAME}`, "#!/bin/sh\necho 2\n");
    await Deno.chmod(`${root}/other/${NAME}`, 0o755);
  },
  (root) => Deno.chmod(`${root}/other/${NAME}`, 0o644),
  async (root) => {
    await Deno.remove(`${root}/other/${NAME}`);
    await Deno.mkdir(`${root}/other/${NAME}`);
  },
  (root) => Deno.writeTextFile(`${root}/dir/${NAME}`, 'echo "$0" "$@"\n'),
  (root) => Deno.rename(`${root}/dir/${NAME}`, `${root}/${NAME}`),
  (root) => Deno.rename(`${root}/${NAME}`, `${root}/dir/${NAME}`),
  (root) => {
    // In ~ that is only the shell's word for it.
    Deno.env.set("HOME", root);
    Deno.env.set("PATH", `~:${Deno.env.get("PATH")}`);
    return Deno.rename(`${root}/top`, `${root}/${NAME}`);
  },
  () => Promise.resolve(Deno.env.set("PATH", "/nope")),
];

for (const platform of platforms) {
  Deno.test(
    `${platform.name}.spawn() looks for a program each time`,
    WAITS,
    async () => {
      const { HOME = "", PATH = "" } = Deno.env.toObject();
      await withPrograms(async () => {
        const root = Deno.cwd();
        await Deno.rename("dir/script", `dir/${NAME}`);
        Deno.env.set("PATH", `${root}/other:${root}/dir:${PATH}`);
        const check = async (step: number, name = NAME) => {
          for (const args of [["a"], ["b"]]) {
            const expected = await onCommand([name, args]);
            const actual = await onPlatform(platform, [name, args]);
            assertEquals(actual, expected, `change ${step}`);
          }
        };
        // The first one counts, also if it cannot be started.
        await Deno.rename("dir/lost", `other/${LOST}`);
        await Deno.copyFile(`dir/${NAME}`, `dir/${LOST}`);
        await check(0, LOST);
        await check(0);
        for (const [i, change] of CHANGES.entries()) {
          await change(root);
          await check(i + 1);
        }
      }).finally(() => {
        Deno.env.set("HOME", HOME);
        Deno.env.set("PATH", PATH);
      });
    },
  );
}

for (const platform of platforms) {
  Deno.test(
    `${platform.name}.spawn() names a program that comes first by now`,
    WAITS,
    async () => {
      const { PATH = "" } = Deno.env.toObject();
      await withPrograms(async () => {
        const root = Deno.cwd();
        Deno.env.set("PATH", `${root}/other:${root}/dir:${PATH}`);
        const call: Call = ["sh-by-name", ["-c", "echo $0"]];
        for (const directory of ["dir", "other"]) {
          await Deno.symlink("/bin/sh", `${directory}/sh-by-name`);
          for (let round = 0; round < 2; round++) {
            const expected = await onCommand(call);
            assertEquals(await onPlatform(platform, call), expected);
            assertStringIncludes(JSON.stringify(expected), `/${directory}/`);
          }
        }
      }).finally(() => Deno.env.set("PATH", PATH));
    },
  );
}

const PERMITTED: Call[] = [
  ["sleep", ["0"]],
  ["true"],
  ["/bin/true"],
  ["nope-nope"],
  ["/nope/nope"],
  ["sleep", ["0"], { env: { LD_X: "1" } }],
  ["sleep", ["0"], { env: { LD_X: " " } }],
  ["sleep", ["0"], { env: { LD_X: "" } }],
  ["sleep", ["0"], { env: { " ld_x": "1", DYLD_A: "2" } }],
  ["sleep", ["0"], { env: { "\u0085LD_A": "1" } }],
  ["sleep", ["0"], { env: { "\ufeffLD_A": "1" } }],
  ["sleep", [], { cwd: "/nope" }],
  ["sleep", ["0"], { clearEnv: true }],
  // Other programs of the same name.
  ["sleep", ["0"], { env: { PATH: "/tmp/proc-group-nope:dir" } }],
  ["script", [], { env: { PATH: "dir" } }],
];

for (const permitted of [["sleep"], ["/bin/true"], []]) {
  Deno.test({
    ...FFI,
    name: `linux.spawn() asks for the permission as Deno.Command does: ${
      permitted.join() || "none"
    }`,
    permissions: { run: permitted, ffi: true },
    async fn() {
      for (const call of PERMITTED) {
        const expected = await onCommand(call);
        const actual = await onPlatform(linux, call);
        assertEquals(actual, expected, JSON.stringify(call));
      }
    },
  });
}

Deno.test({
  ...FFI,
  name: "linux.spawn() takes no other program of a permitted name",
  permissions: { run: ["sleep"], ffi: true, read: true, write: true },
  async fn() {
    const evil = await Deno.makeTempDir();
    await Deno.writeTextFile(`${evil}/sleep`, "#!/bin/sh\necho evil\n");
    await Deno.chmod(`${evil}/sleep`, 0o755);
    try {
      for (const PATH of [evil, `${evil}:/bin`, `~:${evil}`]) {
        const [name] = await onPlatform(linux, ["sleep", ["0"], {
          env: { PATH },
        }]);
        assertEquals(name, "NotCapable");
      }
    } finally {
      await Deno.remove(evil, { recursive: true });
    }
  },
});
