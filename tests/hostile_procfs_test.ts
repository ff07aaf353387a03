// Copyright 2026 the @proc/group authors. MIT license.

/** Procfs that is missing or tells of others, and programs that are missing. */

import { assertEquals } from "@std/assert";
import { assertLife, DISPOSABLE, live, NAMESPACE } from "./_hostile.ts";
import { runAtOnce } from "./_util.ts";

/** A shell line before the program starts, which nobody else is to notice. */
function after(line: string, ...namespaces: string[]): string[] {
  const script = `${line} && "$0" "$@"; exit $?`;
  return [
    ...["unshare", "--mount", "--kill-child", "--pid", "--fork", ...namespaces],
    ...["bash", "-c", script],
  ];
}

/** Nobody but the leader's group is seen, and that is said. */
const UNSEEN = { members: ["signal0"] };

Deno.test(
  "a group is stopped, whatever is missing",
  DISPOSABLE,
  async (t) => {
    await runAtOnce(t, [
      ["by its number where there is no procfs", async () => {
        assertLife(
          await live("none", after("mount -t tmpfs none /proc")),
          UNSEEN,
        );
      }],
      ["by its number when procfs is gone", async () => {
        const wrapper = after(":", "--mount-proc");
        assertLife(await live("procfs", wrapper), UNSEEN);
      }],
      [
        "by its number where procfs tells of another namespace",
        async () => {
          assertLife(await live("none", after(":")), UNSEEN);
        },
      ],
      ["without a guard where there is no shell", async () => {
        const hide = 'mount --bind /dev/null "$(readlink -f /bin/sh)"';
        const life = await live("none", after(hide, "--mount-proc"));
        // Without FFI it is the shell that looks.
        const members = life.steps.get("stop")?.value as { members: string };
        assertLife(life, { members: [members.members] });
      }],
      ["where this process is the init of its namespace", async () => {
        const wrapper = NAMESPACE.slice(0, NAMESPACE.indexOf("sh"));
        const life = await live("none", wrapper);
        assertLife(life, { members: ["procfs"] });
        // Only whom it has started itself does it reap.
        assertEquals(life.steps.get("zombies")?.value, "");
      }],
    ]);
  },
);
