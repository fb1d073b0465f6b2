// Converts deliveries of repository hosts into events to store, and stored events into inbound events. The
// body is stored unchanged, because the signature covers it: JSON, or a form that contains JSON.

import { parseJson } from '../../../config/reader/json-text.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { type Principal, principalText } from '../../identity/principal.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { isLargeJson, membersAt, type Spans, spansOf, textOfJson } from '../payloads/large-json.ts';
import type { WebhookRequest } from '../webhooks/webhook.ts';
import { commandIn, conversationOf, type RepoEvents, type RepoFacts, repoContext } from './facts.ts';

interface RepoMeta {
  readonly triggers: readonly string[];
  readonly event: string;
  readonly isForm: boolean;
  readonly principal: string;
  /** Positions of the members that the gateway reads; only for large payloads. */
  readonly spans?: Spans | undefined;
}

/** Returns true for a form, by content type. */
function isForm({ headers }: WebhookRequest): boolean {
  return /^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '');
}

/** Payload facts; `spans` is set only for large payloads. */
export interface ParsedPayload {
  readonly facts: RepoFacts;
  readonly spans: Spans | undefined;
}

/**
 * Parses the payload. Returns undefined if it does not match the event, and `unhandled` if the gateway does
 * not handle the event or the event concerns no repository. Rejects with an OverloadedError at the limit of
 * large payloads in progress.
 */
export async function parseRepoPayload(
  events: RepoEvents,
  event: string,
  request: WebhookRequest,
  body: Buffer,
): Promise<ParsedPayload | 'unhandled' | undefined> {
  const bytes = payloadBytes(body, isForm(request));
  const isLarge = isLargeJson(bytes);
  const spans = isLarge ? await spansOf(bytes, events.paths(event)) : undefined;
  if (isLarge && spans === undefined) return undefined;
  try {
    const facts = readFacts(events, event, bytes, spans);
    return typeof facts === 'object' ? { facts, spans } : facts;
  } catch {
    return undefined;
  }
}

/** Throws if the payload is not JSON. */
function readFacts(
  events: RepoEvents,
  event: string,
  bytes: Buffer,
  spans: Spans | undefined,
): ReturnType<RepoEvents['facts']> {
  return events.facts(
    event,
    spans === undefined ? parseJson(bytes.toString('utf8')) : membersAt(bytes, spans),
  );
}

/** Returns the JSON bytes in the body, which may be a form. */
function payloadBytes(body: Uint8Array, isInForm: boolean): Buffer {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (!isInForm) return bytes;
  return Buffer.from(new URLSearchParams(bytes.toString('utf8')).get('payload') ?? '');
}

/**
 * Returns the event id. `delivery` is the host's delivery id, equal for redeliveries and for all hooks that
 * send the event. `verifiedFor` is the alphabetically first of the triggers that verified the event. The
 * trigger name is part of the id. Otherwise a sender with the secret of one trigger could reuse a delivery id
 * and thereby suppress an event of another trigger.
 */
export function repoEventId({ platform }: RepoEvents, verifiedFor: string, delivery: string): string {
  return `${platform}:${verifiedFor}/${delivery}`;
}

/** Creates an event from a delivery. `triggers` are the names of the triggers that may accept it. */
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
  }: ParsedPayload & { readonly id: string; readonly event: string; readonly principal: Principal },
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
    key: `conversation/${platform}/${conversationOf(facts)}`,
    meta: JSON.stringify(meta),
    body,
    trace: request.traceparent,
    parsed: new CachedFacts(facts),
  };
}

/**
 * Facts of an event that this process accepted, cached in `parsed`. The class distinguishes them from other
 * values there.
 */
class CachedFacts {
  readonly facts: RepoFacts;

  constructor(facts: RepoFacts) {
    this.facts = facts;
  }
}

/** Parses a stored event. Throws if the payload does not match. */
export function readRepoEvent(events: RepoEvents, stored: StoredEvent): InboundEvent {
  const { triggers, event, isForm: isInForm, spans } = JSON.parse(stored.meta) as RepoMeta;
  const { parsed } = stored;
  const cachedFacts = parsed instanceof CachedFacts ? parsed.facts : undefined;
  // The bytes of a form are decoded only if something reads their JSON: the parser without cached facts, or
  // the positions (`spans`) of a large payload. Otherwise nothing reads `bytes`.
  const isJsonRead = spans !== undefined || cachedFacts === undefined;
  const bytes = payloadBytes(stored.body, isInForm && isJsonRead);
  const facts = cachedFacts ?? readFacts(events, event, bytes, spans);
  if (typeof facts !== 'object') throw new Error(`the payload does not match the repository event ${event}`);
  const { names, repository, sender, text, payload } = facts;
  return {
    platform: events.platform,
    triggers,
    names,
    typedCommand: commandIn(facts),
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

/** Returns the facts of an event that `readRepoEvent` parsed. */
export function factsOf(inbound: InboundEvent): RepoFacts {
  return inbound.facts as RepoFacts;
}
