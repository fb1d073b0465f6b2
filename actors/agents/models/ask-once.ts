// Sends one request to a model with the client of its provider, and assembles the streamed answer (ADR39). Loaded with the first
// request to a model.
//
// AK1  what is asked goes to the provider once, as it is: no loop, no retry and no telemetry is around it.
// AK2  nothing is written, since stdout may be the protocol of a client.
// PJ1  parts that only one provider understands return to this provider unchanged; other providers get text and calls.
// PJ2  a call and the result have the id from the run.
// AK5  where the model has to answer in words it can call nothing, and what it has called before is taken all the same.

import type {
  LanguageModelV3,
  LanguageModelV3FunctionTool,
  LanguageModelV3Prompt,
  LanguageModelV3ToolResultPart,
} from '@ai-sdk/provider';
import type { ResolvedProvider } from '../../../config/gateway-file/providers.ts';
import type { ToolCall } from '../../../machines/agent-run/journal.ts';
import type { Exchange } from './exchange.ts';
import type { ModelMessage, ModelRequest, OfferedTool, ToolOutput } from './model.ts';
import { modelClient, providerOptions } from './providers.ts';
import {
  type AssistantPart,
  answerFormat,
  argumentsIn,
  type BareAnswer,
  type RawAnswer,
  streamedAnswer,
} from './streamed-answer.ts';

/** Converts the conversation for the client library. `system` may be empty. */
export function promptOf(
  system: string,
  messages: readonly ModelMessage[],
  provider: string,
): LanguageModelV3Prompt {
  const said = messages.flatMap((message): LanguageModelV3Prompt => {
    if (message.role === 'user') return [{ role: 'user', content: [{ type: 'text', text: message.text }] }];
    if (message.role === 'tool') return [{ role: 'tool', content: message.results.map(resultPart) }];
    const content = assistantParts(message, provider);
    // Providers refuse an empty answer.
    return content.length === 0 ? [] : [{ role: 'assistant', content }];
  });
  return system === '' ? said : [{ role: 'system', content: system }, ...said];
}

function assistantParts(
  { text, calls, raw }: Extract<ModelMessage, { role: 'assistant' }>,
  provider: string,
): AssistantPart[] {
  if (isRaw(raw) && raw.provider === provider && callsIn(raw.parts) === calls.length) {
    let n = 0;
    return raw.parts.map((part) =>
      part.type === 'tool-call' ? { ...part, toolCallId: calls[n++]?.id ?? part.toolCallId } : part,
    );
  }
  const said = text === '' ? [] : [{ type: 'text' as const, text }];
  return [...said, ...calls.map(callPart)];
}

const callsIn = (parts: readonly AssistantPart[]) => parts.filter(({ type }) => type === 'tool-call').length;

function callPart({ id, name, input }: ToolCall) {
  return { type: 'tool-call' as const, toolCallId: id, toolName: name, input: argumentsIn(input) };
}

function resultPart({ id, name, text, isError }: ToolOutput): LanguageModelV3ToolResultPart {
  const output = { type: isError ? ('error-text' as const) : ('text' as const), value: text };
  return { type: 'tool-result', toolCallId: id, toolName: name, output };
}

/** The journal may be from another version. */
function isRaw(raw: unknown): raw is RawAnswer {
  if (typeof raw !== 'object' || raw === null) return false;
  const { provider, parts } = raw as Partial<RawAnswer>;
  return typeof provider === 'string' && Array.isArray(parts) && parts.every(isPart);
}

const isPart = (part: unknown): boolean =>
  typeof (part as { readonly type?: unknown } | null)?.type === 'string';

interface Asked {
  readonly settings: ResolvedProvider;
  readonly model: string;
  readonly exchange: Exchange;
  readonly onText: ((text: string) => void) | undefined;
  /** As in streamed-answer.ts. */
  readonly maxAnswerSize?: number | undefined;
}

type Format = NonNullable<Parameters<LanguageModelV3['doStream']>[0]['responseFormat']>;

/** Rejects with a ModelFaultError, or with whatever the client threw. */
export async function askOnce(request: ModelRequest, asked: Asked): Promise<BareAnswer> {
  const { settings, model, exchange, onText, maxAnswerSize } = asked;
  const tools = request.mayCall || namesItsTools(settings) ? request.tools : [];
  const { system, responseFormat } = answerFormat({ ...request, tools }, settings);
  const client = await modelClient(settings, model, exchange.fetch);
  const { stream } = await client.doStream({
    prompt: promptOf(system, request.messages, settings.name),
    ...(tools.length === 0
      ? {}
      : { tools: tools.map(offered), toolChoice: { type: request.mayCall ? 'auto' : 'none' } }),
    ...(responseFormat === undefined ? {} : { responseFormat: responseFormat as Format }),
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    ...(request.maxTokens === undefined ? {} : { maxOutputTokens: request.maxTokens }),
    abortSignal: exchange.signal,
    providerOptions,
  });
  return streamedAnswer(stream, { provider: settings.name, onText, maxAnswerSize });
}

/** Where calls were made before, tools have to be there, even if none may be called; others might call what is only forbidden. */
const namesItsTools = ({ type }: ResolvedProvider) => type === 'anthropic';

function offered({ name, description, inputSchema }: OfferedTool): LanguageModelV3FunctionTool {
  return { type: 'function', name, description, inputSchema };
}
