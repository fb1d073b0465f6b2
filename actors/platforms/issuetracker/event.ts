// Converts requests of the tracker into events to store, and stored events into inbound events. The body is
// stored unchanged, because the signature covers it.

import type { IssueTrackerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { type Principal, principalText } from '../../identity/principal.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { jsonObjectIn } from '../payloads/json-object.ts';
import { isLargeJson, membersAt, type Spans, spansOf, textOfJson } from '../payloads/large-json.ts';
import { storedPayload } from '../payloads/payload-member.ts';
import {
  COMMENT_CREATED,
  ISSUE_UPDATED,
  type TrackerFacts,
  trackerFacts,
  trackerOf,
  trackerPaths,
} from './facts.ts';

interface TrackerMeta {
  readonly triggers: readonly string[];
  /** Account of the event's triggers; undefined if they have several. */
  readonly account?: string | undefined;
  /** Event name from the webhook's URL (`?event=`), for bodies that lack it. */
  readonly named?: string | undefined;
  readonly principal: string;
  /** Positions of the members that are read, in a large payload. */
  readonly spans?: Spans | undefined;
}

/** A parsed request. */
export interface ParsedTrackerRequest {
  /** Issue, sender and text of the event. */
  readonly facts: TrackerFacts;
  /** Host and port of the tracker, if the payload contains an address. */
  readonly tracker: string | undefined;
  /** Event name from the webhook's URL. */
  readonly nameInUrl: string | undefined;
  /** See `TrackerMeta`. */
  readonly spans: Spans | undefined;
  readonly payload: unknown;
}

/**
 * Parses a request. Returns `ignored` for unhandled events; undefined if the body is not an event of the
 * tracker. Rejects with an OverloadedError at the limit of large payloads in progress.
 */
export async function parseTrackerRequest(
  body: Buffer,
  nameInUrl: string | undefined,
): Promise<ParsedTrackerRequest | 'ignored' | undefined> {
  const isLarge = isLargeJson(body);
  const spans = isLarge ? await spansOf(body, trackerPaths) : undefined;
  if (isLarge && spans === undefined) return undefined;
  const payload = spans === undefined ? jsonObjectIn(body) : membersAt(body, spans);
  if (payload === undefined) return undefined;
  const facts = trackerFacts(payload, nameInUrl);
  if (facts === undefined || facts === 'ignored') return facts;
  return { facts, tracker: trackerOf(payload), nameInUrl, spans, payload };
}

/**
 * Returns the account: the tracker's address, with `:` instead of `/`, which separates the parts of a
 * conversation name.
 */
export function trackerAccount({ config }: IssueTrackerTrigger): string {
  const { host, pathname } = new URL(config.base_url);
  return host + pathname.replace(/\/+$/, '').replaceAll('/', ':');
}

/** Data of a webhook request that is not in its body. */
export interface TrackerDelivery {
  readonly id: string;
  /** Names of the triggers that may accept the event. */
  readonly triggers: readonly string[];
  /** Accounts of these triggers. The first one is part of the conversation key. */
  readonly accounts: readonly [string, ...string[]];
  readonly principal: Principal;
  readonly trace: string;
}

export function trackerEvent(
  { id, triggers, accounts, principal, trace }: TrackerDelivery,
  { facts, nameInUrl, spans, payload }: ParsedTrackerRequest,
  body: Buffer,
): NewEvent {
  const [account, ...others] = accounts;
  const meta: TrackerMeta = {
    triggers,
    account: others.every((other) => other === account) ? account : undefined,
    named: nameInUrl,
    principal: principalText(principal),
    spans,
  };
  return {
    id,
    key: `conversation/issuetracker/${account}/${subjectOf(facts)}`,
    meta: JSON.stringify(meta),
    body,
    trace,
    parsed: payload,
  };
}

/** Parses a stored event. Throws if the payload does not match. */
export function readTrackerEvent(stored: StoredEvent): InboundEvent {
  const { triggers, account, named, spans } = JSON.parse(stored.meta) as TrackerMeta;
  const payload = spans === undefined ? storedPayload(stored) : membersAt(stored.body, spans);
  const facts = trackerFacts(payload, named);
  if (facts === undefined || facts === 'ignored') throw new Error('the payload is not a tracker event');
  const { event, issue, sender, text, newComment, context } = facts;
  return {
    platform: 'issuetracker',
    account,
    triggers,
    // The store keeps only the first event for a comment, so the event has both names.
    names: newComment === undefined ? [event] : [COMMENT_CREATED, ISSUE_UPDATED],
    text,
    channel: issue?.project,
    user: sender.id,
    userAliases: sender.name === undefined ? undefined : [sender.name],
    senderName: sender.name,
    channelName: issue?.key,
    context,
    payload,
    payloadJson: spans === undefined ? undefined : textOfJson(stored.body),
    parameters: {},
  };
}

/** Returns the subject of the conversation: `TES-41`, or `sprint/42`. */
function subjectOf({ issue, sprint }: TrackerFacts): string {
  return issue?.key ?? `sprint/${sprint}`;
}
