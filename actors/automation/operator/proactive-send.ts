// Has a message sent that answers nothing, because somebody has asked for it: rows of the outbox like those of an answer, and
// so in order with them, tried again, kept when dead.
//
// PRO1  what was told to be accepted leaves also after the process was killed: its rows are durable, all or none.
// PRO2  who asks again under one key is told the same, and nothing is sent a second time; another message under it is refused.
// PRO3  who was killed before anything was durable has told nobody: the next one under the key sends all parts that its message has
//       then, also when a reload between has made them others.

import { createHash, randomUUID } from 'node:crypto';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { ConflictError, InvalidQueryError, NotFoundError } from '../../base/errors/errors.ts';
import { UnrenderableError } from '../../events/outbox/delivery-error.ts';
import type { Outbound } from '../../events/outbox/outbound.ts';
import type { OutboundMessage, OutboundTarget } from '../../events/outbox/outbound-message.ts';
import { outboxRows } from '../../events/outbox/outbox-rows.ts';
import { type Principal, principalText } from '../../identity/principal.ts';
import { type Adapter, accountOf } from '../../platforms/adapter.ts';
import type { NewEvent } from '../../store/event.ts';
import type { Store } from '../../store/store.ts';
import type { ProactiveMessage } from './proactive-message.ts';

export interface ProactiveOrigin {
  readonly trace: string;
  readonly principal: Principal;
  /** Tells a repetition; undefined: there is none. */
  readonly idempotencyKey?: string | undefined;
}

export interface ProactiveHost {
  readonly store: Pick<Store, 'put' | 'get' | 'delivery'>;
  /** How long a key is known. */
  readonly keepMs: number;
  /** Makes messages durable, all or none. */
  post(rows: readonly NewEvent[]): Promise<unknown>;
}

/** Under a key of the sender's. */
interface Sent {
  /** Digest of what was asked for. */
  readonly asked: string;
  readonly deliveries: readonly string[];
}

const SPACE = 'proactive-sends';

/** Gives the ids of its deliveries. Throws ConflictError, NotFoundError, InvalidQueryError; rejects as the store does. */
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
  if (!trigger.enabled) throw new ConflictError(`${name} is switched off (spec.enabled)`);
  const keys =
    idempotencyKey === undefined ? undefined : new SentUnderKey(host, name, idempotencyKey, message);
  const before = await keys?.known();
  if (before !== undefined) return before;
  const target = await outbound.destination(trigger, message.conversation);
  if (target === undefined)
    throw new NotFoundError(
      `${name} knows no way to the conversation ${JSON.stringify(message.conversation.slice(0, 200))}; it is written as agents are told it, and of the same account as the trigger; some platforms can be reached only where something was said before`,
    );
  const rows = rowsOf(outbound, adapter, trigger, message, target, {
    eventId: `send:${name}/${idempotencyKey ?? randomUUID()}`,
    trace,
    principal: principalText(principal),
  });
  if (rows.length === 0) throw new InvalidQueryError('nothing of it can be shown there');
  const deliveries = rows.map(({ id }) => id);
  const told = (await keys?.keep(deliveries)) ?? deliveries;
  await host.post(rows.filter(({ id }) => told.includes(id)));
  return told;
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

/** What was sent under one key of a trigger. */
class SentUnderKey {
  readonly #host: ProactiveHost;
  readonly #key: string;
  readonly #asked: string;

  constructor(host: ProactiveHost, trigger: string, key: string, message: ProactiveMessage) {
    if (!/^[\x20-\x7e]{1,255}$/.test(key))
      throw new InvalidQueryError('Idempotency-Key should be 1 to 255 printable characters');
    this.#host = host;
    this.#key = `${trigger}/${key}`;
    const { conversation, text, card } = message;
    this.#asked = createHash('sha256')
      .update(JSON.stringify([conversation, text, card]))
      .digest('hex');
  }

  /** The deliveries of a request before this one; undefined where there was none, or it has kept nothing. */
  async known(): Promise<readonly string[] | undefined> {
    const deliveries = await this.#read();
    return deliveries !== undefined && (await this.#areThere(deliveries)) ? deliveries : undefined;
  }

  /** Gives those that another has kept meanwhile. */
  async keep(deliveries: readonly string[]): Promise<readonly string[] | undefined> {
    const { store, keepMs } = this.#host;
    const sent: Sent = { asked: this.#asked, deliveries };
    const value = JSON.stringify(sent);
    if (await store.put(SPACE, this.#key, value, { ttlMs: keepMs, ifAbsent: true })) return undefined;
    const others = await this.#read();
    if (others === undefined || (await this.#areThere(others))) return others;
    await store.put(SPACE, this.#key, value, { ttlMs: keepMs });
    return undefined;
  }

  /** They came together. */
  async #areThere([first = '']: readonly string[]): Promise<boolean> {
    return (await this.#host.store.delivery(first)) !== undefined;
  }

  async #read(): Promise<readonly string[] | undefined> {
    const value = (await this.#host.store.get(SPACE, this.#key))?.value;
    if (value === undefined) return undefined;
    const { asked, deliveries } = JSON.parse(value) as Sent;
    if (asked === this.#asked) return deliveries;
    throw new ConflictError('another message was sent under this Idempotency-Key; give each its own');
  }
}
