// Copyright 2026 the @proc/group authors. MIT license.

// Prints the bytes of the variable X as a child on libc has inherited it.

import { linux } from "../../_platform/linux.ts";

const leader = linux.spawn({
  command: "sh",
  args: ["-c", 'printf %s "$X" | od -An -c'],
  cwd: undefined,
  clearEnv: false,
  env: {},
  uid: undefined,
  gid: undefined,
  stdin: "null",
  stdout: "piped",
  stderr: "inherit",
  group: 1,
  outlive: true,
});
console.log(await leader.stdout?.text());
await leader.status;
