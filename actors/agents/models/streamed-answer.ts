// Selects a form of the answer that the provider supports, and assembles the answer from the received pieces.
// An answer is valid only if the provider reports why it stopped, and no piece is an error; otherwise it is
// discarded. Texts, thoughts and calls share a limit (A8, ARCHITECTURE.md). Every request includes the full
// schema, in the prompt if the provider does not accept schemas. Thoughts within the text are removed
// (thought-filter.ts).

import {
  APICallError,
  type LanguageModelV3FinishReason,
  type LanguageModelV3Message,
  type LanguageModelV3StreamPart,
  type LanguageModelV3Usage,
  type SharedV3ProviderMetadata,
} from '@ai-sdk/provider';
import type { ResolvedProvider } from '../../../config/gateway-file/providers.ts';
import type { ToolCall, Usage } from '../../../machines/agent-run/journal.ts';
import { toolArguments } from '../../../machines/agent-run/tool-arguments.ts';
import { MAX_CALLS, type ModelAnswer, type ModelRequest } from './model.ts';
import { faultOfStatus, type ModelFault, ModelFaultError } from './model-errors.ts';
import type { ModelTraits } from './model-traits.ts';
import { ThoughtFilter } from './thought-filter.ts';

interface AnswerFormat {
  readonly system: string;
  readonly responseFormat:
    | { readonly type: 'json'; readonly schema?: Readonly<Record<string, unknown>> }
    | undefined;
}

/** Returns the answer format to request (schema, any JSON, or text), and the matching system prompt. */
export function answerFormat(
  { system, outputSchema, tools }: Pick<ModelRequest, 'system' | 'outputSchema' | 'tools'>,
  { type, structured_output }: Pick<ResolvedProvider, 'type' | 'structured_output'>,
): AnswerFormat {
  if (outputSchema === undefined) return { system, responseFormat: undefined };
  // Only OpenAI supports a format together with tools: Google, Groq and llama.cpp reject it, and other
  // providers then call no tools.
  const isInPrompt = structured_output === 'prompt' || (tools.length > 0 && type !== 'openai');
  if (structured_output === 'json_schema' && !isInPrompt)
    return { system, responseFormat: { type: 'json', schema: outputSchema } };
  const instruction = `Your final answer is one JSON value that conforms to this JSON Schema, without any text around it:\n${JSON.stringify(outputSchema)}`;
  return {
    system: system === '' ? instruction : `${system}\n\n${instruction}`,
    responseFormat: isInPrompt ? undefined : { type: 'json' },
  };
}

export type AssistantPart = Extract<LanguageModelV3Message, { role: 'assistant' }>['content'][number];

/** `ModelAnswer.raw`, if text and calls are insufficient. */
export interface RawAnswer {
  readonly provider: string;
  readonly parts: readonly AssistantPart[];
}

interface GrowingPart {
  readonly type: 'text' | 'reasoning';
  text: string;
  providerOptions?: SharedV3ProviderMetadata;
}

/**
 * Collects provider-specific parts for the next request: signed thoughts, provider ids (PJ1, prompt.ts).
 */
export class AnswerParts {
  readonly #parts: (AssistantPart | GrowingPart)[] = [];
  /** Unfinished texts and thoughts, by kind and id. */
  readonly #open = new Map<string, GrowingPart>();

  add(part: LanguageModelV3StreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        this.#begin(part.type === 'text-start' ? 'text' : 'reasoning', part);
        break;
      case 'text-delta':
      case 'text-end':
        this.#grow('text', part);
        break;
      case 'reasoning-delta':
      case 'reasoning-end':
        this.#grow('reasoning', part);
        break;
      case 'tool-call': {
        const { type, toolCallId, toolName, input, providerMetadata } = part;
        const call = { type, toolCallId, toolName, input: argumentsIn(input) };
        this.#parts.push(withOptions(call, providerMetadata));
      }
    }
  }

  /**
   * Returns undefined if text and calls describe the answer fully. `text` replaces the received texts, if it
   * is defined.
   */
  raw(provider: string, text?: string): RawAnswer | undefined {
    const received = this.#parts.filter((part) => part.type !== 'text' || part.text !== '');
    const first = received.find((part) => part.type === 'text');
    const parts =
      text === undefined
        ? received
        : received.flatMap((part): (AssistantPart | GrowingPart)[] => {
            if (part.type !== 'text') return [part];
            return part === first && text !== '' ? [{ type: 'text', text }] : [];
          });
    const isPlain = parts.every(
      (part) => (part.type === 'text' || part.type === 'tool-call') && part.providerOptions === undefined,
    );
    return isPlain ? undefined : { provider, parts };
  }

  #begin(type: GrowingPart['type'], { id, providerMetadata }: Piece): void {
    const growing: GrowingPart = withOptions({ type, text: '' }, providerMetadata);
    this.#open.set(`${type} ${id}`, growing);
    this.#parts.push(growing);
  }

  /** Adds text. Later metadata replaces earlier metadata, because signatures arrive last. */
  #grow(type: GrowingPart['type'], { id, delta = '', providerMetadata }: Piece): void {
    const growing = this.#open.get(`${type} ${id}`);
    if (growing === undefined) return;
    growing.text += delta;
    if (providerMetadata !== undefined) growing.providerOptions = providerMetadata;
  }
}

interface Piece {
  readonly id: string;
  readonly delta?: string;
  readonly providerMetadata?: SharedV3ProviderMetadata | undefined;
}

function withOptions<P extends object>(part: P, providerOptions: SharedV3ProviderMetadata | undefined): P {
  return providerOptions === undefined ? part : { ...part, providerOptions };
}

/**
 * Returns arguments as an object, the only form that providers accept; empty for invalid arguments, which the
 * result of the call reports.
 */
export function argumentsIn(text: string): Readonly<Record<string, unknown>> {
  const parsed = toolArguments(text);
  return typeof parsed === 'string' ? {} : parsed;
}

export type BareAnswer = Omit<ModelAnswer, 'model' | 'cost' | 'tookMs'>;

export interface StreamedAnswerOptions {
  /** Name of the provider that gets its own parts back. */
  readonly provider: string;
  /** Called with the whole text so far. */
  readonly onText: ((text: string) => void) | undefined;
  readonly traits: ModelTraits;
  /** An answer's limit, in UTF-16 units. @default 4 Mi */
  readonly maxAnswerSize?: number | undefined;
}

const MAX_ANSWER_SIZE = 4_194_304;

type ModelStream = ReadableStream<LanguageModelV3StreamPart>;
type StreamPart<T extends LanguageModelV3StreamPart['type']> = Extract<
  LanguageModelV3StreamPart,
  { type: T }
>;

/** Rejects with a ModelFaultError, or with the stream's error. */
export async function assembleAnswer(
  stream: ModelStream,
  options: StreamedAnswerOptions,
): Promise<BareAnswer> {
  const { provider, onText, traits, maxAnswerSize = MAX_ANSWER_SIZE } = options;
  const filter = new ThoughtFilter(traits.hasUnopenedThoughts);
  let shownText = '';
  let size = 0;
  let end: StreamPart<'finish'> | undefined;
  const calls: ToolCall[] = [];
  let begunCalls = 0;
  const parts = new AnswerParts();
  for await (const part of stream) {
    if (part.type === 'error') throw faultOf(part.error);
    size += sizeOf(part);
    if (size > maxAnswerSize)
      throw new ModelFaultError({
        description: `answered more than ${maxAnswerSize} characters`,
        isFinal: true,
      });
    if (part.type === 'tool-input-start') begunCalls += 1;
    if (Math.max(begunCalls, calls.length) > MAX_CALLS) throw new ModelFaultError(tooManyCalls);
    parts.add(part);
    if (part.type === 'finish') end = part;
    if (part.type === 'tool-call')
      calls.push({ id: part.toolCallId, name: part.toolName, input: part.input });
    if (part.type === 'text-delta') filter.add(part.delta);
    if (filter.text === shownText) continue;
    shownText = filter.text;
    onText?.(shownText);
  }
  filter.end();
  const { text } = filter;
  if (text !== shownText) onText?.(text);
  if (filter.hasUnopened) traits.hasUnopenedThoughts = true;
  if (end === undefined || hasNoEnd(end.finishReason))
    throw new ModelFaultError({ description: 'ended its answer without a reason', isFinal: false });
  const reason = end.finishReason.unified;
  // An answer with calls counts as `calls`, even if the provider reports a normal end. A truncated answer
  // stays truncated.
  return {
    text,
    calls,
    raw: parts.raw(provider, filter.hasRemoved ? text : undefined),
    finish: calls.length > 0 && reason !== 'length' ? 'calls' : finishReasons[reason],
    usage: usageOf(end.usage),
  };
}

export const tooManyCalls: ModelFault = {
  description: `calls more than ${MAX_CALLS} tools in one answer`,
  isFinal: true,
};

/** Size in UTF-16 units. */
function sizeOf(part: LanguageModelV3StreamPart): number {
  const isPiece =
    part.type === 'text-delta' || part.type === 'reasoning-delta' || part.type === 'tool-input-delta';
  return isPiece ? part.delta.length : 0;
}

/** The clients report `other` if a stream stops unexpectedly. */
function hasNoEnd({ unified, raw }: LanguageModelV3FinishReason): boolean {
  return unified === 'error' || (unified === 'other' && raw === undefined);
}

/** Converts an error among the pieces; a status within the stream is treated like an HTTP status. */
function faultOf(error: unknown): unknown {
  const { statusCode: status } = APICallError.isInstance(error) ? error : {};
  if (status !== undefined && status >= 400) return new ModelFaultError(faultOfStatus(status));
  return error;
}

const finishReasons = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'filtered',
  'tool-calls': 'calls',
  error: 'other',
  other: 'other',
} as const;

function usageOf({ inputTokens, outputTokens }: LanguageModelV3Usage): Usage {
  return { input: inputTokens.total, output: outputTokens.total, cached: inputTokens.cacheRead };
}
