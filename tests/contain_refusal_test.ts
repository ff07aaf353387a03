// Copyright 2026 the @proc/group authors. MIT license.

// Where a command cannot be contained, and where no more than an ordinary
// user's rights are needed for it.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { WAITS } from "./_contain.ts";
import {
  allFlags,
  type Case,
  decode,
  fromRoot,
  importMap,
  isPortable,
  runAtOnce,
  runProgram,
  skipIf,
  watchLeaks,
} from "./_util.ts";

const isRoot = Deno.uid() === 0;

/** Some cases change what there is to be seen, in a mount namespace. */
const isUser = skipIf(!isRoot, "it takes root to change mounts").ignore;

const hasNoFfi = skipIf(isPortable, "less permission takes FFI").ignore;

const denoDir: string = JSON.parse(decode(
  new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).outputSync()
    .stdout,
)).denoDir;

/** Makes the modules readable for anybody, and drops to an ordinary user. */
const AS_USER = 'mount --bind "$DENO_DIR" /mnt; export DENO_DIR=/mnt;' +
  ' set -- setpriv --reuid=1000 --regid=1000 --clear-groups "$@";';

watchLeaks();

/** Runs a subcommand of deno behind a shell script, in namespaces of its own. */
async function runBehind(
  namespaces: string,
  script: string,
  args: readonly string[],
): Promise<{ success: boolean; stdout: string; stderr: string }> {
  const { success, stdout, stderr } = await new Deno.Command("unshare", {
    args: [
      ...namespaces.split(" "),
      "sh",
      "-c",
      `set -e; ${script} exec "$@"`,
      "sh",
      Deno.execPath(),
      ...args,
    ],
    cwd: fromRoot(""),
    env: { NO_COLOR: "1", DENO_DIR: denoDir, HOME: "/nonexistent" },
    stdin: "null",
  }).output();
  return { success, stdout: decode(stdout), stderr: decode(stderr) };
}

/** What came of the attempt to contain a command. */
async function tryBehind(namespaces: string, script: string): Promise<string> {
  const { stdout, stderr } = await runBehind(namespaces, script, [
    "run",
    "--no-check",
    "--no-prompt",
    ...importMap,
    ...allFlags,
    fromRoot("tests/testdata/contain_try.ts"),
  ]);
  assertEquals(stderr, "");
  return stdout;
}

async function refuseWithout(missing: string): Promise<void> {
  const others = ["echo", "sh", "unshare"].filter((name) => name !== missing);
  const flags = ["--allow-ffi", `--allow-run=${others}`];
  const { stdout } = await runProgram("contain_try.ts", { flags });
  assertEquals(
    stdout.split(",")[0],
    `${missing === "echo"}\nNotCapable: Requires run access to "${missing}"` +
      (missing === "echo" ? "" : " to contain a process group"),
  );
}

Deno.test(
  "spawnGroup() contains where it can, and says where it cannot",
  { ...WAITS, timeout: 180_000 },
  async (t) => {
    await runAtOnce(t, [
      ["an ordinary user may contain commands", async () => {
        const { success, stdout, stderr } = await runBehind("-m", AS_USER, [
          "test",
          "--no-check",
          ...importMap,
          ...allFlags,
          fromRoot("tests/contain_test.ts"),
          fromRoot("tests/contain_end_test.ts"),
        ]);
        assertEquals(success, true, stdout + stderr);
        assertMatch(stdout, / 0 failed/);
        assertEquals(/ignored/.test(stdout), false);
      }, isUser],
      [
        "spawnGroup() refuses to contain where no PID namespace is left",
        async () => {
          const output = await tryBehind(
            "-Ur",
            "echo 0 >/proc/sys/user/max_pid_namespaces;",
          );
          assertEquals(
            output,
            "false\nNotSupported: Cannot contain a process group: the limit of user " +
              "or PID namespaces is reached (unshare: unshare failed: No space left on device)\n",
          );
        },
      ],
      [
        "spawnGroup() refuses to contain where user namespaces are forbidden",
        async () => {
          const output = await tryBehind(
            "-Ur",
            "echo 0 >/proc/sys/user/max_user_namespaces;" +
              ' set -- setpriv --bounding-set=-all --inh-caps=-all "$@";',
          );
          assertMatch(
            output,
            /^false\nNotSupported: Cannot contain a process group: (the limit of user|user namespaces are forbidden)/,
          );
        },
      ],
      [
        "spawnGroup() refuses to contain where proc may not be mounted",
        async () => {
          const output = await tryBehind(
            "-m",
            `mount -t tmpfs none /proc/bus; ${AS_USER}`,
          );
          assertEquals(
            output,
            "false\nNotSupported: Cannot contain a process group: mounting /proc is " +
              "refused, as containers often do (unshare: mount /proc failed: Operation not permitted)\n",
          );
        },
        isUser,
      ],
      [
        "spawnGroup() refuses to contain where there is no unshare",
        async () => {
          const output = await tryBehind(
            "-m",
            "mount --bind /dev/null /usr/bin/unshare;",
          );
          assertEquals(
            output,
            "false\nNotSupported: Cannot contain a process group: there is no " +
              "program 'unshare', which util-linux provides\n",
          );
        },
        isUser,
      ],
      [
        "spawnGroup() refuses to contain with an unshare that is too old",
        async () => {
          const script = await Deno.makeTempFile();
          try {
            await Deno.writeTextFile(
              script,
              "#!/bin/sh\necho \"unshare: unrecognized option '--mount-proc'\" >&2; exit 1\n",
            );
            await Deno.chmod(script, 0o755);
            const output = await tryBehind(
              "-m",
              `mount --bind ${script} /usr/bin/unshare;`,
            );
            assertStringIncludes(output, "false\nNotSupported: ");
            assertStringIncludes(
              output,
              "'unshare' is too old and lacks an option (",
            );
          } finally {
            await Deno.remove(script);
          }
        },
        isUser,
      ],
      [
        "spawnGroup() contains with the permission for three programs",
        async () => {
          const flags = ["--allow-ffi", "--allow-run=echo,sh,unshare"];
          const { stdout, stderr } = await runProgram("contain_try.ts", {
            flags,
          });
          assertEquals([stdout, stderr], ["true\nit ran\n0\n", ""]);
        },
        hasNoFfi,
      ],
      ...["echo", "sh", "unshare"].map((missing): Case => [
        `spawnGroup() contains nothing without the permission to run ${missing}`,
        () => refuseWithout(missing),
        hasNoFfi,
      ]),
      [
        "spawnGroup() contains nothing once a permission is revoked",
        async () => {
          const flags = ["--allow-ffi", "--allow-run=echo,sh,unshare"];
          const { stdout } = await runProgram("contain_try.ts", {
            flags,
            args: ["revoke"],
          });
          assertMatch(
            stdout,
            /^true\nNotCapable: Requires run access to "unshare"/,
          );
        },
        hasNoFfi,
      ],
      [
        "canContain() is false without a permission, and asks for none",
        async () => {
          const { stdout } = await runProgram("contain_try.ts", { flags: [] });
          assertMatch(stdout, /^false\nNotCapable: /);
        },
      ],
    ]);
  },
);
