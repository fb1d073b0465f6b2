// Finds the message that an earlier attempt may have posted. Posted messages contain a digest of their outbox
// row (the stored message) in the metadata.
//
// A search is needed only after an unknown outcome; after a refusal or a rate limit nothing was posted. If
// the channel is unreadable, or the search is rate limited too often, the message is posted again, and its
// record mentions the possible duplicate. When rate limited, the next search continues with the same page.

import { createHash } from 'node:crypto';
import { deleteOldest } from '../../base/bounds/delete-oldest.ts';
import type { SendContext, SendReceipt } from '../../events/outbox/outbound.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import type { WorkspaceApi } from './api.ts';
import { deliveryErrorOf } from './errors.ts';

const EVENT = 'actor_gateway_message';
/** Maximum difference between the clocks of the platform and the gateway. */
const CLOCK_SKEW_MS = 600_000;
const PAGE = 200;
const MAX_PAGES = 5;
const MAX_ROWS = 1_000;
/**
 * Maximum number of rate-limited searches per row. The platform allows some apps only one search a minute.
 */
const MAX_RATE_LIMITED = 5;

/** Returns the `metadata` of `chat.postMessage`. */
export function rowMetadata(rowId: string): object {
  return { event_type: EVENT, event_payload: { row: digestOf(rowId) } };
}

interface SearchTarget {
  readonly channel: string;
  readonly thread_ts?: string | undefined;
}

/** Progress in a rate-limited search. */
interface SearchProgress {
  readonly cursor: string | undefined;
  /** Number of pages already searched. */
  readonly count: number;
  /** Number of rate-limited searches. */
  readonly rateLimited: number;
}

const NO_PROGRESS: SearchProgress = { cursor: undefined, count: 0, rateLimited: 0 };

export class MessageSearch {
  readonly #progress = new Map<string, SearchProgress>();
  /** Notes for rows that are not posted yet. */
  readonly #notes = new Map<string, string>();

  /**
   * Returns the receipt of the posted message; undefined if not found or not searchable.
   * Rejects with a DeliveryError if the search should be retried.
   */
  async find(
    api: WorkspaceApi,
    destination: SearchTarget,
    context: SendContext,
  ): Promise<SendReceipt | undefined> {
    const { rowId } = context;
    const progress = this.#progress.get(rowId) ?? NO_PROGRESS;
    this.#progress.delete(rowId);
    let { cursor, count } = progress;
    for (; count < MAX_PAGES; count += 1) {
      let page: unknown;
      try {
        page = await pageOf(api, destination, context, cursor);
      } catch (error) {
        const fault = deliveryErrorOf(error, `a search in ${destination.channel}`);
        const rateLimited = progress.rateLimited + (fault.isRateLimited ? 1 : 0);
        if (fault.isFinal || rateLimited > MAX_RATE_LIMITED) return this.#addNote(rowId, fault.message);
        remember(this.#progress, rowId, { cursor, count, rateLimited });
        // The earlier attempt's outcome is still unknown.
        throw fault.with({ isOutcomeUnknown: true });
      }
      const messages = memberOf(page, 'messages');
      const all: readonly unknown[] = Array.isArray(messages) ? messages : [];
      const row = digestOf(rowId);
      const match = all.find((each) => textMember(each, 'metadata.event_payload.row') === row);
      if (match !== undefined) return { id: textMember(match, 'ts') ?? '' };
      cursor = textMember(page, 'response_metadata.next_cursor') || undefined;
      if (cursor === undefined) return undefined;
    }
    return this.#addNote(rowId, 'too many messages since then');
  }

  /** Returns and removes the row's note. Called after the post, which may need several attempts. */
  takeNote(rowId: string): string | undefined {
    const note = this.#notes.get(rowId);
    this.#notes.delete(rowId);
    return note;
  }

  #addNote(rowId: string, why: string): undefined {
    const note = `possible duplicate: could not check whether an earlier attempt was posted (${why})`;
    remember(this.#notes, rowId, note);
  }
}

function remember<Value>(all: Map<string, Value>, rowId: string, value: Value): void {
  all.set(rowId, value);
  deleteOldest(all, MAX_ROWS);
}

function pageOf(
  api: WorkspaceApi,
  { channel, thread_ts }: SearchTarget,
  { createdAt, signal }: SendContext,
  cursor: string | undefined,
): Promise<unknown> {
  const parameters = {
    channel,
    ts: thread_ts,
    oldest: ((createdAt - CLOCK_SKEW_MS) / 1000).toFixed(6),
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
