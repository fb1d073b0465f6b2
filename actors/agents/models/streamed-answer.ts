// An answer from the pieces in which its provider sends it.
//
// AK3  an answer is one only when the provider has said why it ended. What comes without that, or with an error among its pieces,
//      is thrown away whole.
// AK4 (A8)  texts, thoughts and calls of an answer are bounded together.

import {
  APICallError,
  type LanguageModelV3FinishReason,
  type LanguageModelV3StreamPart,
  type LanguageModelV3Usage,
} from '@ai-sdk/provider';
import type { ToolCall, Usage } from '../../../machines/agent-run/journal.ts';
import { AnswerParts } from './answer-parts.ts';
import type { ModelAnswer } from './model.ts';
import { ModelFaultError, refusal } from './model-errors.ts';

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
