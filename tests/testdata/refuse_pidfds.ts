// Copyright 2026 the @proc/group authors. MIT license.

// Puts a seccomp filter on itself that refuses pidfds as old kernels and some
// containers do, then runs through the life of a few groups.
// Arguments: what to refuse, `all` or `groups`.

import { killGroup, spawnGroup, stopGroup, waitGone } from "../../mod.ts";

const PR_SET_SECCOMP = 22;
const PR_SET_NO_NEW_PRIVS = 38;
const SECCOMP_MODE_FILTER = 2;
const SECCOMP_RET_ALLOW = 0x7fff0000;
const SECCOMP_RET_ERRNO = 0x00050000;
const [EINVAL, ENOSYS] = [22, 38];
const [PIDFD_SEND_SIGNAL, PIDFD_OPEN] = [424, 434];
/** Offsets in `struct seccomp_data`: the call, and the low half of its fourth argument. */
const [NR, FLAGS] = [0, 40];

/** `struct sock_filter`: code, jt, jf, k. */
type Instruction = [number, number, number, number];
const load = (offset: number): Instruction => [0x20, 0, 0, offset];
const skipUnless = (
  value: number,
  skip: number,
): Instruction => [0x15, 0, skip, value];
const result = (value: number): Instruction => [0x06, 0, 0, value];

const FILTERS: Record<string, Instruction[]> = {
  all: [
    load(NR),
    skipUnless(PIDFD_OPEN, 1),
    result(SECCOMP_RET_ERRNO | ENOSYS),
    result(SECCOMP_RET_ALLOW),
  ],
  groups: [
    load(NR),
    skipUnless(PIDFD_SEND_SIGNAL, 3),
    load(FLAGS),
    skipUnless(4, 1),
    result(SECCOMP_RET_ERRNO | EINVAL),
    result(SECCOMP_RET_ALLOW),
  ],
};

function install(filter: Instruction[]): void {
  const code = new DataView(new ArrayBuffer(Math.max(filter.length * 8, 128)));
  for (const [i, [op, jt, jf, k]] of filter.entries()) {
    code.setUint16(i * 8, op, true);
    code.setUint8(i * 8 + 2, jt);
    code.setUint8(i * 8 + 3, jf);
    code.setUint32(i * 8 + 4, k, true);
  }
  const program = new DataView(new ArrayBuffer(128));
  program.setUint16(0, filter.length, true);
  const address = Deno.UnsafePointer.value(Deno.UnsafePointer.of(code));
  program.setBigUint64(8, address, true);
  const library = Deno.dlopen("libc.so.6", {
    prctl: {
      parameters: ["i32", "u64", "buffer", "u64", "u64"],
      result: "i32",
    },
  });
  const { prctl } = library.symbols;
  const isInstalled = prctl(PR_SET_NO_NEW_PRIVS, 1n, null, 0n, 0n) === 0 &&
    prctl(PR_SET_SECCOMP, BigInt(SECCOMP_MODE_FILTER), program, 0n, 0n) === 0;
  library.close();
  if (!isInstalled) throw new Error("Cannot install the filter");
}

install(FILTERS[Deno.args[0] ?? ""] ?? []);

const script = (body: string) => ["-c", body];

// An exit code comes through.
console.log((await spawnGroup("sh", script("exit 7")).status).code);

// A group is killed by its leader's number while the leader lives.
const first = spawnGroup("sh", script("sleep 41.5 & sleep 41.5"), {
  stdin: "null",
});
console.log(killGroup(first, "SIGKILL"), (await first.status).signal);
await waitGone(first);
console.log(killGroup(first, "SIGKILL"));

// And after the leader was reaped, while somebody of the group is left.
const second = spawnGroup("sh", script("sleep 42.5 & exit 0"), {
  stdin: "null",
});
await second.status;
console.log(killGroup(second, "SIGKILL"));
await waitGone(second);

// A session with several groups is stopped whole.
const third = spawnGroup(
  "bash",
  script("set -m; sleep 43.5 & sleep 43.5 & echo up; wait"),
  {
    stdin: "null",
    stdout: "piped",
  },
);
const reader = third.stdout.getReader();
await reader.read();
const { survivors } = await stopGroup(third);
await reader.cancel();
console.log(survivors.length);
