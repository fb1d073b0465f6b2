// The life cycle of a gateway: its root actor (machines/gateway.ts), which boots the parts in order and drains them in reverse,
// and the shutdown deadline that they share. It is made before the parts, which find and spawn their actors through it.
//
// GL1  if a part cannot boot, the start fails, and the parts before it are drained: nothing is left running.
// GL2  the shutdown deadline runs from the first signal or failed part.

import { type AnyActorLogic, type AnyActorRef, createActor, fromPromise } from 'xstate';
import { gatewayMachine } from '../../machines/gateway.ts';
import { supervisorMachine } from '../../machines/supervisor.ts';
import type { SupervisorInput } from '../../machines/supervisor-setup.ts';
import { deadLettersOf } from '../base/supervision/dead-letters.ts';
import { guarded } from '../base/supervision/guarded.ts';
import type { Part, RootRef } from '../base/supervision/part.ts';
import { StartTime } from '../base/time/start-time.ts';

/** Closing stdin, TERM and KILL of a stubborn process take this long together. */
export const REAP_MS = 2_500;

export class Life {
  /** When the gateway was made. */
  readonly startTime = new StartTime();
  readonly #shutdownMs: number;
  #root: RootRef | undefined;
  #endsAt: number | undefined;

  /** `shutdownMs` is the time for the whole shutdown. */
  constructor(shutdownMs: number) {
    this.#shutdownMs = shutdownMs;
  }

  /** Returns the actor of that name, if it runs. */
  find(name: string): AnyActorRef | undefined {
    return this.#root?.system.get(name) as AnyActorRef | undefined;
  }

  /** Spawns an actor under the root, unless one of that name runs. */
  spawn(name: string, logic: AnyActorLogic, input: unknown): void {
    this.#root?.send({ type: 'part.spawn', name, logic, input });
  }

  /** Shuts the gateway down, since a part has failed for good. */
  fail(part: string, error: unknown): void {
    this.#root?.send({ type: 'part.failed', part, error });
  }

  /**
   * Boots the parts in their order; rejects with the first reason that a part cannot. `servers` is the input of the supervisor of
   * the servers.
   */
  start(parts: readonly Part[], servers: SupervisorInput): Promise<void> {
    const byName = new Map(parts.map((part) => [part.name, part]));
    const logic = gatewayMachine.provide({
      actors: {
        servers: guarded(supervisorMachine),
        bootPart: fromPromise(async ({ input }) => byName.get(input.part)?.boot(root)),
        drainPart: fromPromise(async ({ input }) => {
          this.#beginEnd();
          await byName.get(input.part)?.drain(this.graceMs);
        }),
      },
    });
    const input = { parts: [...byName.keys()], servers };
    const root: RootRef = createActor(logic, { id: 'gateway', systemId: 'gateway', input });
    this.#root = root;
    return new Promise((resolve, reject) => {
      root.subscribe({
        next: (snapshot) => {
          if (snapshot.value === 'serving') resolve();
          else if (snapshot.status === 'done') reject(snapshot.context.error);
        },
        error: reject,
      });
      root.start();
    });
  }

  /** Drains everything in reverse order. */
  async stop(): Promise<void> {
    this.#beginEnd();
    const root = this.#root;
    if (root === undefined) return;
    await new Promise<void>((resolve) => {
      root.subscribe({ complete: resolve, error: () => resolve() });
      root.send({ type: 'shutdown' });
    });
  }

  /** Calls back when the actor tree fails for good while serving; the process has to end then. */
  whenFailed(listener: (error: unknown) => void): void {
    const root = this.#root;
    const report = (error: unknown) => {
      if (error !== undefined) listener(error);
    };
    root?.subscribe({ complete: () => report(root.getSnapshot().context.error), error: report });
  }

  get isEnding(): boolean {
    return this.#endsAt !== undefined;
  }

  /** How long calls in flight may still take when their server is stopped now. */
  get graceMs(): number {
    if (this.#endsAt === undefined) return this.#shutdownMs;
    return Math.max(0, this.#endsAt - performance.now() - REAP_MS);
  }

  /** Events that were sent to actors which had ended. */
  get deadLetters(): number {
    return this.#root === undefined ? 0 : deadLettersOf(this.#root.system).count;
  }

  #beginEnd(): void {
    this.#endsAt ??= performance.now() + this.#shutdownMs;
  }
}
