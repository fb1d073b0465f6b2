// A model answer: requested in a form that the provider supports, and assembled from the received pieces.
//
// AK3  an answer is one only when the provider has said why it ended. What comes without that, or with an error among its pieces,
//      is thrown away whole.
// AK4 (A8)  texts, thoughts and calls of an answer are bounded together.
// AQ1  every request includes the full schema: in the prompt if the provider does not accept schemas.

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
import type { ModelAnswer, ModelRequest } from './model.ts';
import { ModelFaultError, refusal } from './model-errors.ts';

interface AnswerFormat {
  readonly system: string;
  readonly responseFormat:
    | { readonly type: 'json'; readonly schema?: Readonly<Record<string, unknown>> }
    | undefined;
}

/** Returns the requested format: the schema, any JSON, or text. */
export function answerFormat(
  { system, outputSchema, tools }: Pick<ModelRequest, 'system' | 'outputSchema' | 'tools'>,
  { type, structured_output }: Pick<ResolvedProvider, 'type' | 'structured_output'>,
): AnswerFormat {
  if (outputSchema === undefined) return { system, responseFormat: undefined };
  // Only OpenAI supports both: Google, Groq and llama.cpp refuse a format with tools, other providers call no tools then.
  const isInWords = structured_output === 'prompt' || (tools.length > 0 && type !== 'openai');
  if (structured_output === 'json_schema' && !isInWords)
    return { system, responseFormat: { type: 'json', schema: outputSchema } };
  const asked = `Your final answer is one JSON value by this JSON Schema, and nothing around it:\n${JSON.stringify(outputSchema)}`;
  return {
    system: system === '' ? asked : `${system}\n\n${asked}`,
    responseFormat: isInWords ? undefined : { type: 'json' },
  };
}

export type AssistantPart = Extract<LanguageModelV3Message, { role: 'assistant' }>['content'][number];

/** `ModelAnswer.raw` of an answer that text and calls do not fully describe. */
export interface RawAnswer {
  readonly provider: string;
  readonly parts: readonly AssistantPart[];
}

interface Growing {
  readonly type: 'text' | 'reasoning';
  text: string;
  providerOptions?: SharedV3ProviderMetadata;
}

/** Collects provider-specific parts for the next request: signed thoughts, provider ids (PJ1). */
export class AnswerParts {
  readonly #parts: (AssistantPart | Growing)[] = [];
  /** Unfinished texts and thoughts, by kind and id. */
  readonly #open = new Map<string, Growing>();

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

  /** Returns undefined if text and calls describe the answer fully. */
  raw(provider: string): RawAnswer | undefined {
    const parts = this.#parts.filter((part) => part.type !== 'text' || part.text !== '');
    const isPlain = parts.every(
      (part) => (part.type === 'text' || part.type === 'tool-call') && part.providerOptions === undefined,
    );
    return isPlain ? undefined : { provider, parts };
  }

  #begin(type: Growing['type'], { id, providerMetadata }: Piece): void {
    const growing: Growing = withOptions({ type, text: '' }, providerMetadata);
    this.#open.set(`${type} ${id}`, growing);
    this.#parts.push(growing);
  }

  /** Merges metadata; later parts win, because signatures arrive last. */
  #grow(type: Growing['type'], { id, delta = '', providerMetadata }: Piece): void {
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

/** Returns arguments as an object, the only form that providers accept. Invalid arguments are reported in the result. */
export function argumentsIn(text: string): Readonly<Record<string, unknown>> {
  const given = toolArguments(text);
  return typeof given === 'string' ? {} : given;
}

export type BareAnswer = Omit<ModelAnswer, 'model' | 'cost' | 'tookMs'>;

export interface StreamedAnswerOptions {
  /** The name of the provider, to which parts of its own go back. */
  readonly provider: string;
  /** Told of the whole text so far. */
  readonly onText: ((text: string) => void) | undefined;
  /** In UTF-16 units, of all that is kept of an answer. @default 4 Mi */
  readonly maxAnswerSize?: number | undefined;
}

const MAX_ANSWER_SIZE = 4_194_304;

type Stream = ReadableStream<LanguageModelV3StreamPart>;
type Part<T extends LanguageModelV3StreamPart['type']> = Extract<LanguageModelV3StreamPart, { type: T }>;

/** Rejects with a ModelFaultError, or as the stream does. */
export async function streamedAnswer(stream: Stream, options: StreamedAnswerOptions): Promise<BareAnswer> {
  const { provider, onText, maxAnswerSize = MAX_ANSWER_SIZE } = options;
  let text = '';
  let size = 0;
  let end: Part<'finish'> | undefined;
  const calls: ToolCall[] = [];
  const parts = new AnswerParts();
  for await (const part of stream) {
    if (part.type === 'error') throw faultOf(part.error);
    size += sizeOf(part);
    if (size > maxAnswerSize)
      throw new ModelFaultError({ what: `answered more than ${maxAnswerSize} characters`, isFinal: true });
    parts.add(part);
    if (part.type === 'finish') end = part;
    if (part.type === 'tool-call')
      calls.push({ id: part.toolCallId, name: part.toolName, input: part.input });
    if (part.type === 'text-delta' && part.delta !== '') {
      text += part.delta;
      onText?.(text);
    }
  }
  if (end === undefined || hasNoEnd(end.finishReason))
    throw new ModelFaultError({ what: 'broke off its answer', isFinal: false });
  const reason = end.finishReason.unified;
  return {
    text,
    calls,
    raw: parts.raw(provider),
    finish: calls.length > 0 && reason !== 'length' ? 'calls' : finishes[reason],
    usage: usageOf(end.usage),
  };
}

/** In UTF-16 units. */
function sizeOf(part: LanguageModelV3StreamPart): number {
  const isPiece =
    part.type === 'text-delta' || part.type === 'reasoning-delta' || part.type === 'tool-input-delta';
  return isPiece ? part.delta.length : 0;
}

/** The clients make up `other` where a stream ends and nobody has said why. */
function hasNoEnd({ unified, raw }: LanguageModelV3FinishReason): boolean {
  return unified === 'error' || (unified === 'other' && raw === undefined);
}

/** An error among the pieces: whoever reports one in a stream had no status left to say it with. */
function faultOf(error: unknown): unknown {
  const { statusCode: status } = APICallError.isInstance(error) ? error : {};
  if (status !== undefined && status >= 400) return new ModelFaultError(refusal(status));
  return error;
}

const finishes = {
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
