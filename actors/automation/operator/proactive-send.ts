// Sends a message that is not a reply. Like replies, its outbox rows are sent in order and retried, and
// remain in the store when dead. All rows for a message are durable together, so an accepted message survives
// a crash. A repeated request with the same key returns the same deliveries and sends nothing; a different
// message with that key is rejected. If the process was killed before the rows were durable, the next request
// with the key sends the message.

import { createHash, randomUUID } from 'node:crypto';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { ConflictError, InvalidQueryError, NotFoundError } from '../../base/errors/errors.ts';
import { UnrenderableError } from '../../events/outbox/delivery-error.ts';
import type { OutboundMessage, OutboundTarget } from '../../events/outbox/message.ts';
import type { Outbound } from '../../events/outbox/outbound.ts';
import { outboxRows } from '../../events/outbox/rows.ts';
import { type Principal, principalText } from '../../identity/principal.ts';
import { type Adapter, accountOf } from '../../platforms/adapter.ts';
import type { NewEvent } from '../../store/event.ts';
import type { Store } from '../../store/store.ts';
import type { ProactiveMessage } from './proactive-message.ts';

export interface ProactiveOrigin {
  readonly trace: string;
  readonly principal: Principal;
  /** Identifies repetitions; undefined: no deduplication. */
  readonly idempotencyKey?: string | undefined;
}

export interface ProactiveHost {
  readonly store: Pick<Store, 'put' | 'get' | 'delivery'>;
  /** Time for which an `Idempotency-Key` is stored, in milliseconds. */
  readonly keepMs: number;
  /** Stores messages, all or none. */
  post(rows: readonly NewEvent[]): Promise<unknown>;
}

/** Stored request result, under its `Idempotency-Key`. */
interface Sent {
  /** Digest of the message. */
  readonly asked: string;
  readonly deliveries: readonly string[];
}

/** Key space of the results in the store. */
const SPACE = 'proactive-sends';

/**
 * Returns the ids of the deliveries. Throws ConflictError, NotFoundError, InvalidQueryError; rejects with the
 * store's error.
 */
export async function sendProactively(
  host: ProactiveHost,
  adapter: Adapter,
  trigger: Trigger,
  message: ProactiveMessage,
  { trace, principal, idempotencyKey }: ProactiveOrigin,
): Promise<readonly string[]> {
  const { name } = trigger;
  const { outbound } = adapter;
  if (outbound?.destination === undefined)
    throw new ConflictError(`${name} is of type ${trigger.type}, which sends no messages of its own`);
  if (!trigger.enabled) throw new ConflictError(`${name} is disabled (spec.enabled)`);
  const keys =
    idempotencyKey === undefined ? undefined : new KeyedDeliveries(host, name, idempotencyKey, message);
  const earlierDeliveries = await keys?.earlier();
  if (earlierDeliveries !== undefined) return earlierDeliveries;
  const target = await outbound.destination(trigger, message.conversation);
  if (target === undefined)
    throw new NotFoundError(
      `${name} cannot reach the conversation ${JSON.stringify(message.conversation.slice(0, 200))}; use the conversation name that agents receive, from the trigger's account; some platforms allow messages only in conversations with earlier messages`,
    );
  const rows = rowsOf(outbound, adapter, trigger, message, target, {
    eventId: `send:${name}/${idempotencyKey ?? randomUUID()}`,
    trace,
    principal: principalText(principal),
  });
  if (rows.length === 0) throw new InvalidQueryError('the platform cannot show any part of the message');
  const deliveries = rows.map(({ id }) => id);
  const accepted = (await keys?.storeOnce(deliveries)) ?? deliveries;
  await host.post(rows.filter(({ id }) => accepted.includes(id)));
  return accepted;
}

function rowsOf(
  outbound: Outbound,
  adapter: Adapter,
  trigger: Trigger,
  { text, card }: ProactiveMessage,
  target: OutboundTarget,
  origin: Parameters<typeof outboxRows>[4],
): readonly NewEvent[] {
  const message: OutboundMessage = {
    target,
    action: { do: 'post' },
    text,
    card,
    mentions: trigger.mentions,
  };
  try {
    return outboxRows(outbound, accountOf(adapter, trigger), trigger, message, origin);
  } catch (error) {
    if (error instanceof UnrenderableError) throw new InvalidQueryError(error.message);
    throw error;
  }
}

/** Deliveries sent under one key. */
class KeyedDeliveries {
  readonly #host: ProactiveHost;
  readonly #key: string;
  readonly #digest: string;

  constructor(host: ProactiveHost, trigger: string, key: string, message: ProactiveMessage) {
    if (!/^[\x20-\x7e]{1,255}$/.test(key))
      throw new InvalidQueryError('Idempotency-Key should be 1 to 255 printable characters');
    this.#host = host;
    this.#key = `${trigger}/${key}`;
    const { conversation, text, card } = message;
    this.#digest = createHash('sha256')
      .update(JSON.stringify([conversation, text, card]))
      .digest('hex');
  }

  /** Returns the deliveries of an earlier request with the key, if any. */
  async earlier(): Promise<readonly string[] | undefined> {
    const deliveries = await this.#read();
    return deliveries !== undefined && (await this.#exist(deliveries)) ? deliveries : undefined;
  }

  /** Stores the deliveries. If a concurrent request has stored its deliveries first, returns these. */
  async storeOnce(deliveries: readonly string[]): Promise<readonly string[] | undefined> {
    const { store, keepMs } = this.#host;
    const sent: Sent = { asked: this.#digest, deliveries };
    const value = JSON.stringify(sent);
    if (await store.put(SPACE, this.#key, value, { ttlMs: keepMs, ifAbsent: true })) return undefined;
    const others = await this.#read();
    if (others === undefined || (await this.#exist(others))) return others;
    await store.put(SPACE, this.#key, value, { ttlMs: keepMs });
    return undefined;
  }

  /** The deliveries were stored together, so the first one is sufficient. */
  async #exist([first = '']: readonly string[]): Promise<boolean> {
    return (await this.#host.store.delivery(first)) !== undefined;
  }

  async #read(): Promise<readonly string[] | undefined> {
    const value = (await this.#host.store.get(SPACE, this.#key))?.value;
    if (value === undefined) return undefined;
    const { asked, deliveries } = JSON.parse(value) as Sent;
    if (asked === this.#digest) return deliveries;
    throw new ConflictError('this Idempotency-Key was used for a different message; use a new key');
  }
}
