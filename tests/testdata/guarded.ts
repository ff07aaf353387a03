// Copyright 2026 the @proc/group authors. MIT license.

// Prints whether a guard stands by a group of this program.

import { spawnGroup, stopGroup } from "../../process_group.ts";

const { guarded } = await stopGroup(spawnGroup("sleep", ["20"]));
console.log(guarded);
