// Sends one request to a model with the client of its provider, and assembles the streamed answer (ADR39). Loaded with the first
// request to a model.
//
// AK1  what is asked goes to the provider once, as it is: no loop, no retry and no telemetry is around it.
// AK2  nothing is written, since stdout may be the protocol of a client.
// AK5  where the model has to answer in words it can call nothing, and what it has called before is taken all the same.

import type { LanguageModelV3, LanguageModelV3FunctionTool } from '@ai-sdk/provider';
import type { ResolvedProvider } from '../../../config/gateway-file/providers.ts';
import { answerFormat } from './answer-format.ts';
import type { Exchange } from './exchange.ts';
import type { ModelRequest, OfferedTool } from './model.ts';
import { promptOf } from './prompt.ts';
import { modelClient, providerOptions } from './providers.ts';
import { type BareAnswer, streamedAnswer } from './streamed-answer.ts';

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
