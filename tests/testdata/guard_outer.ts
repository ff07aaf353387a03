// Copyright 2026 the @proc/group authors. MIT license.

// Starts another Deno program in a group of its own, which starts groups, and
// waits. The arguments are those of the inner `deno run`.

import { spawnGroup } from "../../process_group.ts";

const inner = spawnGroup(Deno.execPath(), ["run", ...Deno.args], {
  stdin: "piped",
  stdout: "inherit",
});
await inner.status;
