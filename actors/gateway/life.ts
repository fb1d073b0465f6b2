// The life cycle of a gateway: its root actor (machines/gateway.ts), which boots the parts in order and drains them in reverse,
// and the shared shutdown deadline. Parts find and spawn actors through it.
//
// GL1  if a part cannot boot, the start fails, and the parts before it are drained: nothing is left running.
// GL2  the shutdown deadline runs from the first signal or failed part.

import { type AnyActorLogic, type AnyActorRef, createActor, fromPromise } from 'xstate';
import { type GatewayEvent, gatewayMachine } from '../../machines/gateway.ts';
import { StoppedError } from '../base/errors/errors.ts';
import { deadLettersOf } from '../base/supervision/dead-letters.ts';
import type { Part, RootRef } from '../base/supervision/part.ts';
import { StartTime } from '../base/time/start-time.ts';

/** Closing stdin, TERM and KILL of a stubborn process take this long together. */
export const REAP_MS = 2_500;

export class Life {
  /** When the gateway was made. */
  readonly startTime = new StartTime();
  /** Root of the actor tree. */
  readonly root: RootRef;
  /** Time for the whole shutdown. */
  readonly shutdownMs: number;
  readonly #boots = new Map<string, () => Promise<void>>();
  /** The running parts by name, in the order of their start. */
  readonly #parts = new Map<string, Part>();
  #endsAt: number | undefined;
  /** True after the first signal or failed part. Written only here. */
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

  /** Returns the actor of that name, spawned under the root if missing. Throws StoppedError after the shutdown. */
  spawn(name: string, logic: AnyActorLogic, input?: unknown): AnyActorRef {
    this.root.send({ type: 'part.spawn', name, logic, input });
    const actor = this.find(name);
    if (actor === undefined) throw new StoppedError('the gateway has stopped');
    return actor;
  }

  /** Shuts the gateway down, since a part has failed for good. */
  fail(part: string, error: unknown): void {
    this.root.send({ type: 'part.failed', part, error });
  }

  /**
   * Runs `compose`, which boots the parts, then serves. Returns the result of `compose`. Rejects with the first error, after
   * draining the booted parts.
   */
  async start<T>(compose: () => Promise<T>): Promise<T> {
    try {
      const composed = await compose();
      this.#send({ type: 'serve' });
      await this.#reached('serving');
      for (const part of this.#parts.values()) part.onServing?.();
      return composed;
    } catch (error) {
      if (this.#isActive) {
        this.fail('start', error);
        await this.#ended();
      }
      throw error;
    }
  }

  /** Boots a part and returns it. Await each boot before the next call. Rejects like `start`. */
  async boot<T extends Part>(name: string, open: () => Promise<T>): Promise<T> {
    const opened = new Promise<T>((resolve) => {
      this.#boots.set(name, async () => {
        // While the root handles this event it would queue events of the part.
        await Promise.resolve();
        const part = await open();
        this.#parts.set(name, part);
        resolve(part);
      });
    });
    this.#send({ type: 'part.boot', part: name });
    await this.#reached({ booting: 'idle' });
    return opened;
  }

  /** Drains everything in reverse order. */
  async stop(): Promise<void> {
    for (const part of this.#parts.values()) part.onStopping?.();
    this.#beginEnd();
    this.#send({ type: 'shutdown' });
    await this.#ended();
  }

  /** Ends every part immediately. */
  kill(): void {
    for (const part of this.#parts.values()) part.kill?.();
  }

  /** Calls back when the actor tree fails for good while serving; the process has to end then. */
  whenFailed(listener: (error: unknown) => void): void {
    const report = (error: unknown) => {
      if (error !== undefined) listener(error);
    };
    this.root.subscribe({ complete: () => report(this.root.getSnapshot().context.error), error: report });
  }

  /** How long calls in flight may still take when their server is stopped now. */
  get graceMs(): number {
    if (this.#endsAt === undefined) return this.shutdownMs;
    return Math.max(0, this.#endsAt - performance.now() - REAP_MS);
  }

  /** Events that were sent to actors which had ended. */
  get deadLetters(): number {
    return deadLettersOf(this.root.system).count;
  }

  get #isActive(): boolean {
    return this.root.getSnapshot().status === 'active';
  }

  #ended(): Promise<void> {
    return new Promise((resolve) => {
      this.root.subscribe({ complete: resolve, error: () => resolve() });
    });
  }

  #send(event: GatewayEvent): void {
    if (this.#isActive) this.root.send(event);
  }

  /** Waits for a state of the root. Rejects if the gateway stops first, after the drain (GL1). */
  #reached(state: 'serving' | { readonly booting: 'idle' }): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (this.root.getSnapshot().matches(state)) resolve();
      };
      const fail = () => reject(this.root.getSnapshot().context.error);
      this.root.subscribe({ next: look, complete: fail, error: reject });
      look();
    });
  }

  #beginEnd(): void {
    this.isEnding = true;
    this.#endsAt ??= performance.now() + this.shutdownMs;
  }
}
