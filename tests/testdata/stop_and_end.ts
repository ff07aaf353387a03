// Copyright 2026 the @proc/group authors. MIT license.

// Stops groups with a grace period that is longer than anybody waits: nothing
// of it may keep this program from ending.

import { spawnGroup, stopGroup } from "../../process_group.ts";
import { withDeadline } from "../../timeout.ts";

const graceMs = 30 * 24 * 60 * 60 * 1000;
const { signal } = new AbortController();
const first = spawnGroup("sleep", ["20"], { graceMs, signal });
const second = spawnGroup("sleep", ["0.1"], { graceMs, signal });
await Promise.all([stopGroup(first), withDeadline(second, graceMs)]);
console.log("stopped");
