// Registry of triggers. Every enabled trigger has exactly one actor under the supervisor `triggers`: opened
// by its adapter, reopened after failures, and replaced by reloads. A changed trigger's previous version
// closes when the new version has started, so its webhook path always exists. An event that both versions
// accept has the same id and is stored once.

import { type AnyActorLogic, type AnyActorRef, fromPromise } from 'xstate';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { ChildChange } from '../../../machines/child.ts';
import type { SupervisorInput } from '../../../machines/supervisor-setup.ts';
import { type TriggerInput, triggerMachine } from '../../../machines/trigger.ts';
import type { Log } from '../../base/errors/log.ts';
import { stopChildrenOnThrow } from '../../base/supervision/stop-children-on-throw.ts';
import { childOf, persistentPolicy, supervisorInput } from '../../base/supervision/supervision.ts';
import type { OpenTrigger } from '../../platforms/adapter.ts';
import type { WatchedConnection } from '../../platforms/connections/connection-registry.ts';
import type { ConnectionStatus } from '../../platforms/connections/shared-connection.ts';
import { timeLimit } from '../conversations/run-deadline.ts';
import type { TriggerConnectionObserver } from './trigger-host.ts';

export const TRIGGERS = 'triggers';

export interface TriggerRegistryOptions {
  readonly log: Log;
  /** Rejects if the trigger cannot be opened. */
  open(trigger: Trigger, observer: TriggerConnectionObserver): Promise<OpenTrigger>;
  supervisor(): AnyActorRef | undefined;
}

/** Names of the triggers that a reload added, changed, removed or left unchanged. */
export interface TriggerDifference {
  readonly added: string[];
  readonly changed: string[];
  readonly removed: string[];
  readonly unchanged: string[];
}

export interface TriggerLife {
  /** `off` for a disabled trigger. */
  readonly state: 'off' | 'opening' | 'open' | 'paused' | 'closing' | 'failed' | 'ended';
  readonly lastError: string | undefined;
  /** Epoch milliseconds. */
  readonly retryAt: number | undefined;
  /** State of the connection; undefined if unused. */
  readonly connection: ConnectionStatus | undefined;
}

interface RegisteredTrigger {
  readonly trigger: Trigger;
  /** Key of the actor in the supervisor. */
  readonly key: string;
  connection?: WatchedConnection | undefined;
}

const SHUTDOWN_MS = 5_000;

export class TriggerRegistry {
  readonly #options: TriggerRegistryOptions;
  readonly #logic: AnyActorLogic;
  readonly #entries = new Map<string, RegisteredTrigger>();
  #count = 0;
  #longestTimeoutMs = 0;

  constructor(options: TriggerRegistryOptions) {
    this.#options = options;
    this.#logic = stopChildrenOnThrow(
      triggerMachine.provide({
        actors: {
          open: fromPromise<unknown, TriggerInput>(({ input, signal, self }) =>
            this.#open(input.actorContext as RegisteredTrigger, signal, self._parent),
          ),
          close: fromPromise<unknown, TriggerInput & { readonly openResource: unknown }>(({ input }) =>
            (input.openResource as OpenTrigger).close(),
          ),
        },
      }),
    );
  }

  supervisorInput(): SupervisorInput {
    return supervisorInput(TRIGGERS, (change) => this.#onChange(change));
  }

  /** Returns the loaded triggers in the order of names, disabled triggers included. */
  all(): readonly Trigger[] {
    return [...this.#entries.values()]
      .map(({ trigger }) => trigger)
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  get(name: string): Trigger | undefined {
    return this.#entries.get(name)?.trigger;
  }

  /** Longest trigger timeout. */
  get longestTimeoutMs(): number {
    return this.#longestTimeoutMs;
  }

  /** Returns the trigger's state for operators. */
  life(name: string): TriggerLife {
    const entry = this.#entries.get(name);
    const none = { lastError: undefined, retryAt: undefined, connection: undefined };
    if (entry === undefined || !entry.trigger.enabled) return { state: 'off', ...none };
    const child = childOf(this.#options.supervisor(), entry.key);
    const { value, context } = child?.ref?.getSnapshot() ?? {};
    const connection = entry.connection?.status();
    // The trigger is open, but the platform refuses its connection.
    if (value === 'refused')
      return { state: 'failed', lastError: context?.refusal, retryAt: connection?.retryAt, connection };
    const state = (value ?? 'failed') as TriggerLife['state'];
    const error: unknown = state === 'failed' ? (context?.lastError ?? child?.lastError) : undefined;
    return {
      state,
      connection,
      lastError: error === undefined ? undefined : messageOf(error),
      retryAt: child?.retryAt ?? child?.parkedUntil,
    };
  }

  /** Sends a pause or resume to the trigger's actor, so that its state shows the pause. */
  mark(name: string, isPaused: boolean): void {
    const entry = this.#entries.get(name);
    const child = entry && childOf(this.#options.supervisor(), entry.key);
    child?.ref?.send({ type: isPaused ? 'pause' : 'resume' });
  }

  /** Replaces the triggers; unchanged triggers stay. */
  apply(triggers: readonly Trigger[], isPaused: (name: string) => boolean): TriggerDifference {
    const difference: TriggerDifference = { added: [], changed: [], removed: [], unchanged: [] };
    const loadedNames = new Set(triggers.map(({ name }) => name));
    for (const [name, entry] of [...this.#entries]) {
      if (loadedNames.has(name)) continue;
      difference.removed.push(name);
      this.#entries.delete(name);
      this.#stop(entry);
    }
    for (const trigger of triggers) {
      const before = this.#entries.get(trigger.name);
      if (before?.trigger.hash === trigger.hash) {
        difference.unchanged.push(trigger.name);
        continue;
      }
      difference[before === undefined ? 'added' : 'changed'].push(trigger.name);
      this.#start(trigger, isPaused(trigger.name));
      if (before !== undefined) this.#stop(before);
    }
    this.#longestTimeoutMs = Math.max(0, ...triggers.map((trigger) => timeLimit(trigger).seconds * 1000));
    return difference;
  }

  #start(trigger: Trigger, isPaused: boolean): void {
    const number = this.#count++;
    // A closing actor uses the name until it has stopped.
    const isNameUsed = childOf(this.#options.supervisor(), trigger.name) !== undefined;
    const key = isNameUsed ? `${trigger.name}~${number}` : trigger.name;
    const entry: RegisteredTrigger = { trigger, key };
    this.#entries.set(trigger.name, entry);
    if (!trigger.enabled) return;
    const input = { actorContext: entry, isPaused };
    // A used port or an unreachable platform is retried as long as the gateway runs.
    const policy = persistentPolicy;
    const spec = { key, logic: this.#logic, input, policy, shutdownMs: SHUTDOWN_MS };
    this.#options.supervisor()?.send({ type: 'child.start', spec });
  }

  #stop({ trigger, key }: RegisteredTrigger): void {
    if (trigger.enabled) this.#options.supervisor()?.send({ type: 'child.stop', key });
  }

  /** Opens the trigger; closes it again if the actor was stopped meanwhile. */
  async #open(
    entry: RegisteredTrigger,
    signal: AbortSignal,
    actor: AnyActorRef | undefined,
  ): Promise<OpenTrigger> {
    const opened = await this.#options.open(entry.trigger, {
      onConnection: (connection) => {
        entry.connection = connection;
      },
      onRefused: (reason) =>
        actor?.send(reason === undefined ? { type: 'restored' } : { type: 'refused', reason }),
    });
    if (signal.aborted) await opened.close();
    return opened;
  }

  #onChange({ key, what, error, inMs, wasCutOff }: ChildChange): void {
    const log = this.#options.log;
    const trigger = key.replace(/~\d+$/, '');
    const reason = messageOf(error);
    if (what === 'restarting')
      log.warn({ trigger, reason, in_ms: inMs }, 'trigger failed; retrying after a pause');
    else if (what === 'stopped' && wasCutOff === true)
      log.error({ trigger }, 'trigger did not close in time; stopped');
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
