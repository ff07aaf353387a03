// Copyright 2026 the @proc/group authors. MIT license.

// Starts and stops groups of all kinds as fast as it can, for less than a
// second, and waits. The argument is text that each of their processes has
// among its own.

import { parentMark } from "../../_platform/marks.ts";
import {
  type ProcessGroup,
  spawnGroup,
  stopGroup,
} from "../../process_group.ts";

const SCRIPTS = [
  "sleep $0 & sleep $0 & sleep $0",
  "(trap '' TERM; sleep $0) & trap '' TERM; sleep $0",
  "setsid sleep $0 & (setsid sleep $0 &) ; sleep $0",
  "set -m; sleep $0 & sleep $0 & wait",
  "env -i sleep $0 & setsid bash -c 'env -i sleep $0 & sleep $0' $0; sleep $0",
  "sleep $0 & exit",
];

const [unique = ""] = Deno.args;
const groups: ProcessGroup[] = [];

console.log(parentMark);
for (let i = 0; i < 12; i++) {
  const script = SCRIPTS[i % SCRIPTS.length]!;
  groups.push(
    spawnGroup("bash", ["-c", script, unique], {
      stdin: "null",
      stdout: "null",
      stderr: "null",
      graceMs: 100,
    }),
  );
  if (i % 3 === 2) void stopGroup(groups[i - 2]!);
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
}
setTimeout(() => {}, 20_000);
