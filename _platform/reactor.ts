// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Waiting for file descriptors without polling and without a thread for each.
 *
 * Every blocking FFI call holds one of Deno's few threads, so there are at
 * most four epoll instances, with one blocking `epoll_wait` each. Groups do
 * not share an instance before four are busy: a test's sanitizer would see the
 * wait of another test's group end in it.
 */

import {
  type Direction,
  EpollInstance,
  Waiter,
  type Watch,
  type WatchGroup,
} from "./epoll.ts";

export type { Direction, Watch };

const MAX_INSTANCES = 4;

/** Instances that watch something or whose last wait has not returned yet. */
const instances: EpollInstance[] = [];

/**
 * The descriptors that belong together: those of one process group. They wait
 * on the same instance, and together they keep the event loop alive or do not.
 */
export class ReactorGroup implements WatchGroup {
  #instance: EpollInstance | null = null;
  #size = 0;
  #isRef = true;

  /** Whether waits for reading keep the event loop alive. */
  get isRef(): boolean {
    return this.#isRef;
  }

  /**
   * Waits once until a descriptor can be read or written. Writing always keeps
   * the event loop alive, since bytes would be lost otherwise.
   */
  watch(fd: number, direction: Direction): Watch {
    const instance = this.#instance ?? takeInstance();
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

/** An idle instance, or else one that is about to end, or else the newest. */
function takeInstance(): EpollInstance {
  if (instances.length < MAX_INSTANCES) {
    const instance = new EpollInstance(removeInstance);
    instances.push(instance);
    return instance;
  }
  // What a test shares with another one is more likely to be old than new.
  return instances.find((instance) => instance.isEmpty) ?? instances.at(-1)!;
}

function removeInstance(instance: EpollInstance): void {
  instances.splice(instances.indexOf(instance), 1);
}
