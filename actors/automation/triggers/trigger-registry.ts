// The registry of triggers, each an actor under the supervisor `triggers`: opened by its adapter, opened again after a
// failure, exchanged by a reload without a gap.
//
// Every enabled trigger has exactly one supervised actor.
//
// TG2  a changed trigger is a new one beside the old: the old is closed when the new one is under way, so that no request
//      finds its path empty. What both might take in between is one event, by its id.

import { type AnyActorLogic, type AnyActorRef, fromPromise } from 'xstate';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { Change } from '../../../machines/child.ts';
import type { SupervisorInput } from '../../../machines/supervisor-setup.ts';
import { type TriggerInput, triggerMachine } from '../../../machines/trigger.ts';
import type { Log } from '../../base/errors/log.ts';
import { guarded } from '../../base/supervision/guarded.ts';
import { childOf, persistentPolicy, supervisorInput } from '../../base/supervision/supervision.ts';
import type { OpenTrigger } from '../../platforms/adapter.ts';
import type { WatchedConnection } from '../../platforms/connections/connection-registry.ts';
import type { ConnectionStatus } from '../../platforms/connections/shared-connection.ts';
import { timeLimit } from '../conversations/run-deadline.ts';
import type { ConnectionObserver } from './source-host.ts';

export const TRIGGERS = 'triggers';

export interface TriggerRegistryOptions {
  readonly log: Log;
  /** Rejects when the trigger cannot be opened now. */
  open(trigger: Trigger, observer: ConnectionObserver): Promise<OpenTrigger>;
  supervisor(): AnyActorRef | undefined;
}

/** Names by what a reload did with them. */
export interface TriggerDifference {
  readonly added: string[];
  readonly changed: string[];
  readonly removed: string[];
  readonly unchanged: string[];
}

export interface TriggerLife {
  /** `off` for one that is switched off. */
  readonly state: 'off' | 'opening' | 'open' | 'paused' | 'closing' | 'failed' | 'ended';
  readonly lastError: string | undefined;
  /** Epoch milliseconds. */
  readonly retryAt: number | undefined;
  /** Of its connection; undefined for one that uses none. */
  readonly connection: ConnectionStatus | undefined;
}

interface Placed {
  readonly trigger: Trigger;
  readonly key: string;
  connection?: WatchedConnection | undefined;
}

const SHUTDOWN_MS = 5_000;

export class TriggerRegistry {
  readonly #options: TriggerRegistryOptions;
  readonly #logic: AnyActorLogic;
  readonly #placed = new Map<string, Placed>();
  #count = 0;
  #longestTimeoutMs = 0;

  constructor(options: TriggerRegistryOptions) {
    this.#options = options;
    this.#logic = guarded(
      triggerMachine.provide({
        actors: {
          open: fromPromise<unknown, TriggerInput>(({ input, signal, self }) =>
            this.#open(input.bearer as Placed, signal, self._parent),
          ),
          close: fromPromise<unknown, TriggerInput & { readonly opened: unknown }>(({ input }) =>
            (input.opened as OpenTrigger).close(),
          ),
        },
      }),
    );
  }

  supervisorInput(): SupervisorInput {
    return supervisorInput(TRIGGERS, (change) => this.#onChange(change));
  }

  /** Loaded triggers in the order of their names, those that are off included. */
  all(): readonly Trigger[] {
    return [...this.#placed.values()]
      .map(({ trigger }) => trigger)
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  get(name: string): Trigger | undefined {
    return this.#placed.get(name)?.trigger;
  }

  /** What the most patient of them gives its handler. */
  get longestTimeoutMs(): number {
    return this.#longestTimeoutMs;
  }

  life(name: string): TriggerLife {
    const placed = this.#placed.get(name);
    const none = { lastError: undefined, retryAt: undefined, connection: undefined };
    if (placed === undefined || !placed.trigger.enabled) return { state: 'off', ...none };
    const child = childOf(this.#options.supervisor(), placed.key);
    const { value, context } = child?.ref?.getSnapshot() ?? {};
    const connection = placed.connection?.status();
    if (value === 'refused')
      return { state: 'failed', lastError: context?.refusal, retryAt: connection?.retryAt, connection };
    const state = (value ?? 'failed') as TriggerLife['state'];
    const error: unknown = state === 'failed' ? (context?.lastError ?? child?.lastError) : undefined;
    return {
      state,
      connection,
      lastError: error === undefined ? undefined : error instanceof Error ? error.message : String(error),
      retryAt: child?.retryAt ?? child?.parkedUntil,
    };
  }

  /** Tells the trigger's actor that it is paused or goes on. */
  mark(name: string, isPaused: boolean): void {
    const placed = this.#placed.get(name);
    const child = placed && childOf(this.#options.supervisor(), placed.key);
    child?.ref?.send({ type: isPaused ? 'pause' : 'resume' });
  }

  /** Makes the registry what was loaded, touching only what differs. */
  apply(triggers: readonly Trigger[], isPaused: (name: string) => boolean): TriggerDifference {
    const difference: TriggerDifference = { added: [], changed: [], removed: [], unchanged: [] };
    const wanted = new Set(triggers.map(({ name }) => name));
    for (const [name, placed] of [...this.#placed]) {
      if (wanted.has(name)) continue;
      difference.removed.push(name);
      this.#placed.delete(name);
      this.#stop(placed);
    }
    for (const trigger of triggers) {
      const before = this.#placed.get(trigger.name);
      if (before?.trigger.hash === trigger.hash) {
        difference.unchanged.push(trigger.name);
        continue;
      }
      difference[before === undefined ? 'added' : 'changed'].push(trigger.name);
      this.#place(trigger, isPaused(trigger.name));
      if (before !== undefined) this.#stop(before);
    }
    this.#longestTimeoutMs = Math.max(0, ...triggers.map((trigger) => timeLimit(trigger).seconds * 1000));
    return difference;
  }

  #place(trigger: Trigger, isPaused: boolean): void {
    const number = this.#count++;
    // One that is on its way out holds its name until it has ended.
    const isTaken = childOf(this.#options.supervisor(), trigger.name) !== undefined;
    const key = isTaken ? `${trigger.name}~${number}` : trigger.name;
    const placed: Placed = { trigger, key };
    this.#placed.set(trigger.name, placed);
    if (!trigger.enabled) return;
    const input = { bearer: placed, isPaused };
    // A port that is taken, or a platform that cannot be reached, is tried again for as long as the gateway runs.
    const policy = persistentPolicy;
    const spec = { key, logic: this.#logic, input, policy, shutdownMs: SHUTDOWN_MS };
    this.#options.supervisor()?.send({ type: 'child.start', spec });
  }

  #stop({ trigger, key }: Placed): void {
    if (trigger.enabled) this.#options.supervisor()?.send({ type: 'child.stop', key });
  }

  /** One whose actor was stopped meanwhile is closed at once: nobody else would. */
  async #open(placed: Placed, signal: AbortSignal, actor: AnyActorRef | undefined): Promise<OpenTrigger> {
    const opened = await this.#options.open(placed.trigger, {
      onConnection: (connection) => {
        placed.connection = connection;
      },
      onRefused: (reason) =>
        actor?.send(reason === undefined ? { type: 'restored' } : { type: 'refused', reason }),
    });
    if (signal.aborted) await opened.close();
    return opened;
  }

  #onChange({ key, what, error, inMs, wasCutOff }: Change): void {
    const log = this.#options.log;
    const trigger = key.replace(/~\d+$/, '');
    const reason = error instanceof Error ? error.message : String(error);
    if (what === 'restarting')
      log.warn({ trigger, reason, in_ms: inMs }, 'trigger is opened again after a pause');
    else if (what === 'stopped' && wasCutOff === true)
      log.error({ trigger }, 'trigger did not close in time and was cut off');
  }
}
