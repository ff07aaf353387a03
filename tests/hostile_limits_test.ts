// Copyright 2026 the @proc/group authors. MIT license.

/** Nothing left to start or to look with: what runs can be stopped all the same. */

import { assertLife, DISPOSABLE, live, NAMESPACE } from "./_hostile.ts";

Deno.test(
  "a group lives and ends where nothing is wrong",
  DISPOSABLE,
  async () => {
    assertLife(await live("none"), { members: ["procfs"] });
  },
);

Deno.test(
  "a group is stopped without a descriptor left",
  DISPOSABLE,
  async () => {
    const [command, ...options] = NAMESPACE;
    const limited = ["sh", "-c", 'ulimit -n 80; exec "$0" "$@"'];
    assertLife(await live("descriptors", [...limited, command!, ...options]), {
      spawnError: /Too many open files \(os error 24\)/,
      // One that is closed on the way lets another look succeed.
      members: ["signal0", "procfs"],
    });
  },
);

Deno.test("a group is stopped without a process left", DISPOSABLE, async () => {
  assertLife(await live("processes"), {
    spawnError: /Resource temporarily unavailable \(os error 11\)/,
    members: ["signal0", "procfs"],
  });
});

Deno.test("a group is stopped where numbers are few", DISPOSABLE, async () => {
  assertLife(await live("numbers"), { members: ["procfs"] });
});

Deno.test(
  "a group is stopped from a directory that is gone",
  DISPOSABLE,
  async () => {
    assertLife(await live("directory"), {
      members: ["procfs"],
    });
  },
);
