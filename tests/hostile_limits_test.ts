// Copyright 2026 the @proc/group authors. MIT license.

/** Nothing left to start or to look with: what runs can be stopped all the same. */

import { assertLife, DISPOSABLE, live, NAMESPACE } from "./_hostile.ts";
import { runAtOnce } from "./_util.ts";

Deno.test(
  "a group lives and is stopped, whatever is used up",
  DISPOSABLE,
  async (t) => {
    await runAtOnce(t, [
      ["where nothing is wrong", async () => {
        assertLife(await live("none"), { members: ["procfs"] });
      }],
      ["without a descriptor left", async () => {
        const [command, ...options] = NAMESPACE;
        const limited = ["sh", "-c", 'ulimit -n 80; exec "$0" "$@"'];
        assertLife(
          await live("descriptors", [...limited, command!, ...options]),
          {
            spawnError: /Too many open files \(os error 24\)/,
            // One that is closed on the way lets another look succeed.
            members: ["signal0", "procfs"],
          },
        );
      }],
      ["without a process left", async () => {
        assertLife(await live("processes"), {
          spawnError: /Resource temporarily unavailable \(os error 11\)/,
          members: ["signal0", "procfs"],
        });
      }],
      ["where numbers are few", async () => {
        assertLife(await live("numbers"), { members: ["procfs"] });
      }],
      ["from a directory that is gone", async () => {
        assertLife(await live("directory"), {
          members: ["procfs"],
        });
      }],
    ]);
  },
);
