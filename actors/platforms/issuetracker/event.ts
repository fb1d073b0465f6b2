// The event that a request of an issue tracker becomes, and how that event reads later. The body is kept as it came, since the
// signature was over that.

import type { IssueTrackerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { type Principal, principalText } from '../../identity/principal.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { jsonObjectIn } from '../payloads/json-object.ts';
import { isLargeJson, membersAt, type Spans, spansOf, textOfJson } from '../payloads/large-json.ts';
import { storedPayload } from '../payloads/payload-member.ts';
import { type TrackerFacts, trackerFacts, trackerOf, trackerPaths } from './facts.ts';

interface TrackerMeta {
  readonly triggers: readonly string[];
  /** Undefined where triggers of several may take it. */
  readonly account?: string | undefined;
  /** The event that the address names, for a body that names none. */
  readonly named?: string | undefined;
  readonly principal: string;
  /** Of a large payload: where the members stand that are asked for. */
  readonly spans?: Spans | undefined;
}

/** What a request says, as it is known when it comes. */
export interface TrackerSaid {
  readonly facts: TrackerFacts;
  /** Host and port of the tracker whose event it is, as far as it says so. */
  readonly tracker: string | undefined;
  readonly named: string | undefined;
  readonly spans: Spans | undefined;
  readonly payload: unknown;
}

/**
 * `ignored` for an event of nothing that is handled here, undefined for what is no event of a tracker. Rejects with
 * OverloadedError when too much is being read.
 */
export async function trackerSaid(
  body: Buffer,
  named: string | undefined,
): Promise<TrackerSaid | 'ignored' | undefined> {
  const isLarge = isLargeJson(body);
  const spans = isLarge ? await spansOf(body, trackerPaths) : undefined;
  if (isLarge && spans === undefined) return undefined;
  const payload = spans === undefined ? jsonObjectIn(body) : membersAt(body, spans);
  if (payload === undefined) return undefined;
  const facts = trackerFacts(payload, named);
  if (facts === undefined || facts === 'ignored') return facts;
  return { facts, tracker: trackerOf(payload), named, spans, payload };
}

/** The account of ours at the tracker: its address, in which no slash stands, so that a conversation's name has its parts. */
export function trackerAccount({ config }: IssueTrackerTrigger): string {
  const { host, pathname } = new URL(config.base_url);
  return host + pathname.replace(/\/+$/, '').replaceAll('/', ':');
}

export interface TrackerArrival {
  readonly id: string;
  /** Those that may take it. */
  readonly triggers: readonly string[];
  /** Of them; the first has the conversation's name. */
  readonly accounts: readonly [string, ...string[]];
  readonly principal: Principal;
  readonly trace: string;
}

export function trackerEvent(
  { id, triggers, accounts, principal, trace }: TrackerArrival,
  { facts, named, spans, payload }: TrackerSaid,
  body: Buffer,
): NewEvent {
  const [account, ...others] = accounts;
  const meta: TrackerMeta = {
    triggers,
    account: others.every((other) => other === account) ? account : undefined,
    named,
    principal: principalText(principal),
    spans,
  };
  return {
    id,
    key: `conversation/issuetracker/${account}/${placeOf(facts)}`,
    meta: JSON.stringify(meta),
    body,
    trace,
    parsed: payload,
  };
}

/** Throws for an event that is none of these. */
export function readTrackerEvent(stored: StoredEvent): InboundEvent {
  const { triggers, account, named, spans } = JSON.parse(stored.meta) as TrackerMeta;
  const payload = spans === undefined ? storedPayload(stored) : membersAt(stored.body, spans);
  const facts = trackerFacts(payload, named);
  if (facts === undefined || facts === 'ignored') throw new Error('the payload is no event of a tracker');
  const { event, issue, sender, text, context } = facts;
  return {
    platform: 'issuetracker',
    account,
    triggers,
    names: [event],
    text,
    channel: issue?.project,
    user: sender.id,
    userAliases: sender.name === undefined ? undefined : [sender.name],
    context,
    payload,
    payloadJson: spans === undefined ? undefined : textOfJson(stored.body),
    parameters: {},
  };
}

/** What the conversation is about: `TES-41`; a sprint has one of its own, `sprint/42`. */
function placeOf({ issue, sprint }: TrackerFacts): string {
  return issue?.key ?? `sprint/${sprint}`;
}
