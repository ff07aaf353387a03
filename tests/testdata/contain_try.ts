// Copyright 2026 the @proc/group authors. MIT license.

// Prints whether a command can be contained, and what comes of trying it.

import { canContain, spawnGroup } from "../../process_group.ts";

console.log(await canContain());
if (Deno.args[0] === "revoke") {
  await Deno.permissions.revoke({ name: "run", command: "unshare" });
}
try {
  await using group = spawnGroup("echo", ["it ran"], {
    contain: true,
    stdout: "inherit",
  });
  console.log((await group.status).code);
} catch (error) {
  const { name, message } = error as Error;
  console.log(`${name}: ${message}`);
}
