// Copyright 2026 the @proc/group authors. MIT license.

/** What the portable implementation knows by itself. */

import { assert, assertEquals, assertFalse, assertRejects } from "@std/assert";
import { prepareSpawn } from "../_options.ts";
import { portable } from "../_platform/portable.ts";
import { SharedScan } from "../_platform/shared_scan.ts";
import { uniqueSleep, watchLeaks } from "./_util.ts";

const WAITS = { timeout: 30_000 };

watchLeaks();

Deno.test(
  "Leader.owns() knows a leader that has ended since the scan began",
  WAITS,
  async () => {
    const { request } = prepareSpawn("sleep", [uniqueSleep()], {});
    const leader = portable.spawn(request);
    const query = { marks: false, since: 0 };
    const during = await portable.scan(query);
    leader.signalGroup("SIGKILL");
    await leader.status;
    assert(leader.owns(during, request.group));
    assert(leader.owns(await portable.scan(query), request.group));
    // A process with the leader's number, at an unknown time after its end.
    assertFalse(leader.owns({ ...during }, request.group));
    await leader.release();
  },
);

Deno.test("SharedScan.request() lets all requests of one turn share a scan", async () => {
  const queries: unknown[] = [];
  const scan = new SharedScan((query) => {
    queries.push(query);
    return new Promise((resolve) => setTimeout(resolve, 20)) as never;
  });
  const first = Array.from(
    { length: 50 },
    (_, i) => scan.request({ marks: i % 2 === 0, since: 5 + i, sessions: [i] }),
  );
  await Promise.resolve();
  // One is running and may have looked already, so these share the next.
  const second = Array.from(
    { length: 50 },
    () => scan.request({ marks: false, since: 0 }),
  );
  await Promise.all([...first, ...second]);
  const sessions = Array.from({ length: 50 }, (_, i) => i);
  assertEquals(queries, [
    { marks: true, since: 5, sessions },
    { marks: false, since: 0, sessions: [] },
  ]);
});

Deno.test("SharedScan.request() passes a failure on and goes on", async () => {
  let scans = 0;
  const scan = new SharedScan(() => {
    scans++;
    return scans === 1 ? Promise.reject(new Error("no")) : Promise.resolve({
      processes: [],
      marks: new Map(),
      members: "ps",
      escapees: "none",
    });
  });
  const query = { marks: false, since: 0 };
  await assertRejects(() => scan.request(query), Error, "no");
  assertEquals((await scan.request(query)).members, "ps");
});
