// Copyright 2026 the @proc/group authors. MIT license.

import { atMost } from "./at_most.ts";
import { C, EPOLL_DATA_OFFSET, SIZEOF } from "./constants.ts";
import { callError, check, Errno } from "./errno.ts";
import { errno, libc } from "./libc.ts";

/** What to wait for. Hang-ups and errors count as both. */
export type Direction = "read" | "write";

/** One wait for one descriptor, which ends once. */
export interface Watch {
  /**
   * Resolves to true when the descriptor may be ready (try, and wait again if
   * it is not), or to false when the watch was canceled. Rejects only if
   * waiting itself has failed.
   */
  readonly ready: Promise<boolean>;
  /**
   * Ends the watch; the descriptor may be closed at once. Resolves when no
   * operation is pending because of it, or soon where no thread was left to
   * start that operation. Idempotent.
   */
  cancel(): Promise<void>;
}

/** Those whose descriptors keep the event loop alive, or do not, together. */
export interface WatchGroup {
  /** Whether waits for reading keep the event loop alive. */
  readonly isRef: boolean;
  /** One more of the group's waits is on the instance. */
  joined(instance: EpollInstance): void;
  /** One of the group's waits is over. */
  left(): void;
}

const MAX_EVENTS = 128;

/** How long the end of an operation is awaited at most, in milliseconds. */
const CANCEL_MS = 200;

/** How often descriptors are looked at that nobody keeps the process for. */
const UNREF_POLL_MS = 20;

/**
 * The standard signals, 1 to 31, blocked during a wait: other threads take
 * them. A SIGCHLD would end a group's wait in the middle of a test that has
 * nothing to do with it. The C library's own ones above, by which setuid(2)
 * reaches all threads, come through.
 */
const STANDARD_SIGNALS = new Uint8Array(SIZEOF.sigset_t).map((_, i) =>
  [0xff, 0xff, 0xff, 0x7f][i] ?? 0
);

/** What epoll_ctl is told, for one call at a time. */
const EVENT = new DataView(new ArrayBuffer(SIZEOF.epoll_event));

/** A wait as the instance sees it. */
export class Waiter implements Watch {
  readonly #result = Promise.withResolvers<boolean>();
  readonly #instance: EpollInstance;
  readonly group: WatchGroup;
  readonly fd: number;
  readonly direction: Direction;

  constructor(
    instance: EpollInstance,
    group: WatchGroup,
    fd: number,
    direction: Direction,
  ) {
    this.#instance = instance;
    this.group = group;
    this.fd = fd;
    this.direction = direction;
  }

  get ready(): Promise<boolean> {
    return this.#result.promise;
  }

  cancel(): Promise<void> {
    const ended = this.#instance.remove(this);
    this.#result.resolve(false);
    return ended;
  }

  resolve(): void {
    this.#result.resolve(true);
  }

  reject(error: unknown): void {
    this.#result.reject(error);
  }
}

/** Both waits that one descriptor can have. */
type Entry = Record<Direction, Waiter | null>;

/** An epoll instance with at most one wait in flight. */
export class EpollInstance {
  readonly #entries = new Map<number, Entry>();
  /** How many waits there are that keep the event loop alive by group. */
  readonly #reads = new Map<WatchGroup, number>();
  #writes = 0;
  readonly #epoll: number;
  /**
   * An eventfd that ends the wait. It is there from the start, since there may
   * be no descriptor when it is needed.
   */
  readonly #wakeup: number;
  #isWoken = false;
  #isClosed = false;
  /** Written to by the pending call, so it lives as long as the instance. */
  readonly #events = new Uint8Array(MAX_EVENTS * SIZEOF.epoll_event);
  #inFlight: Promise<void> | null = null;
  #timer: ReturnType<typeof setInterval> | null = null;

  readonly #onIdle: (instance: EpollInstance) => void;

  /** @param onIdle Called whenever nothing is watched and nothing pending. */
  constructor(onIdle: (instance: EpollInstance) => void) {
    this.#onIdle = onIdle;
    const flags = C.EFD_CLOEXEC | C.EFD_NONBLOCK;
    this.#wakeup = check("eventfd", libc().eventfd(1, flags));
    this.#epoll = libc().epoll_create1(C.EPOLL_CLOEXEC);
    if (this.#epoll === -1) {
      const number = errno();
      libc().close(this.#wakeup);
      throw callError("epoll_create1", number);
    }
  }

  /** Whether nothing is watched and only the end of the last wait is due. */
  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  /** Whether nothing is watched and nothing pending. */
  get isIdle(): boolean {
    return this.isEmpty && this.#inFlight === null;
  }

  add(waiter: Waiter): void {
    const { fd, direction, group } = waiter;
    const entry = this.#entries.get(fd) ?? { read: null, write: null };
    if (entry[direction] !== null) {
      throw new Deno.errors.Busy(
        `Cannot watch a descriptor twice: current value is ${fd}`,
      );
    }
    const operation = isUnused(entry) ? C.EPOLL_CTL_ADD : C.EPOLL_CTL_MOD;
    const events = { ...entry, [direction]: waiter };
    if (this.#control(operation, fd, eventMask(events)) === -1) {
      const number = errno();
      this.settle();
      throw callError("epoll_ctl", number);
    }
    this.#entries.set(fd, events);
    group.joined(this);
    this.#count(waiter, 1);
    this.settle();
  }

  /** Resolves when no wait is in flight that only this waiter needed, or soon. */
  remove(waiter: Waiter): Promise<void> {
    if (!this.#forget(waiter)) return Promise.resolve();
    this.settle();
    return this.#mustWait() ? Promise.resolve() : this.#ended();
  }

  /**
   * Frees the descriptors of an instance that is not used any more, or whose
   * isolate ends: a wait that is still in flight then tells nothing.
   */
  close(): void {
    this.#isClosed = true;
    this.#stopTimer();
    libc().close(this.#wakeup);
    libc().close(this.#epoll);
  }

  /** Starts to wait, ends the wait or rests, as what is watched needs it. */
  settle(): void {
    if (this.#inFlight !== null) {
      if (!this.#mustWait()) this.#wake();
    } else if (this.#mustWait()) {
      this.#stopTimer();
      this.#inFlight = this.#wait();
    } else if (this.isEmpty) {
      this.#rest();
    } else {
      this.#startTimer();
    }
  }

  #ended(): Promise<void> {
    return this.#inFlight === null
      ? Promise.resolve()
      : atMost(this.#inFlight, CANCEL_MS);
  }

  #mustWait(): boolean {
    if (this.#writes > 0) return true;
    for (const group of this.#reads.keys()) {
      if (group.isRef) return true;
    }
    return false;
  }

  /** One blocking wait; the only call that is pending. */
  async #wait(): Promise<void> {
    const count = await libc().epoll_pwait_blocking(
      this.#epoll,
      this.#events,
      MAX_EVENTS,
      -1,
      STANDARD_SIGNALS,
    );
    this.#inFlight = null;
    if (this.#isClosed) return;
    // A failed wait leaves its errno on another thread: looking again without
    // waiting either works, after an interruption, or tells the reason here.
    if (count === -1) this.#look();
    else this.#dispatch(count);
    // What has just been seen is not watched any more. With nothing else to
    // wait for no call is pending when those who waited go on.
    this.settle();
  }

  /** Looks at all descriptors without waiting. */
  #look(): void {
    const count = libc().epoll_wait(this.#epoll, this.#events, MAX_EVENTS, 0);
    if (count !== -1) return this.#dispatch(count);
    const number = errno();
    if (number !== Errno.EINTR) this.#fail(callError("epoll_wait", number));
  }

  #dispatch(count: number): void {
    const view = new DataView(this.#events.buffer);
    for (let i = 0; i < count; i++) {
      const offset = i * SIZEOF.epoll_event;
      const events = view.getUint32(offset, true);
      const fd = view.getUint32(offset + EPOLL_DATA_OFFSET, true);
      if (fd === this.#wakeup) {
        this.#endWakeup();
        continue;
      }
      const entry = this.#entries.get(fd);
      const both = (events & (C.EPOLLERR | C.EPOLLHUP)) !== 0;
      if (both || (events & C.EPOLLIN) !== 0) this.#finish(entry?.read);
      if (both || (events & C.EPOLLOUT) !== 0) this.#finish(entry?.write);
    }
  }

  #finish(waiter: Waiter | null | undefined): void {
    if (waiter && this.#forget(waiter)) waiter.resolve();
  }

  #fail(error: Error): void {
    for (const { read, write } of [...this.#entries.values()]) {
      for (const waiter of [read, write]) {
        if (waiter !== null && this.#forget(waiter)) waiter.reject(error);
      }
    }
  }

  /** Takes a waiter out; false if its wait is over already. */
  #forget(waiter: Waiter): boolean {
    const { fd, direction } = waiter;
    const entry = this.#entries.get(fd);
    if (entry?.[direction] !== waiter) return false;
    const rest = { ...entry, [direction]: null };
    if (isUnused(rest)) {
      this.#entries.delete(fd);
      this.#control(C.EPOLL_CTL_DEL, fd, 0);
    } else {
      this.#entries.set(fd, rest);
      this.#control(C.EPOLL_CTL_MOD, fd, eventMask(rest));
    }
    this.#count(waiter, -1);
    waiter.group.left();
    return true;
  }

  #count({ direction, group }: Waiter, step: 1 | -1): void {
    if (direction === "write") {
      this.#writes += step;
      return;
    }
    const reads = (this.#reads.get(group) ?? 0) + step;
    if (reads === 0) this.#reads.delete(group);
    else this.#reads.set(group, reads);
  }

  #control(operation: number, fd: number, events: number): number {
    EVENT.setUint32(0, events, true);
    EVENT.setUint32(EPOLL_DATA_OFFSET, fd, true);
    return libc().epoll_ctl(this.#epoll, operation, fd, EVENT);
  }

  /** Ends the wait in flight, by an event that is there from the start. */
  #wake(): void {
    if (this.#isWoken) return;
    this.#isWoken = true;
    this.#control(C.EPOLL_CTL_ADD, this.#wakeup, C.EPOLLIN);
  }

  #endWakeup(): void {
    this.#isWoken = false;
    this.#control(C.EPOLL_CTL_DEL, this.#wakeup, 0);
  }

  #startTimer(): void {
    if (this.#timer !== null) return;
    // An interval keeps its id, which a test's sanitizer compares.
    const timer = setInterval(() => {
      this.#look();
      this.settle();
    }, UNREF_POLL_MS);
    Deno.unrefTimer(timer);
    this.#timer = timer;
  }

  #stopTimer(): void {
    if (this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #rest(): void {
    this.#stopTimer();
    if (this.#isWoken) this.#endWakeup();
    this.#onIdle(this);
  }
}

function isUnused(entry: Entry): boolean {
  return entry.read === null && entry.write === null;
}

function eventMask(entry: Entry): number {
  return (entry.read === null ? 0 : C.EPOLLIN) |
    (entry.write === null ? 0 : C.EPOLLOUT);
}
