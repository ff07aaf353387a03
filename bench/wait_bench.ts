// Copyright 2026 the @proc/group authors. MIT license.

/**
 * From the kill to the news that a group of 11 is gone. The baseline, the
 * leader's status, does not know about the others.
 */

import { makeCgroup } from "./_cgroup.ts";
import { cleanUp, MARK, newMark, standing } from "./_procfs.ts";
import { flat } from "./_trees.ts";
import { thisPackage } from "./_this_package.ts";
import { WAIT_WAYS } from "./ways/wait.ts";

const tree = flat(10);
const cgroup = makeCgroup();
if (cgroup !== null) Deno.removeSync(cgroup);

for (const [way, start] of Object.entries(WAIT_WAYS)) {
  // Slow through the zombies, each of which counts for seconds.
  const isProbe = way.startsWith("signal 0");
  Deno.bench({
    name: way === "waitGone" ? thisPackage : way,
    group: "kill a group of 11 and know that it is gone",
    baseline: way === "status",
    ignore: way === "cgroup.events" && cgroup === null,
    n: isProbe ? 2 : 10,
    warmup: isProbe ? 0 : 2,
    async fn(b) {
      const mark = newMark();
      const env = { [MARK]: mark };
      const group = start({ ...tree, args: [...tree.args], env });
      const members = await standing(mark, tree);
      b.start();
      Deno.kill(-group.pid, "SIGKILL");
      await group.wait(members);
      b.end();
      await group.forget();
      await cleanUp(mark);
    },
  });
}
