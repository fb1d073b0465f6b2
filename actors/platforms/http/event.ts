// The event that a request to a trigger of type HTTP becomes, and how that event reads later.

import { createHash, randomUUID } from 'node:crypto';
import type { HttpTrigger } from '../../../config/resources/triggers/trigger.ts';
import { matched } from '../../../machines/matching.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { type Principal, principalText } from '../../identity/principal.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { LARGE_BYTES, type Spans, textOfJson } from '../payloads/large-json.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import type { WebhookRequest } from '../webhooks/webhook.ts';
import { type PayloadKind, Said } from './payload.ts';

/** What is kept of a request beside its bytes. No headers: some of them are credentials. */
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
/** Members that say something in words, the first of them that is there. */
const TEXTS = ['text', 'message', 'input'];

/**
 * The name of the delivery: `webhook-id`, else `Idempotency-Key`, else a new one. Undefined when what is given is no name.
 * Senders choose it, so the event's id has the trigger's name before it: two senders must not silence one another.
 */
export function deliveryId({ headers }: WebhookRequest): string | undefined {
  const given = headers['webhook-id'] ?? headers['idempotency-key'];
  if (given === undefined) return randomUUID();
  return /^[\x20-\x7e]{1,255}$/.test(given) ? given : undefined;
}

/** `triggers` are those the request was verified for, at least one; the one that takes it gives the conversation its name. */
export function httpEvent(
  triggers: readonly [HttpTrigger, ...HttpTrigger[]],
  taker: HttpTrigger,
  request: WebhookRequest,
  said: Said,
  { delivery, principal }: { readonly delivery: string; readonly principal: Principal },
): NewEvent {
  const { method, path, traceparent } = request;
  const { kind, bytes, payload, spans } = said;
  const meta: HttpMeta = {
    triggers: namesOf(triggers),
    kind,
    method,
    path,
    principal: principalText(principal),
    spans,
  };
  return {
    id: `http:${taker.name}/${delivery}`,
    key: `conversation/http/${taker.name}${conversationOf(taker, request, payload)}`,
    meta: JSON.stringify(meta),
    body: bytes,
    trace: traceparent,
    parsed: said,
  };
}

/**
 * Which of several triggers the event is for, chosen as the router will choose: its conversation, and whether somebody waits
 * for the answer, are that trigger's affair and not that of another with the same path and secret. The first where none is.
 */
export function takerOf(triggers: readonly [HttpTrigger, ...HttpTrigger[]], { payload }: Said): HttpTrigger {
  const [first] = triggers;
  if (triggers.every(({ name }) => name === first.name)) return first;
  const match = matched(triggers, {
    ...wordsOf(payload),
    channel: undefined,
    user: undefined,
  });
  return typeof match === 'string' ? first : match.trigger;
}

/** Each once: while a trigger is exchanged it is there twice. */
function namesOf(triggers: readonly HttpTrigger[]): readonly string[] {
  return [...new Set(triggers.map(({ name }) => name))];
}

/** Throws for an event that is none of these. */
export function readHttpEvent(event: StoredEvent): InboundEvent {
  const { triggers, kind, method, path, spans } = JSON.parse(event.meta) as HttpMeta;
  const { payload } = event.parsed instanceof Said ? event.parsed : new Said(kind, event.body, spans);
  const words = wordsOf(payload);
  return {
    platform: 'http',
    triggers,
    ...words,
    textJson: spans === undefined ? undefined : textJsonIn(event.body, spans, words),
    channel: undefined,
    user: undefined,
    context: { 'http.method': method, 'http.path': path },
    payload,
    payloadJson: spans === undefined ? undefined : textOfJson(event.body),
    parameters: {},
  };
}

/** A large text, where it is that of one member and nothing else. */
function textJsonIn(
  body: Uint8Array,
  spans: Spans,
  { text, commandRest = '' }: Words,
): Uint8Array | undefined {
  const found = TEXTS.find((path) => spans[path] !== undefined);
  const [start, end] = spans[found ?? ''] ?? [0, 0];
  const isAll = commandRest === '' && text !== undefined && body[start] === QUOTE;
  return isAll && end - start >= LARGE_BYTES ? textOfJson(body.subarray(start, end)) : undefined;
}

/** Every path at which a payload is read, for its words and for the keys of conversations. */
export function httpPaths(triggers: readonly HttpTrigger[]): readonly string[] {
  const keys = triggers.flatMap(({ config: { key } }) =>
    key?.startsWith('body:') ? key.slice('body:'.length) : [],
  );
  return ['command', ...TEXTS, ...keys];
}

type Words = Pick<InboundEvent, 'names' | 'text' | 'commandRest'>;

function wordsOf(payload: unknown): Words {
  const [name = '', parameters = ''] = commandParts(textMember(payload, 'command') ?? '');
  const text = typeof payload === 'string' ? payload : textMember(payload, ...TEXTS);
  return {
    names: name === '' ? [] : [name],
    text: parameters === '' ? text : [parameters, text].filter((each) => each !== undefined).join('\n'),
    commandRest: name === '' ? undefined : parameters,
  };
}

/** `/deploy production` is the command `deploy`, with something for its parameters. */
function commandParts(command: string): readonly string[] {
  return /^\/?([^\s/]\S*)\s*([\s\S]*)$/.exec(command.trim())?.slice(1) ?? [];
}

/** What `key` finds in the request, as the last part of the mailbox's key; '' where it finds nothing. */
function conversationOf(
  { config: { key } }: HttpTrigger,
  { headers }: WebhookRequest,
  payload: unknown,
): string {
  if (key === undefined) return '';
  const name = key.slice(key.indexOf(':') + 1);
  const found = key.startsWith('header:') ? headers[name.toLowerCase()] : memberOf(payload, name);
  if (typeof found !== 'string' && typeof found !== 'number' && typeof found !== 'boolean') return '';
  const text = String(found);
  if (text === '') return '';
  const isPlain = text.length <= MAX_KEY && !/\p{Cc}/u.test(text);
  return `/${isPlain ? text : createHash('sha256').update(text).digest('hex')}`;
}
