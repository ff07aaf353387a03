// Copyright 2026 the @proc/group authors. MIT license.

// Ends its first thread while others run on, so that procfs shows a zombie.
// With the argument "group", and what else Deno needs to run this, it starts
// itself as a group that ignores SIGTERM, prints the leader's pid and waits.

import { spawnGroup } from "../../mod.ts";

const SYS_EXIT = Deno.build.arch === "aarch64" ? 93 : 60;

if (Deno.args[0] === "group") {
  const path = decodeURIComponent(new URL(import.meta.url).pathname);
  const group = spawnGroup("sh", [
    "-c",
    `trap '' TERM; exec "$0" "$@"`,
    Deno.execPath(),
    ...["run", "-A", ...Deno.args.slice(1), path],
  ], { stdin: "null", stdout: "piped" });
  await group.stdout.getReader().read();
  console.log(group.pid);
  await group.status;
} else {
  const { symbols } = Deno.dlopen("libc.so.6", {
    syscall: { parameters: ["i64", "i64"], result: "i64" },
    alarm: { parameters: ["u32"], result: "u32" },
  });
  // It does not live on for ever if nobody ends it.
  symbols.alarm(40);
  console.log("ready");
  symbols.syscall(BigInt(SYS_EXIT), 0n);
}
