// Copyright 2026 the @proc/group authors. MIT license.

// Is attached to a program that prints without end, and gives up after a moment,
// whether anybody reads its own output or not.

import { attachPty, spawnPty } from "../../pty.ts";

await using pty = spawnPty("timeout", ["20", "yes"]);
const signal = AbortSignal.timeout(500);
try {
  await attachPty(pty, { signal });
} catch (error) {
  console.error((error as Error).name);
}
