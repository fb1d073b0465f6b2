// Life cycle of a gateway. Its root actor (machines/gateway.ts) boots the parts (base/supervision/part.ts) in
// order, and drains them in reverse order before the shutdown deadline. Parts use this class to find and
// spawn actors.
//
// If a part fails to boot, the earlier parts are drained and the start fails. The shutdown deadline runs from
// the first signal or failed part.

import { type AnyActorLogic, type AnyActorRef, createActor, fromPromise } from 'xstate';
import { type GatewayEvent, gatewayMachine } from '../../machines/gateway.ts';
import { StoppedError } from '../base/errors/errors.ts';
import { deadLettersOf } from '../base/supervision/dead-letters.ts';
import type { Part, RootRef } from '../base/supervision/part.ts';
import { StartTime } from '../base/time/start-time.ts';

/** Part of the shutdown that is reserved for killing server processes that do not stop. */
export const REAP_MS = 2_500;

export class Life {
  /** Creation time of the gateway. */
  readonly startTime = new StartTime();
  /** Root of the actor tree. */
  readonly root: RootRef;
  /** Total shutdown timeout. */
  readonly shutdownMs: number;
  /** Functions that open the parts, by name. */
  readonly #boots = new Map<string, () => Promise<void>>();
  /** Running parts by name, in start order. */
  readonly #parts = new Map<string, Part>();
  /** Shutdown deadline, in performance.now() milliseconds; undefined until the shutdown starts. */
  #endsAt: number | undefined;
  /** True after the first signal or failed part. Written only by this class. */
  isEnding = false;

  constructor(shutdownMs: number) {
    this.shutdownMs = shutdownMs;
    const logic = gatewayMachine.provide({
      actors: {
        bootPart: fromPromise(async ({ input }) => this.#boots.get(input.part)?.()),
        drainPart: fromPromise(async ({ input }) => {
          this.#beginEnd();
          await this.#parts.get(input.part)?.drain(this.graceMs);
        }),
      },
    });
    this.root = createActor(logic, { id: 'gateway', systemId: 'gateway' });
    this.root.start();
  }

  /** Returns the actor of that name, if it runs. */
  find(name: string): AnyActorRef | undefined {
    return this.root.system.get(name) as AnyActorRef | undefined;
  }

  /**
   * Returns the actor of that name; spawns it under the root if missing. Throws StoppedError after the
   * shutdown.
   */
  spawn(name: string, logic: AnyActorLogic, input?: unknown): AnyActorRef {
    this.root.send({ type: 'part.spawn', name, logic, input });
    const actor = this.find(name);
    if (actor === undefined) throw new StoppedError('the gateway has stopped');
    return actor;
  }

  /** Shuts the gateway down because a part failed permanently. */
  fail(part: string, error: unknown): void {
    this.root.send({ type: 'part.failed', part, error });
  }

  /**
   * Runs `compose`, which boots the parts, then starts serving. Returns the result of `compose`. Drains the
   * booted parts and rejects on the first error.
   */
  async start<T>(compose: () => Promise<T>): Promise<T> {
    try {
      const result = await compose();
      this.#send({ type: 'serve' });
      await this.#waitForState('serving');
      for (const part of this.#parts.values()) part.onServing?.();
      return result;
    } catch (error) {
      if (this.#isActive) {
        this.fail('start', error);
        await this.#waitForEnd();
      }
      throw error;
    }
  }

  /** Boots a part and returns it. Await each boot before the next call. Rejects like `start`. */
  async boot<T extends Part>(name: string, open: () => Promise<T>): Promise<T> {
    const whenOpened = new Promise<T>((resolve) => {
      this.#boots.set(name, async () => {
        // Lets the root actor finish the current event first.
        await Promise.resolve();
        const part = await open();
        this.#parts.set(name, part);
        resolve(part);
      });
    });
    this.#send({ type: 'part.boot', part: name });
    await this.#waitForState({ booting: 'idle' });
    return whenOpened;
  }

  /** Drains all parts in reverse order. */
  async stop(): Promise<void> {
    for (const part of this.#parts.values()) part.onStopping?.();
    this.#beginEnd();
    this.#send({ type: 'shutdown' });
    await this.#waitForEnd();
  }

  /** Kills all parts immediately. */
  kill(): void {
    for (const part of this.#parts.values()) part.kill?.();
  }

  /**
   * Calls the listener when the actor tree fails permanently during operation; the process must exit then.
   */
  onFailed(listener: (error: unknown) => void): void {
    const report = (error: unknown) => {
      if (error !== undefined) listener(error);
    };
    this.root.subscribe({ complete: () => report(this.root.getSnapshot().context.error), error: report });
  }

  /** Time that calls in flight get to complete if their server is stopped now. */
  get graceMs(): number {
    if (this.#endsAt === undefined) return this.shutdownMs;
    return Math.max(0, this.#endsAt - performance.now() - REAP_MS);
  }

  /** Number of events sent to stopped actors. */
  get deadLetters(): number {
    return deadLettersOf(this.root.system).count;
  }

  get #isActive(): boolean {
    return this.root.getSnapshot().status === 'active';
  }

  #waitForEnd(): Promise<void> {
    return new Promise((resolve) => {
      this.root.subscribe({ complete: resolve, error: () => resolve() });
    });
  }

  #send(event: GatewayEvent): void {
    if (this.#isActive) this.root.send(event);
  }

  /** Resolves when the root actor is in the state. If the gateway stops first, rejects when it is drained. */
  #waitForState(state: 'serving' | { readonly booting: 'idle' }): Promise<void> {
    return new Promise((resolve, reject) => {
      const check = () => {
        if (this.root.getSnapshot().matches(state)) resolve();
      };
      const fail = () => reject(this.root.getSnapshot().context.error);
      this.root.subscribe({ next: check, complete: fail, error: reject });
      check();
    });
  }

  #beginEnd(): void {
    this.isEnding = true;
    this.#endsAt ??= performance.now() + this.shutdownMs;
  }
}
