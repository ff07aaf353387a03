// Copyright 2026 the @proc/group authors. MIT license.

// Asks whether the groups of its arguments, of which it is a member, are there.

import { killGroup } from "../../process_group.ts";

for (const pgid of Deno.args) {
  try {
    console.log(killGroup(Number(pgid), 0));
  } catch (error) {
    console.log((error as Error).name);
  }
}
