// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Waiting for file descriptors without polling and without a thread for each.
 *
 * Every blocking FFI call holds one of Deno's few threads, so there are at
 * most four epoll instances, with one blocking `epoll_wait` each. Groups do
 * not share an instance before four are busy: a test's sanitizer would see the
 * wait of another test's group end in it.
 */

import { C } from "./constants.ts";
import {
  type Direction,
  EpollInstance,
  Waiter,
  type Watch,
  type WatchGroup,
} from "./epoll.ts";
import { isExhausted } from "./errno.ts";
import { libc } from "./libc.ts";
import { isWorker } from "./worker.ts";

export type { Direction, Watch };

const MAX_INSTANCES = 4;

/** How often a descriptor is looked at where there is none left to wait with. */
const POLL_MS = 20;

/**
 * All instances, the one that was taken last at the end. An idle one is kept
 * for the next group, since opening and closing one takes a good part of a start.
 */
const instances: EpollInstance[] = [];

/**
 * The descriptors that belong together: those of one process group. They wait
 * on the same instance, and together they keep the event loop alive or do not.
 */
export class ReactorGroup implements WatchGroup {
  readonly #neighbor: ReactorGroup | undefined;
  #instance: EpollInstance | null = null;
  #size = 0;
  #isRef = true;

  /** @param neighbor Whose instance to wait on as well, while it has one. */
  constructor(neighbor?: ReactorGroup) {
    this.#neighbor = neighbor;
  }

  /** Whether waits for reading keep the event loop alive. */
  get isRef(): boolean {
    return this.#isRef;
  }

  /**
   * Waits once until a descriptor can be read or written. Writing always keeps
   * the event loop alive, since bytes would be lost otherwise.
   */
  watch(fd: number, direction: Direction): Watch {
    const shared = this.#neighbor ? this.#neighbor.#instance : null;
    const instance = this.#instance ?? shared ?? takeInstance();
    if (instance === null) return new PolledWatch(this, fd, direction);
    const waiter = new Waiter(instance, this, fd, direction);
    instance.add(waiter);
    return waiter;
  }

  /** Waits for reading keep the event loop alive, as at first. */
  ref(): void {
    this.#setRef(true);
  }

  /** Waits for reading let the event loop end. */
  unref(): void {
    this.#setRef(false);
  }

  /** For the instance alone: one more of this group's waits is on it. */
  joined(instance: EpollInstance): void {
    this.#instance = instance;
    this.#size++;
  }

  /** For the instance alone: one of this group's waits is over. */
  left(): void {
    this.#size--;
    if (this.#size === 0) this.#instance = null;
  }

  #setRef(isRef: boolean): void {
    this.#isRef = isRef;
    this.#instance?.settle();
  }
}

/**
 * An idle instance, or else a new one, or else one that is about to be idle, or
 * else the one taken last. Null if there is none and no descriptor for one.
 */
function takeInstance(): EpollInstance | null {
  const instance = instances.find(({ isIdle }) => isIdle) ?? openInstance() ??
    instances.find(({ isEmpty }) => isEmpty) ?? instances.at(-1);
  if (instance === undefined) return null;
  // What a test shares with another one is more likely to be old than new.
  if (instance !== instances.at(-1)) {
    instances.splice(instances.indexOf(instance), 1);
    instances.push(instance);
  }
  return instance;
}

function openInstance(): EpollInstance | null {
  if (instances.length === MAX_INSTANCES) return null;
  try {
    const instance = new EpollInstance(onIdle);
    instances.push(instance);
    globalThis.addEventListener("unload", closeAll);
    return instance;
  } catch (error) {
    if (!isExhausted(error)) throw error;
    return null;
  }
}

function onIdle(instance: EpollInstance): void {
  const index = instances.indexOf(instance);
  if (index < 0 || !isWorker()) return;
  instances.splice(index, 1);
  instance.close();
}

/** With `deno test` the process goes on when this isolate ends. */
function closeAll(): void {
  try {
    for (const instance of instances.splice(0)) instance.close();
  } catch {
    // The permission was revoked: they stay open until the process ends.
  }
}

/** Looks now and then, where there is no descriptor left to wait with. */
class PolledWatch implements Watch {
  readonly #result = Promise.withResolvers<boolean>();
  readonly #group: ReactorGroup;
  readonly #fd: number;
  readonly #direction: Direction;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(group: ReactorGroup, fd: number, direction: Direction) {
    this.#group = group;
    this.#fd = fd;
    this.#direction = direction;
    this.#look();
  }

  get ready(): Promise<boolean> {
    return this.#result.promise;
  }

  cancel(): Promise<void> {
    clearTimeout(this.#timer);
    this.#result.resolve(false);
    return Promise.resolve();
  }

  #look = (): void => {
    if (this.#isReady()) return this.#result.resolve(true);
    this.#timer = setTimeout(this.#look, POLL_MS);
    if (this.#direction === "read" && !this.#group.isRef) {
      Deno.unrefTimer(this.#timer);
    }
  };

  #isReady(): boolean {
    // struct pollfd: int fd, short events, short revents.
    const poll = new Int32Array(new ArrayBuffer(128));
    poll[0] = this.#fd;
    poll[1] = this.#direction === "read" ? C.POLLIN : C.POLLOUT;
    return libc().poll(poll, 1, 0) !== 0;
  }
}
