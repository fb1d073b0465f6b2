// One request to one model, by `ai`: an answer in pieces, put together. Loaded when a model is asked for the first time.
//
// AK1  `ai` runs no loop, no tool and no retry here, and it has no telemetry.
// AK2  it writes nothing: its warnings are off before its first call, since stdout may be the protocol of a client.
// AK3  an answer is one only when the provider has said why it ended. What comes without that, or with an error among its pieces,
//      is thrown away whole.
// AK4 (A8)  texts, thoughts and calls of an answer are bounded together.

import { APICallError, jsonSchema, streamText, type ToolSet, tool, wrapLanguageModel } from 'ai';
import type { ResolvedProvider } from '../../config/gateway-file/providers.ts';
import type { ToolCall, Usage } from '../../machines/agent-run/journal.ts';
import { answerFormat } from './answer-format.ts';
import type { Exchange } from './exchange.ts';
import type { ModelAnswer, ModelRequest, OfferedTool } from './model.ts';
import { ModelFaultError, refusal } from './model-errors.ts';
import { promptOf, rawOf } from './prompt.ts';
import { modelClient, providerOptions } from './providers.ts';

(globalThis as { AI_SDK_LOG_WARNINGS?: unknown }).AI_SDK_LOG_WARNINGS = false;

const MAX_ANSWER_SIZE = 4_194_304;

export type BareAnswer = Omit<ModelAnswer, 'model' | 'cost' | 'tookMs'>;

interface Asked {
  readonly settings: ResolvedProvider;
  readonly model: string;
  readonly exchange: Exchange;
  readonly onText: ((text: string) => void) | undefined;
  /** In UTF-16 units, of all that is kept of an answer. @default 4 Mi */
  readonly maxAnswerSize?: number | undefined;
}

/** Rejects with a ModelFaultError, or with whatever the client threw before anything was sent. */
export async function askOnce(request: ModelRequest, asked: Asked): Promise<BareAnswer> {
  const { settings, exchange } = asked;
  const { system, responseFormat } = answerFormat(request, settings);
  const written = new Map<string, string>();
  const client = await modelClient(settings, asked.model, exchange.fetch);
  const model = wrapLanguageModel({
    model: client,
    middleware: {
      specificationVersion: 'v3',
      transformParams: async ({ params }) =>
        responseFormat === undefined ? params : { ...params, responseFormat },
      // Arguments as the model wrote them, before they are parsed.
      wrapStream: async ({ doStream }) => {
        const { stream, ...rest } = await doStream();
        const noting = new TransformStream({
          transform(part, controller) {
            if (part.type === 'tool-call') written.set(part.toolCallId, part.input);
            controller.enqueue(part);
          },
        });
        return { stream: stream.pipeThrough(noting), ...rest };
      },
    },
  });
  let responded: Parameters<typeof rawOf>[1] = [];
  const { fullStream } = streamText({
    model,
    ...(system === '' ? {} : { system }),
    messages: promptOf(request.messages, settings.name),
    tools: offered(request.tools),
    maxRetries: 0,
    abortSignal: exchange.signal,
    providerOptions,
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    ...(request.maxTokens === undefined ? {} : { maxOutputTokens: request.maxTokens }),
    // Without it `ai` would write errors to stderr.
    onError: () => {},
    onStepFinish: ({ response }) => {
      responded = response.messages;
    },
  });
  const { text, calls, end } = await collected(fullStream, asked);
  if (end === undefined || hasNoEnd(end))
    throw new ModelFaultError({ what: 'broke off its answer', isFinal: false });
  return {
    text,
    calls: calls.map(({ toolCallId, toolName, input }): ToolCall => {
      const asWritten = written.get(toolCallId) ?? JSON.stringify(input);
      return { id: toolCallId, name: toolName, input: asWritten };
    }),
    raw: rawOf(settings.name, responded),
    finish: calls.length > 0 && end.finishReason !== 'length' ? 'calls' : finishes[end.finishReason],
    usage: usageOf(end.usage),
  };
}

type FullStream = ReturnType<typeof streamText>['fullStream'];
type Part = FullStream extends AsyncIterable<infer Each> ? Each : never;

async function collected(stream: FullStream, { onText, maxAnswerSize = MAX_ANSWER_SIZE }: Asked) {
  let text = '';
  let size = 0;
  let end: Extract<Part, { type: 'finish-step' }> | undefined;
  const calls: Extract<Part, { type: 'tool-call' }>[] = [];
  for await (const part of stream) {
    if (part.type === 'error') throw faultOf(part.error);
    if (part.type === 'abort') throw new ModelFaultError({ what: 'was given up', isFinal: false });
    if (part.type === 'finish-step') end = part;
    if (part.type === 'tool-call' && part.providerExecuted !== true) calls.push(part);
    if (part.type === 'tool-input-delta') size += part.delta.length;
    if (part.type === 'text-delta' || part.type === 'reasoning-delta') size += part.text.length;
    if (size > maxAnswerSize)
      throw new ModelFaultError({ what: `answered more than ${maxAnswerSize} characters`, isFinal: true });
    if (part.type === 'text-delta' && part.text !== '') {
      text += part.text;
      onText?.(text);
    }
  }
  return { text, calls, end };
}

/** The clients make up `other` where a stream ends and nobody has said why. */
function hasNoEnd({ finishReason, rawFinishReason }: Extract<Part, { type: 'finish-step' }>): boolean {
  return finishReason === 'error' || (finishReason === 'other' && rawFinishReason === undefined);
}

/** An error among the pieces: whoever reports one in a stream had no status left to say it with. */
function faultOf(error: unknown): unknown {
  if (error instanceof ModelFaultError) return error;
  const { statusCode: status } = APICallError.isInstance(error) ? error : {};
  if (status !== undefined && status >= 400) return new ModelFaultError(refusal(status));
  return error;
}

function offered(tools: readonly OfferedTool[]): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => [
      name,
      tool({ description, inputSchema: jsonSchema({ ...inputSchema }) }),
    ]),
  );
}

const finishes = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'filtered',
  'tool-calls': 'calls',
  error: 'other',
  other: 'other',
} as const;

function usageOf(usage: Extract<Part, { type: 'finish-step' }>['usage']): Usage {
  return {
    input: usage.inputTokens,
    output: usage.outputTokens,
    cached: usage.inputTokenDetails.cacheReadTokens,
  };
}
