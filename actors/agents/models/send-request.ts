// Sends one request to a model with the provider's client, and assembles the streamed answer. Loaded with the
// first model request.
//
// Each request is sent once and unchanged: no loop, no retry, no telemetry. The client must not write to
// stdout, which may carry the MCP protocol. Ids of calls and results come from the run. If the model must
// answer in text, it cannot call tools, but earlier calls stay in the conversation.
//
// PJ1  Parts that only one provider understands return to this provider unchanged; other providers get text
//      and calls.

import type {
  LanguageModelV3,
  LanguageModelV3FunctionTool,
  LanguageModelV3Prompt,
  LanguageModelV3ToolResultPart,
} from '@ai-sdk/provider';
import type { ResolvedProvider } from '../../../config/gateway-file/providers.ts';
import type { ToolCall } from '../../../machines/agent-run/journal.ts';
import type { ModelExchange } from './exchange.ts';
import type { ModelMessage, ModelRequest, OfferedTool, ToolOutput } from './model.ts';
import { createClient, providerOptions } from './providers.ts';
import {
  type AssistantPart,
  answerFormat,
  argumentsIn,
  assembleAnswer,
  type BareAnswer,
  type RawAnswer,
} from './streamed-answer.ts';

/** Converts the conversation for the client library. `system` may be empty. */
export function promptOf(
  system: string,
  messages: readonly ModelMessage[],
  provider: string,
): LanguageModelV3Prompt {
  const prompt = messages.flatMap((message): LanguageModelV3Prompt => {
    if (message.role === 'user') return [{ role: 'user', content: [{ type: 'text', text: message.text }] }];
    if (message.role === 'tool') return [{ role: 'tool', content: message.results.map(resultPart) }];
    const content = assistantParts(message, provider);
    // Providers reject an empty answer.
    return content.length === 0 ? [] : [{ role: 'assistant', content }];
  });
  return system === '' ? prompt : [{ role: 'system', content: system }, ...prompt];
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
  const textParts = text === '' ? [] : [{ type: 'text' as const, text }];
  return [...textParts, ...calls.map(callPart)];
}

const callsIn = (parts: readonly AssistantPart[]) => parts.filter(({ type }) => type === 'tool-call').length;

function callPart({ id, name, input }: ToolCall) {
  return { type: 'tool-call' as const, toolCallId: id, toolName: name, input: argumentsIn(input) };
}

function resultPart({ id, name, text, isError }: ToolOutput): LanguageModelV3ToolResultPart {
  const output = { type: isError ? ('error-text' as const) : ('text' as const), value: text };
  return { type: 'tool-result', toolCallId: id, toolName: name, output };
}

/** Checks a raw answer, because another version may have written the journal. */
function isRaw(raw: unknown): raw is RawAnswer {
  if (typeof raw !== 'object' || raw === null) return false;
  const { provider, parts } = raw as Partial<RawAnswer>;
  return typeof provider === 'string' && Array.isArray(parts) && parts.every(isPart);
}

const isPart = (part: unknown): boolean =>
  typeof (part as { readonly type?: unknown } | null)?.type === 'string';

interface SendOptions {
  readonly settings: ResolvedProvider;
  readonly model: string;
  readonly exchange: ModelExchange;
  readonly onText: ((text: string) => void) | undefined;
  /** See streamed-answer.ts. */
  readonly maxAnswerSize?: number | undefined;
}

type Format = NonNullable<Parameters<LanguageModelV3['doStream']>[0]['responseFormat']>;

/** Rejects with a ModelFaultError, or with the client's error. */
export async function askOnce(request: ModelRequest, options: SendOptions): Promise<BareAnswer> {
  const { settings, model, exchange, onText, maxAnswerSize } = options;
  const tools = request.mayCall || requiresTools(settings) ? request.tools : [];
  const { system, responseFormat } = answerFormat({ ...request, tools }, settings);
  const client = await createClient(settings, model, exchange.fetch);
  const { stream } = await client.doStream({
    prompt: promptOf(system, request.messages, settings.name),
    ...(tools.length === 0
      ? {}
      : { tools: tools.map(toolDefinition), toolChoice: { type: request.mayCall ? 'auto' : 'none' } }),
    ...(responseFormat === undefined ? {} : { responseFormat: responseFormat as Format }),
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    ...(request.maxTokens === undefined ? {} : { maxOutputTokens: request.maxTokens }),
    abortSignal: exchange.signal,
    providerOptions,
  });
  return assembleAnswer(stream, { provider: settings.name, onText, maxAnswerSize });
}

/**
 * Returns true for Anthropic, which requires the tools of earlier calls even if calls are forbidden. Models
 * of other providers might call them.
 */
const requiresTools = ({ type }: ResolvedProvider) => type === 'anthropic';

function toolDefinition({ name, description, inputSchema }: OfferedTool): LanguageModelV3FunctionTool {
  return { type: 'function', name, description, inputSchema };
}
