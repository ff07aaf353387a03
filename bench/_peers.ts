// Copyright 2026 the @proc/group authors. MIT license.

/** The other packages that are compared, at the versions of `peers.json`. */

import versions from "./peers.json" with { type: "json" };

/** Name of another package. */
export type Peer = keyof typeof versions;

/** What to import: not a literal, so that checking types downloads nothing. */
export function peer(name: Exclude<Peer, "node-pty">): string {
  return `npm:${name}@${versions[name]}`;
}

/** Name and version, as they stand in the report. */
export function peerName(name: Peer): string {
  return `${name} ${versions[name]}`;
}

/** The version of a peer. */
export function peerVersion(name: Peer): string {
  return versions[name];
}
