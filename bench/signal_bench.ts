// Copyright 2026 the @proc/group authors. MIT license.

/** Signalling a tree of 13 processes. Whom each way reaches is in the report. */

import { cleanUpSync, MARK, newMark, standing } from "./_procfs.ts";
import { mixed } from "./_trees.ts";
import { signalWays, startTargets } from "./ways/signal.ts";

const tree = mixed(10);
const mark = newMark();
const targets = startTargets(tree, { [MARK]: mark });
await standing(mark, { size: 2 * tree.size, sleeps: 2 * tree.sleeps });
globalThis.addEventListener("unload", () => cleanUpSync(mark));

for (const [i, way] of Object.entries(signalWays(targets)).entries()) {
  const [name, send] = way;
  Deno.bench({
    name,
    group: "signal a tree of 13",
    baseline: i === 0,
    n: 100,
    warmup: 10,
    async fn() {
      await send("SIGCONT");
    },
  });
}
