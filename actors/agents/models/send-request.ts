// Sends one request to a model with the provider's client, and assembles the streamed answer. Loaded with the
// first model request.
//
// Each request is sent once and unchanged: no loop, no retry, no telemetry. The client must not write to
// stdout, which may carry the MCP protocol. Ids of calls and results come from the run. If the model must
// answer in text, it cannot call tools, but earlier calls stay in the conversation. Arguments of calls are in
// the form of the provider (tool-schemas/tool-form.ts).

import type { LanguageModelV3, LanguageModelV3FunctionTool } from '@ai-sdk/provider';
import type { ResolvedProvider } from '../../../config/gateway-file/providers.ts';
import type { ToolCall } from '../../../machines/agent-run/journal.ts';
import { toolArguments } from '../../../machines/agent-run/tool-arguments.ts';
import type { ModelExchange } from './exchange.ts';
import type { ModelRequest, OfferedTool } from './model.ts';
import type { ModelTraits } from './model-traits.ts';
import { type Forms, promptOf } from './prompt.ts';
import { createClient, providerOptions } from './providers.ts';
import { answerFormat, assembleAnswer, type BareAnswer } from './streamed-answer.ts';
import type { ToolForm } from './tool-schemas/tool-form.ts';

interface SendOptions {
  readonly settings: ResolvedProvider;
  readonly model: string;
  readonly exchange: ModelExchange;
  readonly onText: ((text: string) => void) | undefined;
  readonly traits: ModelTraits;
  /** See streamed-answer.ts. */
  readonly maxAnswerSize?: number | undefined;
}

type Format = NonNullable<Parameters<LanguageModelV3['doStream']>[0]['responseFormat']>;

/** Offers the tools of `forms`. Rejects with a ModelFaultError, or with the client's error. */
export async function askOnce(
  request: ModelRequest,
  forms: readonly ToolForm[],
  options: SendOptions,
): Promise<BareAnswer> {
  const { settings, model, exchange, onText, traits, maxAnswerSize } = options;
  const formsByName: Forms = new Map(forms.map((form) => [form.tool.name, form]));
  const tools = request.mayCall || requiresTools(settings) ? forms.map(({ tool }) => tool) : [];
  const { system, responseFormat } = answerFormat({ ...request, tools }, settings);
  const client = await createClient(settings, model, exchange.fetch);
  const { stream } = await client.doStream({
    prompt: promptOf({ ...request, system }, formsByName, settings),
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map((tool) => definitionOf(tool, settings)),
          toolChoice: { type: request.mayCall ? 'auto' : 'none' },
        }),
    ...(responseFormat === undefined ? {} : { responseFormat: responseFormat as Format }),
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    ...(request.maxTokens === undefined ? {} : { maxOutputTokens: request.maxTokens }),
    abortSignal: exchange.signal,
    providerOptions,
  });
  const answer = await assembleAnswer(stream, { provider: settings.name, onText, traits, maxAnswerSize });
  return { ...answer, calls: answer.calls.map((call) => originalCall(call, formsByName)) };
}

/** Converts the arguments for the tool. The text of the model stays, unless something changes. */
function originalCall(call: ToolCall, forms: Forms): ToolCall {
  const args = toolArguments(call.input);
  const form = forms.get(call.name);
  if (typeof args === 'string' || form === undefined) return call;
  const input = JSON.stringify(form.fromModel(args));
  return input === JSON.stringify(args) ? call : { ...call, input };
}

/**
 * Returns true for Anthropic, which requires the tools of earlier calls even if calls are forbidden. Models
 * of other providers might call them.
 */
const requiresTools = ({ type }: ResolvedProvider) => type === 'anthropic';

/** OpenAI requires every property in its strict mode, which is the default there. */
function definitionOf(
  { name, description, inputSchema }: OfferedTool,
  { type }: ResolvedProvider,
): LanguageModelV3FunctionTool {
  const tool = { type: 'function' as const, name, description, inputSchema };
  return type === 'openai' ? { ...tool, strict: false } : tool;
}
