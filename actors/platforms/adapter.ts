// An adapter connects one type of trigger to its platform: it receives events, reads them, and sends answers.
// All adapters implement this interface.

import type { Trigger } from '../../config/resources/triggers/trigger.ts';
import { platformOf } from '../../config/resources/triggers/trigger-types.ts';
import type { Filters } from '../../machines/matching.ts';
import type { Log } from '../base/errors/log.ts';
import type { InboundEvent } from '../events/inbound-event.ts';
import type { DeliveryOutcome } from '../events/inbox/delivery-outcome.ts';
import type { ConnectedAccount } from '../events/outbox/connected-account.ts';
import type { Outbound } from '../events/outbox/outbound.ts';
import type { Undelivered } from '../store/delivery.ts';
import type { NewEvent, StoredEvent } from '../store/event.ts';
import type { AppendOutcome, Store } from '../store/store.ts';
import type { Connections } from './connections/connector.ts';
import type { Diagnostic } from './diagnostics.ts';
import type { ManualInput, ManualOrigin } from './manual/input.ts';
import type { RefusedProof } from './webhooks/refused-proofs.ts';
import type { Webhook } from './webhooks/webhook.ts';

export interface RegisterOptions {
  /** Limits the registration to one guild, on platforms with guilds. */
  readonly guild?: string | undefined;
  readonly signal: AbortSignal;
}

/** An entry of a platform's command menu. */
export interface MenuCommand {
  readonly command: string;
  readonly description: string;
}

/**
 * A command menu that an operator enters at the platform by hand, because the platform has no API for it.
 * Printed by the CLI.
 */
export interface ManualMenu {
  /** Name of the form or file at the platform, as `the manifest of the app`. */
  readonly formName: string;
  readonly text: string;
}

/** The gateway's services for adapters. */
export interface AdapterServices {
  /** Maximum webhook request size. */
  readonly maxBodyBytes: number;
  /** Persistent key-value store of the adapter, and the records of deliveries. */
  readonly store: Pick<Store, 'get' | 'put' | 'delete' | 'keys' | 'delivery' | 'withReceipt'>;
  readonly log: Log;
}

/** The gateway's services for open triggers. */
export interface TriggerHost {
  readonly store: Store;
  readonly log: Log;
  /** Persists the event. The adapter acknowledges it to the platform only afterwards. Counts duplicates. */
  accept(event: NewEvent): Promise<AppendOutcome>;
  /** Counts a duplicate that an adapter found without `accept`. `id` is the event's id. */
  readonly onDuplicate?: ((id: string) => void) | undefined;
  /**
   * Resolves when the delivery is finished or parked (it waits for a person, such as an approver). Resolves
   * with undefined at the deadline, or when the signal is aborted. The number of waiting callers is limited,
   * in total and per trigger. Call it before `accept`, so that no outcome is missed.
   */
  waitUntilSettled(
    trigger: string,
    id: string,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<DeliveryOutcome | undefined>;
  /**
   * Records a delivery as ignored, with the note, and notifies its waiters. Returns false if the delivery is
   * running, done or already ignored.
   */
  discard(id: string, note: string): Promise<boolean>;
  /**
   * Aborts a running attempt or a parked delivery, and records the delivery as ignored, with the note.
   * Returns false for any other delivery. If the host lacks this method, the attempt runs to completion.
   */
  readonly cancel?: ((id: string, note: string) => Promise<boolean>) | undefined;
  /**
   * Marks deliveries as dead after the platform reported that messages of the account (`Adapter.account`),
   * accepted earlier, did not arrive. Returns the delivery id per message; undefined for unknown messages.
   */
  undeliver(
    platform: string,
    account: string,
    messages: readonly Undelivered[],
  ): Promise<readonly (string | undefined)[]>;
  /** Notifies the host that a request to the trigger's path failed verification. */
  readonly onProofRefused?: ((trigger: string, refused: RefusedProof) => void) | undefined;
  /**
   * Registers a webhook on the gateway's own listener, or on a listener at `address`. Returns a function that
   * removes it.
   */
  listen(
    webhook: Webhook,
    address?: { readonly host: string; readonly port: number },
  ): Promise<() => Promise<void>>;
  /** Sockets and pollers, each shared by all triggers with the same account. */
  readonly connections: Connections;
}

export interface OpenTrigger {
  close(): Promise<void>;
}

export interface Adapter<T extends Trigger = Trigger> {
  readonly type: T['type'];
  /**
   * Returns the name of the trigger's account at the platform: a bot, a phone number, a host. Triggers with
   * the same account share its rate limits, message order and connection. The name contains no secret,
   * because keys, logs and GET /triggers contain it. Pure. Required for types with connections or outbound
   * messages.
   */
  account?(trigger: T): string;
  /**
   * Starts to accept events for the trigger. Rejects if the trigger cannot be opened now; the supervisor
   * retries. The adapter manages the resources that triggers share, such as a path or a connection.
   */
  open(trigger: T, host: TriggerHost): Promise<OpenTrigger>;
  /**
   * Creates the event for a manual run. Only for trigger types with `byHand` rules. Throws a ConflictError if
   * the run is not allowed.
   */
  manualEvent?(trigger: T, run: ManualInput, origin: ManualOrigin): NewEvent;
  /** Parses a stored event. Throws if the event can no longer be parsed; the delivery is then dead. */
  read(event: StoredEvent): InboundEvent;
  /**
   * Checks the event against the type's own filters: repositories, branches, events. Returns a boolean, or
   * the reason for a refusal if the trigger's file does not show it. Called with the current files when the
   * event is handled, not when it is accepted. Pure. Without this method the trigger accepts every verified
   * event.
   */
  accepts?(trigger: T, event: InboundEvent): boolean | string;
  /**
   * Adds data that these triggers' filters need and only the platform has: a channel name, or the results in
   * `checks`. Also adds answered messages. Returns undefined if nothing is missing. Rejects with a
   * DeliveryError if a lookup fails; the event is then retried, because it must not bypass its filters.
   */
  addLookups?(event: InboundEvent, triggers: readonly T[]): Promise<InboundEvent> | undefined;
  /** Returns the filters that all chat platforms have (inbox/chat-filters.ts). Called once per trigger. */
  filters?(trigger: T): Filters;
  /**
   * True for a chat with the built-in commands (events/built-in-commands.ts). A built-in command answers an
   * event if it is the first of the event's `names`, unless the event is a choice or matches a command of a
   * trigger. The event's `parameters` are the command's options. Control calls (`isControlCall`) are stored
   * under `controlKeyOf` of the conversation key.
   */
  readonly hasBuiltIns?: boolean | undefined;
  /** Sends messages to the platform. Undefined for types whose answers are only recorded. */
  readonly outbound?: Outbound<T> | undefined;
  /** Returns recent diagnostics for operators, for example a backlog at the platform. Pure. */
  diagnostics?(trigger: T): readonly Diagnostic[];
  /** Returns the menu entries for triggers with the same account, for platforms with a command menu. Pure. */
  menu?(triggers: readonly T[]): readonly MenuCommand[];
  /** Returns the menu in the platform's own format, for platforms without an API for it. Pure. */
  manualMenu?(triggers: readonly T[]): ManualMenu;
  /**
   * True if the trigger's file puts its commands into the menu, globally or for one guild. Default: always.
   * Pure.
   */
  isInMenu?(trigger: T, guild: string | undefined): boolean;
  /**
   * Replaces the platform's command menu with the commands of triggers with the same account. Returns the
   * command names as people type them. Rejects with the platform's error.
   */
  register?(triggers: readonly T[], options: RegisterOptions): Promise<readonly string[]>;
  /**
   * Deletes stored state of triggers that were removed more than `keepMs` ago. `exists` returns true for a
   * current trigger. Called every few minutes. Returns the number of deleted rows. Rejects if the store
   * fails.
   */
  deleteUnusedState?(store: Store, exists: (trigger: string) => boolean, keepMs: number): Promise<number>;
}

/** Returns the account that identifies the trigger's connection, rows and limits. */
export function accountOf<T extends Trigger>({ type, account }: Adapter<T>, trigger: T): ConnectedAccount {
  if (account === undefined) throw new Error(`triggers of type ${type} have no account`);
  return { platform: platformOf(type), account: account(trigger) };
}
