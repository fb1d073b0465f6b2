// An adapter knows one type of trigger: how its events come in, what they say, and how an answer goes out. All adapters
// have this one shape, so that who has read one has read all.

import type { Trigger } from '../../config/resources/triggers/trigger.ts';
import { platformOf } from '../../config/resources/triggers/trigger-types.ts';
import type { Filters } from '../../machines/matching.ts';
import type { Log } from '../base/errors/log.ts';
import type { InboundEvent } from '../events/inbound-event.ts';
import type { Settled } from '../events/inbox/settled.ts';
import type { ConnectedAccount } from '../events/outbox/connected-account.ts';
import type { Outbound } from '../events/outbox/outbound.ts';
import type { Undelivered } from '../store/delivery.ts';
import type { NewEvent, StoredEvent } from '../store/event.ts';
import type { Appended, Store } from '../store/store.ts';
import type { Connections } from './connections/connector.ts';
import type { ManualInput, ManualOrigin } from './manual/input.ts';
import type { Remark } from './remarks.ts';
import type { RefusedProof } from './webhooks/refused-proofs.ts';
import type { Webhook } from './webhooks/webhook.ts';

export interface RegisterOptions {
  /** For one guild alone, on a platform that has such. */
  readonly guild?: string | undefined;
  readonly signal: AbortSignal;
}

/** A line of a platform's menu of commands, as people see it there. */
export interface MenuCommand {
  readonly command: string;
  readonly description: string;
}

/** For the terminal. */
export interface MenuByHand {
  /** `the manifest of the app`. */
  readonly where: string;
  readonly text: string;
}

/** Services of the gateway for an adapter. */
export interface AdapterServices {
  /** Bound of one request to a webhook. */
  readonly maxBodyBytes: number;
  /** Persistent state of the adapter. */
  readonly store: Pick<Store, 'get' | 'put' | 'delete' | 'keys'>;
  readonly log: Log;
}

/** What an open trigger can do in the world. */
export interface SourceHost {
  readonly store: Store;
  readonly log: Log;
  /** Makes the event durable; the answer to the platform comes after this. */
  accept(event: NewEvent): Promise<Appended>;
  /**
   * Resolves when the delivery has ended or parks, or with undefined at the deadline, or when it is `givenUp`: a wait takes
   * one of few places, as its trigger's. Ask before `accept`.
   */
  settled(trigger: string, id: string, timeoutMs: number, givenUp: AbortSignal): Promise<Settled | undefined>;
  /** Ends a delivery that waits, is held or dead, as ignored with the note, and tells whoever waits for it; false for any other. */
  discard(id: string, note: string): Promise<boolean>;
  /**
   * Ends the attempt at a delivery that is under way, or is parked: its signal is aborted, and it is recorded as ignored with
   * the note. Gives false for any other. A host that cannot do it lets the attempt end by itself.
   */
  readonly cancel?: ((id: string, note: string) => Promise<boolean>) | undefined;
  /**
   * The platform says of messages that it had taken from an account (`Adapter.account`) that they did not arrive: their
   * deliveries, which were done, are dead from now on. Gives their ids, undefined for what nobody here has sent.
   */
  undeliver(
    platform: string,
    account: string,
    messages: readonly Undelivered[],
  ): Promise<readonly (string | undefined)[]>;
  /** A request to the path of that trigger proved nothing, and was refused. A host that shows none hears of none. */
  readonly onProofRefused?: ((trigger: string, refused: RefusedProof) => void) | undefined;
  /** Puts a webhook on the gateway's listener, or on one of its own. Gives the way to take it away. */
  listen(
    webhook: Webhook,
    address?: { readonly host: string; readonly port: number },
  ): Promise<() => Promise<void>>;
  /** Sockets and pollers of ours to a platform, which all triggers of an account share. */
  readonly connections: Connections;
}

export interface OpenTrigger {
  close(): Promise<void>;
}

export interface Adapter<T extends Trigger = Trigger> {
  readonly type: T['type'];
  /**
   * The account of ours at the platform that a trigger uses: a bot, a number, a host. Its limits, its order and its connection
   * are those of all triggers that use it. No secret; it stands in keys, logs and GET /triggers. Pure; for a type that has
   * connections or sends messages.
   */
  account?(trigger: T): string;
  /**
   * From here on events of this trigger are accepted. Rejects when it cannot be opened now; its supervisor tries again.
   * What several triggers share (a path, a connection) is the adapter's own affair.
   */
  open(trigger: T, host: SourceHost): Promise<OpenTrigger>;
  /**
   * The event of a run, for a type whose triggers somebody runs (`byHand` of the type). Throws ConflictError for a run that is
   * not allowed.
   */
  runByHand?(trigger: T, run: ManualInput, origin: ManualOrigin): NewEvent;
  /** How a stored event reads. Throws for one that no longer can be read: it is dead then. */
  read(event: StoredEvent): InboundEvent;
  /**
   * Whether filters of its own take the event: repositories, branches, events; or in words why not, where an operator would not
   * see it from the file. Asked when the event is handled, by the files as they are then; whoever accepts it asks none. Pure.
   * Without it, any event that was verified for the trigger.
   */
  takes?(trigger: T, event: InboundEvent): boolean | string;
  /**
   * The event with what filters of these triggers ask and only the platform knows, as the name of a channel, or `checks`; undefined
   * where it has all that they need. Rejects with a DeliveryError while that cannot be had: the event is tried again, and never taken unfiltered.
   */
  complete?(event: InboundEvent, triggers: readonly T[]): Promise<InboundEvent> | undefined;
  /** The filters that chats have in common (inbox/chat-filters.ts), for a type that has them. Asked for once per trigger. */
  filters?(trigger: T): Filters;
  /**
   * Its chat offers the built-in commands (handlers/built-in-commands.ts): an event whose first name is one of them, that is no
   * choice, and that no command of a trigger takes, is answered by them, with its `parameters` as the options. Calls of control (`isControlCall`)
   * come under `controlKey` of the conversation's key.
   */
  readonly hasBuiltIns?: boolean | undefined;
  /** How messages go out to its platform. Without it answers are only kept in the record. */
  readonly outbound?: Outbound<T> | undefined;
  /** What was found out about a trigger, for an operator: what waited at its platform, say. Pure. */
  remarks?(trigger: T): readonly Remark[];
  /** What the platform's menu holds of triggers, all of one account. Pure. For a platform that has a menu. */
  menu?(triggers: readonly T[]): readonly MenuCommand[];
  /** The same where no API sets it: what a person has to put where, as the platform wants it written. Pure. */
  menuByHand?(triggers: readonly T[]): MenuByHand;
  /** Whether its files have the commands of a trigger put there, everywhere or for a guild; where it is missing they always do. Pure. */
  isInMenu?(trigger: T, guild: string | undefined): boolean;
  /**
   * Puts the commands of triggers, all of one account, into the platform's menu, whatever stands there. Gives their names as
   * people type them. Rejects with what the platform says. For a platform that has a menu.
   */
  register?(triggers: readonly T[], options: RegisterOptions): Promise<readonly string[]>;
  /**
   * Removes what it keeps in the store for triggers that have been gone for `keepMs`; asked for every few minutes. Gives how
   * many rows. Rejects as the store does.
   */
  tidy?(store: Store, isThere: (trigger: string) => boolean, keepMs: number): Promise<number>;
}

/** Under which names its connection, its rows and its limits are known. */
export function accountOf<T extends Trigger>({ type, account }: Adapter<T>, trigger: T): ConnectedAccount {
  if (account === undefined) throw new Error(`triggers of type ${type} have no account`);
  return { platform: platformOf(type), account: account(trigger) };
}
