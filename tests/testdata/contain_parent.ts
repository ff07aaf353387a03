// Copyright 2026 the @proc/group authors. MIT license.

// Starts a contained group for each script, says when all of them are ready,
// and waits to be killed.

import { spawnGroup } from "../../process_group.ts";

await Promise.all(Deno.args.map(async (script) => {
  const { stdout } = spawnGroup("sh", ["-c", script], {
    contain: true,
    stdin: "null",
    stdout: "piped",
    stderr: "null",
    outlive: Deno.env.has("OUTLIVE"),
  });
  // One chunk says that the tree stands; the pipe stays open.
  await stdout.getReader().read();
}));
console.log("ready");
setTimeout(() => {}, 60_000);
