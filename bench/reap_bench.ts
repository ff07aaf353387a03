// Copyright 2026 the @proc/group authors. MIT license.

/**
 * The whole job: from SIGTERM until the tool says that it is done. Each runs in
 * a process of its own, which adds the same fraction of a millisecond to all.
 * Whom each leaves alive is in the report; the baseline leaves nearly all.
 */

import { build } from "./_build.ts";
import { cleanUp, newMark, standing } from "./_procfs.ts";
import { allStoppers, type StopOptions } from "./_stoppers.ts";
import { flat } from "./_trees.ts";

const OPTIONS: StopOptions = {
  killSignal: "SIGTERM",
  graceMs: 1000,
  limitMs: 20_000,
};

const directory = Deno.makeTempDirSync();
const stoppers = allStoppers(await build(directory));
globalThis.addEventListener("unload", () => {
  Deno.removeSync(directory, { recursive: true });
});

for (const members of [1, 10, 100]) {
  const tree = flat(members);
  for (const stopper of stoppers) {
    Deno.bench({
      name: stopper.name,
      group: `stop a flat tree of ${members}`,
      baseline: stopper.name === "Deno.Command",
      n: members < 100 ? 5 : 2,
      warmup: members < 100 ? 1 : 0,
      async fn(b) {
        const mark = newMark();
        await stopper.start(tree, mark, OPTIONS);
        await standing(mark, tree);
        b.start();
        await stopper.stop(OPTIONS);
        b.end();
        await cleanUp(mark);
      },
    });
  }
}
