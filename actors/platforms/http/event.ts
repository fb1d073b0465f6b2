// Converts requests to HTTP triggers into events, and stored events into inbound events.

import { createHash, randomUUID } from 'node:crypto';
import type { HttpTrigger } from '../../../config/resources/triggers/trigger.ts';
import { matchTrigger } from '../../../machines/matching.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { type Principal, principalText } from '../../identity/principal.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { LARGE_BYTES, type Spans, textOfJson } from '../payloads/large-json.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import { standardHeaders } from '../webhooks/standard-signature.ts';
import type { WebhookRequest } from '../webhooks/webhook.ts';
import { ParsedBody, type PayloadKind } from './payload.ts';

/**
 * Properties of a request that are stored besides its bytes. Headers are omitted, because some are
 * credentials.
 */
interface HttpMeta {
  readonly triggers: readonly string[];
  readonly kind: PayloadKind;
  readonly method: string;
  readonly path: string;
  readonly principal: string;
  readonly spans?: Spans | undefined;
}

const MAX_KEY = 200;
const QUOTE = 0x22;
/** Payload members that may contain the text; the first one present is used. */
const TEXTS = ['text', 'message', 'input'];

/** Returns the event id of a delivery that the trigger handles. */
export function httpEventId({ name }: HttpTrigger, { text }: DeliveryId): string {
  return `http:${name}/${text}`;
}

export interface DeliveryId {
  readonly text: string;
  /** False if the gateway generated it. */
  readonly isNamed: boolean;
}

/**
 * Returns the delivery id: the header `webhook-id` or `svix-id`, else `Idempotency-Key`, else a generated id.
 * Undefined if malformed. Senders choose the id, so event ids also contain the trigger's name; otherwise a
 * sender could suppress events of another trigger.
 */
export function deliveryId({ headers }: WebhookRequest): DeliveryId | undefined {
  const text = standardHeaders(headers).id ?? headers['idempotency-key'];
  if (text === undefined) return { text: randomUUID(), isNamed: false };
  return /^[\x20-\x7e]{1,255}$/.test(text) ? { text, isNamed: true } : undefined;
}

/**
 * `triggers` are the triggers whose verifiers accepted the request. `selected` is the one among them that
 * handles the event and determines the conversation.
 */
export function httpEvent(
  triggers: readonly [HttpTrigger, ...HttpTrigger[]],
  selected: HttpTrigger,
  request: WebhookRequest,
  parsed: ParsedBody,
  { id, principal }: { readonly id: string; readonly principal: Principal },
): NewEvent {
  const { method, path, traceparent } = request;
  const { kind, bytes, payload, spans } = parsed;
  const meta: HttpMeta = {
    triggers: namesOf(triggers),
    kind,
    method,
    path,
    principal: principalText(principal),
    spans,
  };
  return {
    id,
    key: `conversation/http/${selected.name}${conversationOf(selected, request, payload)}`,
    meta: JSON.stringify(meta),
    body: bytes,
    trace: traceparent,
    parsed,
  };
}

/**
 * Selects the trigger that the router will select, because conversation and response depend on it. Returns
 * the first trigger if no trigger matches.
 */
export function selectTrigger(
  triggers: readonly [HttpTrigger, ...HttpTrigger[]],
  { payload }: ParsedBody,
): HttpTrigger {
  const [first] = triggers;
  if (triggers.every(({ name }) => name === first.name)) return first;
  const match = matchTrigger(triggers, {
    ...textsOf(payload),
    channel: undefined,
    user: undefined,
  });
  return typeof match === 'string' ? first : match.trigger;
}

/** Returns the names without duplicates: a replaced trigger briefly occurs twice. */
function namesOf(triggers: readonly HttpTrigger[]): readonly string[] {
  return [...new Set(triggers.map(({ name }) => name))];
}

/** Parses a stored event. Throws if the payload does not match. */
export function readHttpEvent(event: StoredEvent): InboundEvent {
  const { triggers, kind, method, path, spans } = JSON.parse(event.meta) as HttpMeta;
  const { payload } =
    event.parsed instanceof ParsedBody ? event.parsed : new ParsedBody(kind, event.body, spans);
  const texts = textsOf(payload);
  return {
    platform: 'http',
    triggers,
    ...texts,
    textJson: spans === undefined ? undefined : textJsonIn(event.body, spans, texts),
    channel: undefined,
    user: undefined,
    context: { 'http.method': method, 'http.path': path },
    payload,
    payloadJson: spans === undefined ? undefined : textOfJson(event.body),
    parameters: {},
  };
}

/** Returns the text as JSON bytes if it is large and is exactly one payload member. */
function textJsonIn(
  body: Uint8Array,
  spans: Spans,
  { text, commandRest = '' }: EventTexts,
): Uint8Array | undefined {
  const path = TEXTS.find((each) => spans[each] !== undefined);
  const [start, end] = spans[path ?? ''] ?? [0, 0];
  const isWholeMember = commandRest === '' && text !== undefined && body[start] === QUOTE;
  return isWholeMember && end - start >= LARGE_BYTES ? textOfJson(body.subarray(start, end)) : undefined;
}

/** Returns the payload paths of all texts and conversation keys. */
export function httpPaths(triggers: readonly HttpTrigger[]): readonly string[] {
  const keys = triggers.flatMap(({ config: { key } }) =>
    key?.startsWith('body:') ? key.slice('body:'.length) : [],
  );
  return ['command', ...TEXTS, ...keys];
}

type EventTexts = Pick<InboundEvent, 'names' | 'text' | 'commandRest'>;

function textsOf(payload: unknown): EventTexts {
  const [name = '', parameters = ''] = commandParts(textMember(payload, 'command') ?? '');
  const text = typeof payload === 'string' ? payload : textMember(payload, ...TEXTS);
  return {
    names: name === '' ? [] : [name],
    text: parameters === '' ? text : [parameters, text].filter((each) => each !== undefined).join('\n'),
    commandRest: name === '' ? undefined : parameters,
  };
}

/** Splits `/deploy production` into the command `deploy` and its parameters. */
function commandParts(command: string): readonly string[] {
  return /^\/?([^\s/]\S*)\s*([\s\S]*)$/.exec(command.trim())?.slice(1) ?? [];
}

/**
 * Returns the last part of the mailbox key: the value of the configured `key` in the request; '' if missing.
 */
function conversationOf(
  { config: { key } }: HttpTrigger,
  { headers }: WebhookRequest,
  payload: unknown,
): string {
  if (key === undefined) return '';
  const name = key.slice(key.indexOf(':') + 1);
  const value = key.startsWith('header:') ? headers[name.toLowerCase()] : memberOf(payload, name);
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return '';
  const text = String(value);
  if (text === '') return '';
  const isPlain = text.length <= MAX_KEY && !/\p{Cc}/u.test(text);
  return `/${isPlain ? text : createHash('sha256').update(text).digest('hex')}`;
}
