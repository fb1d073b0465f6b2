// Repairs events in a provider's stream that its client library rejects although they are harmless. Providers
// add kinds of events and blocks within a protocol version, and clients must ignore unknown ones.
// Servers that imitate a protocol send members of other types, such as numbers as ids.

import type { ProviderType } from '../../../config/gateway-file/provider-schema.ts';

type Event = Readonly<Record<string, unknown>>;

export interface EventRepair {
  /** Returns false for JSON texts that need no repair: most events are not parsed twice. */
  mayConcern(json: string): boolean;
  /** Returns the event to forward; undefined if the client must not see it. */
  repair(event: Event): Event | undefined;
}

/** Returns the repair for one stream; undefined if the client accepts unknown events itself. */
export function eventRepair(type: ProviderType): EventRepair | undefined {
  if (type === 'anthropic') return new AnthropicRepair();
  if (type === 'openai' || type === 'google') return undefined;
  return { mayConcern: (json) => unusualChunk.test(json), repair: repairChatChunk };
}

/**
 * Chunks that lack the list of choices, members with wrong types, and a null error. Quotes within texts are
 * escaped.
 */
const unusualChunk =
  /^(?!.*"choices":\s*\[)|"error":\s*null|"(?:id|model|finish_reason)":\s*\d|"(?:index|created)":\s*"|"arguments":\s*\{|"role":\s*"(?!assistant")/;

const eventTypes: ReadonlySet<unknown> = new Set([
  'content_block_delta',
  'content_block_start',
  'content_block_stop',
  'error',
  'message_delta',
  'message_start',
  'message_stop',
  'ping',
]);
const blockTypes: ReadonlySet<unknown> = new Set(['redacted_thinking', 'text', 'thinking', 'tool_use']);
const deltaTypes: ReadonlySet<unknown> = new Set([
  'citations_delta',
  'input_json_delta',
  'signature_delta',
  'text_delta',
  'thinking_delta',
]);

/** Drops unknown events, unknown blocks and all events in them, and unknown parts of known blocks. */
class AnthropicRepair implements EventRepair {
  /** Indexes of dropped blocks. */
  readonly #dropped = new Set<unknown>();

  mayConcern(): boolean {
    return true;
  }

  repair(event: Event): Event | undefined {
    const { type, index } = event;
    // An event that has no type violates the protocol; the client reports it.
    if (typeof type !== 'string') return event;
    if (!eventTypes.has(type)) return undefined;
    if (type === 'content_block_start') {
      const isKnown = blockTypes.has(membersOf(event.content_block).type);
      if (isKnown) this.#dropped.delete(index);
      else this.#dropped.add(index);
    }
    if (type.startsWith('content_block_') && this.#dropped.has(index)) return undefined;
    const isDelta = type === 'content_block_delta';
    return isDelta && !deltaTypes.has(membersOf(event.delta).type) ? undefined : event;
  }
}

/** Converts a chunk's members to the protocol's types. Drops all other kinds of events. */
function repairChatChunk(event: Event): Event | undefined {
  const { error, ...others } = event;
  // The client takes each member `error` for an error.
  const chunk = error === null ? others : event;
  const { choices, id, created, model, type } = chunk;
  if (!Array.isArray(choices)) {
    const isOther = typeof type === 'string' || 'usage' in chunk || choices === null;
    return !('error' in chunk) && isOther ? { ...chunk, choices: [] } : chunk;
  }
  return {
    ...chunk,
    id: textOf(id),
    created: numberOf(created),
    model: textOf(model),
    choices: choices.map(repairChoice),
  };
}

function repairChoice(choice: unknown): unknown {
  if (!isObject(choice)) return choice;
  const { delta, finish_reason } = choice;
  if (!isObject(delta)) return choice;
  const { tool_calls: calls } = delta;
  const repaired = {
    ...delta,
    role: 'assistant',
    tool_calls: Array.isArray(calls) ? calls.map(repairCall) : undefined,
  };
  return { ...choice, delta: repaired, finish_reason: textOf(finish_reason) };
}

function repairCall(call: unknown): unknown {
  if (!isObject(call)) return call;
  const { id, index, function: called } = call;
  const { arguments: args, ...others } = membersOf(called);
  const text = isObject(args) ? JSON.stringify(args) : args;
  return { ...call, id: textOf(id), index: numberOf(index), function: { ...others, arguments: text } };
}

const isObject = (value: unknown): value is Event =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const membersOf = (value: unknown): Event => (isObject(value) ? value : {});

const textOf = (value: unknown) => (typeof value === 'number' ? String(value) : value);

const numberOf = (value: unknown) =>
  typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
