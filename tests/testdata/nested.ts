// Copyright 2026 the @proc/group authors. MIT license.

/**
 * A group whose leader is this program again, which has a group of its own.
 * Stopping the inner group leaves the outer one, and stopping the outer one
 * ends all. Arguments: two sleep lengths.
 */

import { spawnGroup, stopGroup } from "@proc/group";
import { alive, readUntil, until } from "../_util.ts";

const [outer = "", inner = "", role = "outside"] = Deno.args;

if (role === "inside") {
  const first = spawnGroup("sleep", [inner]);
  await stopGroup(first);
  const second = spawnGroup("sleep", [inner]);
  console.log("inner");
  await second.status;
} else {
  const self =
    `"${Deno.execPath()}" run --quiet -A ${denied()} ${importMap()} "${import.meta.filename}" ${outer} ${inner} inside`;
  const group = spawnGroup("sh", ["-c", `sleep ${outer} & ${self}`], {
    stdout: "piped",
    graceMs: 2000,
  });
  await readUntil(group.stdout, "inner\n");
  await until("the inner group stands", async () => {
    return (await alive(`sleep\0${inner}`)).length === 1;
  });
  const lives = (await alive(`sleep\0${outer}`)).length === 1;
  console.log(`inner stopped, outer ${lives ? "lives" : "is dead"}`);
  const report = await stopGroup(group);
  await group.stdout.cancel();
  const left = [
    ...await alive(`sleep\0${inner}`),
    ...await alive(`sleep\0${outer}`),
  ];
  console.log(
    left.length + report.survivors.length === 0
      ? "outer stopped"
      : `left: ${left}`,
  );
}

function denied(): string {
  const { state } = Deno.permissions.querySync({ name: "ffi" });
  return state === "granted" ? "" : "--deny-ffi";
}

function importMap(): string {
  return import.meta.resolve("@std/assert").includes("deno-std")
    ? `--import-map="${
      decodeURIComponent(
        new URL("../../std_from_npm.json", import.meta.url).pathname,
      )
    }"`
    : "";
}
