// Converts a conversation for the client library.
//
// PJ1  Parts that only one provider understands return to this provider unchanged; other providers get text
//      and calls.

import type { LanguageModelV3Prompt, LanguageModelV3ToolResultPart } from '@ai-sdk/provider';
import type { ResolvedProvider } from '../../../config/gateway-file/providers.ts';
import type { ToolCall } from '../../../machines/agent-run/journal.ts';
import type { ModelMessage, ModelRequest, ToolOutput } from './model.ts';
import { type AssistantPart, argumentsIn, type RawAnswer } from './streamed-answer.ts';
import type { ToolForm } from './tool-schemas/tool-form.ts';

/** Forms of the offered tools, by name. */
export type Forms = ReadonlyMap<string, ToolForm>;

type Provider = Pick<ResolvedProvider, 'name' | 'type'>;

/** Converts the conversation for the client library. `system` may be empty. */
export function promptOf(
  { system, messages }: Pick<ModelRequest, 'system' | 'messages'>,
  forms: Forms,
  settings: Provider,
): LanguageModelV3Prompt {
  const prompt = messages.flatMap((message): LanguageModelV3Prompt => {
    if (message.role === 'user') return [{ role: 'user', content: [{ type: 'text', text: message.text }] }];
    if (message.role === 'tool') return resultMessages(message.results, settings);
    const content = assistantParts(message, forms, settings.name);
    // Providers reject an empty answer.
    return content.length === 0 ? [] : [{ role: 'assistant', content }];
  });
  return system === '' ? prompt : [{ role: 'system', content: system }, ...prompt];
}

function assistantParts(
  { text, calls, raw }: Extract<ModelMessage, { role: 'assistant' }>,
  forms: Forms,
  provider: string,
): AssistantPart[] {
  if (isRaw(raw) && raw.provider === provider && callsIn(raw.parts) === calls.length) {
    let n = 0;
    return raw.parts.map((part) =>
      part.type === 'tool-call' ? { ...part, toolCallId: calls[n++]?.id ?? part.toolCallId } : part,
    );
  }
  const textParts = text === '' ? [] : [{ type: 'text' as const, text }];
  return [...textParts, ...calls.map((call) => callPart(call, forms))];
}

const callsIn = (parts: readonly AssistantPart[]) => parts.filter(({ type }) => type === 'tool-call').length;

function callPart({ id, name, input }: ToolCall, forms: Forms) {
  const args = argumentsIn(input);
  const converted = forms.get(name)?.toModel(args) ?? args;
  return { type: 'tool-call' as const, toolCallId: id, toolName: name, input: converted };
}

/** Chat completions have no images in tool results; a user message follows with them. */
function resultMessages(results: readonly ToolOutput[], { type }: Provider): LanguageModelV3Prompt {
  if (['anthropic', 'google', 'openai'].includes(type))
    return [{ role: 'tool', content: results.map((result) => resultPart(result, true)) }];
  const images = results.flatMap(({ name, images: own = [] }) => [
    ...(own.length === 0 ? [] : [{ type: 'text' as const, text: `Images of the result of ${name}:` }]),
    ...own.map(({ data, mediaType }) => ({ type: 'file' as const, data, mediaType })),
  ]);
  const tool = { role: 'tool' as const, content: results.map((result) => resultPart(result, false)) };
  return images.length === 0 ? [tool] : [tool, { role: 'user', content: images }];
}

function resultPart(
  { id, name, text, isError, images = [] }: ToolOutput,
  hasImages: boolean,
): LanguageModelV3ToolResultPart {
  const part = { type: 'tool-result' as const, toolCallId: id, toolName: name };
  if (isError) return { ...part, output: { type: 'error-text', value: text } };
  if (images.length === 0 || !hasImages) return { ...part, output: { type: 'text', value: text } };
  const parts = images.map(({ data, mediaType }) => ({ type: 'image-data' as const, data, mediaType }));
  return { ...part, output: { type: 'content', value: [{ type: 'text', text }, ...parts] } };
}

/** Checks a raw answer, because another version may have written the journal. */
function isRaw(raw: unknown): raw is RawAnswer {
  if (typeof raw !== 'object' || raw === null) return false;
  const { provider, parts } = raw as Partial<RawAnswer>;
  return typeof provider === 'string' && Array.isArray(parts) && parts.every(isPart);
}

const isPart = (part: unknown): boolean =>
  typeof (part as { readonly type?: unknown } | null)?.type === 'string';
