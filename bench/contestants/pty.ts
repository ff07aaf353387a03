// Copyright 2026 the @proc/group authors. MIT license.

/** Pseudo-terminals. The first argument chooses whose. */

import { serve } from "../_serve.ts";
import { fastExit, roundTrip, stuckWrite, throughput } from "../ways/_tasks.js";
import { openPty, openScript } from "../ways/terminal.ts";

const open = Deno.args[0] === "pty" ? openPty : openScript;

await serve({
  throughput: (args) => throughput(open, args),
  roundTrip: (args) => roundTrip(open, args),
  fastExit: (args) => fastExit(open, args),
  stuckWrite: () => stuckWrite(open),
});
