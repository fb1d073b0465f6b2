// Whether a message of an earlier attempt stands there already: it is looked for by the digest of its row, which is among the metadata
// of each message of ours.
//
// WSP1  it is looked for only where nobody may know what became of that attempt; a refusal, or that it was too soon, says that
//       nothing was written.
// WSP2  where the app may not read the channel, or the platform refuses to be asked again and again, the message is written again, and
//       its record says that it may stand there twice. A try goes on where the one before had to end.

import { createHash } from 'node:crypto';
import { forgetOldest } from '../../base/bounds/forget-oldest.ts';
import type { Receipt, SendContext } from '../../events/outbox/outbound.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import type { WorkspaceApi } from './api.ts';
import { deliveryErrorOf } from './errors.ts';

const EVENT = 'actor_gateway_message';
/** The clock of the platform and ours may differ by so much. */
const CLOCK_SKEW_MS = 600_000;
const PAGE = 200;
const MAX_PAGES = 5;
const MAX_ROWS = 1_000;
/** Of some apps the platform takes one such question a minute. */
const MAX_REFUSALS = 5;

/** For `chat.postMessage`. */
export function rowMetadata(rowId: string): object {
  return { event_type: EVENT, event_payload: { row: digestOf(rowId) } };
}

interface Place {
  readonly channel: string;
  readonly thread_ts?: string | undefined;
}

/** Where the last try to find a row has ended, since the platform took no more. */
interface Begun {
  readonly cursor: string | undefined;
  /** Pages before it. */
  readonly count: number;
  readonly refusals: number;
}

const NOT_BEGUN: Begun = { cursor: undefined, count: 0, refusals: 0 };

export class PostedBefore {
  readonly #begun = new Map<string, Begun>();
  /** Of rows that are not written yet. */
  readonly #doubts = new Map<string, string>();

  /** Undefined where it is not found, or nobody can say. Rejects with a DeliveryError where it cannot be asked for now. */
  async find(api: WorkspaceApi, place: Place, context: SendContext): Promise<Receipt | undefined> {
    const { rowId } = context;
    const begun = this.#begun.get(rowId) ?? NOT_BEGUN;
    this.#begun.delete(rowId);
    let { cursor, count } = begun;
    for (; count < MAX_PAGES; count += 1) {
      let page: unknown;
      try {
        page = await pageOf(api, place, context, cursor);
      } catch (error) {
        const fault = deliveryErrorOf(error, `what was written to ${place.channel}`);
        const refusals = begun.refusals + (fault.isTooSoon ? 1 : 0);
        if (fault.isFinal || refusals > MAX_REFUSALS) return this.#doubted(rowId, fault.message);
        remember(this.#begun, rowId, { cursor, count, refusals });
        // Still nobody knows.
        throw fault.with({ isOutcomeUnknown: true });
      }
      const messages = memberOf(page, 'messages');
      const all: readonly unknown[] = Array.isArray(messages) ? messages : [];
      const row = digestOf(rowId);
      const found = all.find((each) => textMember(each, 'metadata.event_payload.row') === row);
      if (found !== undefined) return { id: textMember(found, 'ts') ?? '' };
      cursor = textMember(page, 'response_metadata.next_cursor') || undefined;
      if (cursor === undefined) return undefined;
    }
    return this.#doubted(rowId, 'too much was written there since');
  }

  /** Asked for when it is written: that may have been too soon before. */
  takeDoubt(rowId: string): string | undefined {
    const doubt = this.#doubts.get(rowId);
    this.#doubts.delete(rowId);
    return doubt;
  }

  #doubted(rowId: string, why: string): undefined {
    const doubt = `it may stand there twice: whether an earlier attempt had arrived could not be found out (${why})`;
    remember(this.#doubts, rowId, doubt);
  }
}

function remember<Value>(all: Map<string, Value>, rowId: string, value: Value): void {
  all.set(rowId, value);
  forgetOldest(all, MAX_ROWS);
}

function pageOf(
  api: WorkspaceApi,
  { channel, thread_ts }: Place,
  { madeAt, signal }: SendContext,
  cursor: string | undefined,
): Promise<unknown> {
  const parameters = {
    channel,
    ts: thread_ts,
    oldest: ((madeAt - CLOCK_SKEW_MS) / 1000).toFixed(6),
    limit: PAGE,
    include_all_metadata: true,
    cursor,
  };
  return api.call(thread_ts === undefined ? 'conversations.history' : 'conversations.replies', parameters, {
    signal,
  });
}

function digestOf(rowId: string): string {
  return createHash('sha256').update(rowId).digest('hex').slice(0, 32);
}
