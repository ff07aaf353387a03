// Copyright 2026 the @proc/group authors. MIT license.

// Says whether a group would be guarded under the permissions of this program.

import { holdGuard } from "../../_platform/guard.ts";

const hold = holdGuard("linux");
console.log(`guarded ${hold.isGuarded()}`);
await hold.standDown();
