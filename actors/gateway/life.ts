// The life of a gateway: its root actor (machines/gateway.ts), which boots the parts one after the other and drains them
// in reverse, and the deadline that all of them share when it ends.
//
// GL1  the first part that cannot boot ends the start, and those before it are drained: nothing is left running.
// GL2  the time for the end runs from the first word of it, whether that is a signal or a part that has failed.

import { type ActorRefFrom, createActor, fromPromise } from 'xstate';
import { gatewayMachine } from '../../machines/gateway.ts';
import { type SupervisorInput, supervisorMachine } from '../../machines/supervisor.ts';
import { deadLettersOf } from '../base/supervision/dead-letters.ts';
import { guarded } from '../base/supervision/guarded.ts';

/** A part of the program, such as a listener. */
export interface Part {
  readonly name: string;
  boot(): Promise<void>;
  /** Ends the part within `graceMs`. */
  drain(graceMs: number): Promise<void>;
}

export type RootRef = ActorRefFrom<typeof gatewayMachine>;

/** Closing stdin, TERM and KILL of a stubborn process take this long together. */
export const REAP_MS = 2_500;

export interface LifeOptions {
  /** In the order of their boot. */
  readonly parts: readonly Part[];
  /** Of the supervisor of the servers, a child of the root. */
  readonly servers: SupervisorInput;
  /** For the whole end. */
  readonly shutdownMs: number;
}

export class Life {
  readonly root: RootRef;
  readonly #parts: ReadonlyMap<string, Part>;
  readonly #shutdownMs: number;
  #endsAt: number | undefined;

  constructor({ parts, servers, shutdownMs }: LifeOptions) {
    this.#parts = new Map(parts.map((part) => [part.name, part]));
    this.#shutdownMs = shutdownMs;
    const logic = gatewayMachine.provide({
      actors: {
        servers: guarded(supervisorMachine),
        bootPart: fromPromise(async ({ input }) => this.#parts.get(input.part)?.boot()),
        drainPart: fromPromise(({ input }) => this.#drain(input.part)),
      },
    });
    this.root = createActor(logic, {
      id: 'gateway',
      systemId: 'gateway',
      input: { parts: [...this.#parts.keys()], servers },
    });
  }

  /** Boots everything; rejects with the first reason it cannot. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.root.subscribe({
        next: (snapshot) => {
          if (snapshot.value === 'serving') resolve();
          else if (snapshot.status === 'done') reject(snapshot.context.error);
        },
        error: reject,
      });
      this.root.start();
    });
  }

  /** Drains everything in reverse order. */
  async stop(): Promise<void> {
    this.#beginEnd();
    await new Promise<void>((resolve) => {
      this.root.subscribe({ complete: resolve, error: () => resolve() });
      this.root.send({ type: 'shutdown' });
    });
  }

  /** Calls back when the actor tree fails for good while serving; the process has to end then. */
  whenFailed(listener: (error: unknown) => void): void {
    const report = (error: unknown) => {
      if (error !== undefined) listener(error);
    };
    this.root.subscribe({ complete: () => report(this.root.getSnapshot().context.error), error: report });
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
    return deadLettersOf(this.root.system).count;
  }

  #beginEnd(): void {
    this.#endsAt ??= performance.now() + this.#shutdownMs;
  }

  async #drain(part: string): Promise<void> {
    this.#beginEnd();
    await this.#parts.get(part)?.drain(this.graceMs);
  }
}
