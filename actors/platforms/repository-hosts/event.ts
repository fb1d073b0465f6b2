// The event that a delivery of a repository host becomes, and how that event reads later. The body is kept as it came, since the
// signature was over that: JSON, or a form with JSON in it.

import type { InboundEvent } from '../../events/inbound-event.ts';
import { type Principal, principalText } from '../../identity/principal.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { isLargeJson, membersAt, type Spans, spansOf, textOfJson } from '../payloads/large-json.ts';
import type { WebhookRequest } from '../webhooks/webhook.ts';
import { placeOf, type RepoEvents, type RepoFacts, repoContext, spokenIn } from './facts.ts';

interface RepoMeta {
  readonly triggers: readonly string[];
  readonly event: string;
  readonly isForm: boolean;
  readonly principal: string;
  /** Of a large payload: where the members stand that are asked for. */
  readonly spans?: Spans | undefined;
}

/** Whether the body is a form, by its content type. */
function isForm({ headers }: WebhookRequest): boolean {
  return /^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '');
}

/** What a delivery says, as it is known when it comes. */
export interface RepoSaid {
  readonly facts: RepoFacts;
  readonly spans: Spans | undefined;
}

/**
 * Undefined for what is no payload of that event; `for nobody` as `RepoEvents` has it. Rejects with OverloadedError when too much
 * is being read.
 */
export async function repoSaid(
  events: RepoEvents,
  event: string,
  request: WebhookRequest,
  body: Buffer,
): Promise<RepoSaid | 'for nobody' | undefined> {
  const bytes = payloadBytes(body, isForm(request));
  const isLarge = isLargeJson(bytes);
  const spans = isLarge ? await spansOf(bytes, events.paths(event)) : undefined;
  if (isLarge && spans === undefined) return undefined;
  try {
    const facts = factsIn(events, event, bytes, spans);
    return typeof facts === 'object' ? { facts, spans } : facts;
  } catch {
    return undefined;
  }
}

/** Throws for what is no JSON. */
function factsIn(
  events: RepoEvents,
  event: string,
  bytes: Buffer,
  spans: Spans | undefined,
): ReturnType<RepoEvents['facts']> {
  return events.facts(
    event,
    spans === undefined ? JSON.parse(bytes.toString('utf8')) : membersAt(bytes, spans),
  );
}

/** The JSON of a body, which may be a form with the JSON in it. */
function payloadBytes(body: Uint8Array, isInForm: boolean): Buffer {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (!isInForm) return bytes;
  return Buffer.from(new URLSearchParams(bytes.toString('utf8')).get('payload') ?? '');
}

/**
 * The id of an event: `delivery` is the host's, which a redelivery keeps, and which all hooks that send the event share. So
 * `verifiedFor` is before it, the first by name of the triggers it was verified for: one team must not silence another.
 */
export function repoEventId({ platform }: RepoEvents, verifiedFor: string, delivery: string): string {
  return `${platform}:${verifiedFor}/${delivery}`;
}

/** `triggers` are those that may take it. */
export function repoEvent(
  { platform }: RepoEvents,
  triggers: readonly string[],
  request: WebhookRequest,
  {
    id,
    event,
    principal,
    facts,
    spans,
  }: RepoSaid & { readonly id: string; readonly event: string; readonly principal: Principal },
  body: Buffer,
): NewEvent {
  const meta: RepoMeta = {
    triggers,
    event,
    isForm: isForm(request),
    principal: principalText(principal),
    spans,
  };
  return {
    id,
    key: `conversation/${platform}/${placeOf(facts)}`,
    meta: JSON.stringify(meta),
    body,
    trace: request.traceparent,
    parsed: new Parsed(facts),
  };
}

/** What is known of an event that has just come, told from what a store may have kept under that name. */
class Parsed {
  readonly facts: RepoFacts;

  constructor(facts: RepoFacts) {
    this.facts = facts;
  }
}

/** Throws for an event that is none of these. */
export function readRepoEvent(events: RepoEvents, stored: StoredEvent): InboundEvent {
  const { triggers, event, isForm: isInForm, spans } = JSON.parse(stored.meta) as RepoMeta;
  const { parsed } = stored;
  // Of what is known the JSON is needed where it goes on as it came.
  const isNeeded = spans !== undefined || !(parsed instanceof Parsed);
  const bytes = payloadBytes(stored.body, isInForm && isNeeded);
  const facts = parsed instanceof Parsed ? parsed.facts : factsIn(events, event, bytes, spans);
  if (typeof facts !== 'object')
    throw new Error(`the payload is not that of an event ${event} of a repository`);
  const { names, repository, sender, text, payload } = facts;
  return {
    platform: events.platform,
    triggers,
    names,
    spoken: spokenIn(facts),
    facts,
    text,
    channel: repository,
    user: sender,
    context: repoContext(facts),
    payload,
    payloadJson: spans === undefined ? undefined : textOfJson(bytes),
    parameters: {},
  };
}

/** Of an event that `readRepoEvent` has read. */
export function factsOf(inbound: InboundEvent): RepoFacts {
  return inbound.facts as RepoFacts;
}
