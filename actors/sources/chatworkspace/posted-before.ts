// Whether a message of an earlier attempt stands there already: it is looked for by the digest of its row, which is among the metadata
// of each message of ours.
//
// WSP1  it is looked for only where nobody may know what became of that attempt; a refusal, or that it was too soon, says that
//       nothing was written.
// WSP2  where the app may not read the channel the message is written again, and may stand there twice.

import { createHash } from 'node:crypto';
import { DeliveryError } from '../../outbound/delivery-error.ts';
import type { Receipt, SendContext } from '../../outbound/outbound.ts';
import { memberOf, textMember } from '../payload-member.ts';
import type { WorkspaceApi } from './chatworkspace-api.ts';
import { deliveryErrorOf } from './chatworkspace-errors.ts';

const EVENT = 'actor_gateway_message';
/** The clock of the platform and ours may differ by so much. */
const CLOCK_SKEW_MS = 600_000;
const PAGE = 200;
const MAX_PAGES = 5;
const MAX_UNSENT = 1_000;

/** For `chat.postMessage`. */
export function rowMetadata(rowId: string): object {
  return { event_type: EVENT, event_payload: { row: digestOf(rowId) } };
}

interface Place {
  readonly channel: string;
  readonly thread_ts?: string | undefined;
}

/** Rejects with a DeliveryError where it cannot be asked for now. */
export async function postedBefore(
  api: WorkspaceApi,
  { channel, thread_ts }: Place,
  { rowId, madeAt, signal }: SendContext,
): Promise<Receipt | undefined> {
  const method = thread_ts === undefined ? 'conversations.history' : 'conversations.replies';
  const row = digestOf(rowId);
  let cursor: string | undefined;
  for (let count = 0; count < MAX_PAGES; count += 1) {
    const parameters = {
      channel,
      ts: thread_ts,
      oldest: ((madeAt - CLOCK_SKEW_MS) / 1000).toFixed(6),
      limit: PAGE,
      include_all_metadata: true,
      cursor,
    };
    let page: unknown;
    try {
      page = await api.call(method, parameters, { signal });
    } catch (error) {
      const fault = deliveryErrorOf(error, `what was written to ${channel}`);
      if (fault.isFinal) return undefined;
      const { message, platformCode, isTooSoon, retryAfterMs, isPlatformDown } = fault;
      // Still nobody knows.
      throw new DeliveryError(message, {
        platformCode,
        isTooSoon,
        retryAfterMs,
        isPlatformDown,
        isOutcomeUnknown: true,
        cause: error,
      });
    }
    const messages = memberOf(page, 'messages');
    const all: readonly unknown[] = Array.isArray(messages) ? messages : [];
    const found = all.find((each) => textMember(each, 'metadata.event_payload.row') === row);
    if (found !== undefined) return { id: textMember(found, 'ts') ?? '' };
    cursor = textMember(page, 'response_metadata.next_cursor') || undefined;
    if (cursor === undefined) return undefined;
  }
  return undefined;
}

/** Rows of which it is known that nothing was written; of one that is forgotten it is asked for. */
export class UnsentRows {
  readonly #rows = new Set<string>();

  /** `isInDoubt`: an attempt before may have written it. */
  async heed(
    { rowId, wasTried }: SendContext,
    send: (isInDoubt: boolean) => Promise<Receipt>,
  ): Promise<Receipt> {
    const isInDoubt = wasTried && !this.#rows.has(rowId);
    this.#rows.delete(rowId);
    try {
      return await send(isInDoubt);
    } catch (error) {
      if (error instanceof DeliveryError && !error.isOutcomeUnknown && !(isInDoubt && error.isUnasked))
        this.#remember(rowId);
      throw error;
    }
  }

  #remember(rowId: string): void {
    for (const oldest of this.#rows) {
      if (this.#rows.size < MAX_UNSENT) break;
      this.#rows.delete(oldest);
    }
    this.#rows.add(rowId);
  }
}

function digestOf(rowId: string): string {
  return createHash('sha256').update(rowId).digest('hex').slice(0, 32);
}
