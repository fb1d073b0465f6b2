// What was said so far, as `ai` takes it.
//
// PJ1  parts that only a provider understands (signatures of its thoughts, ids of its own) go back to that provider and to no
//      other, unchanged; for all others an answer is its text and its calls.
// PJ2  a call has the id that the run gave it, there and in its result.

import type { LanguageModelV3Prompt, LanguageModelV3ToolResultPart } from '@ai-sdk/provider';
import type { ToolCall } from '../../../machines/agent-run/journal.ts';
import { type AssistantPart, argumentsIn, type RawAnswer } from './answer-parts.ts';
import type { ModelMessage, ToolOutput } from './model.ts';

/** `system` may be empty. */
export function promptOf(
  system: string,
  messages: readonly ModelMessage[],
  provider: string,
): LanguageModelV3Prompt {
  const said = messages.flatMap((message): LanguageModelV3Prompt => {
    if (message.role === 'user') return [{ role: 'user', content: [{ type: 'text', text: message.text }] }];
    if (message.role === 'tool') return [{ role: 'tool', content: message.results.map(resultPart) }];
    const content = assistantParts(message, provider);
    // Providers take no empty answer back.
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

/** It comes from a file, which another version may have written. */
function isRaw(raw: unknown): raw is RawAnswer {
  if (typeof raw !== 'object' || raw === null) return false;
  const { provider, parts } = raw as Partial<RawAnswer>;
  return typeof provider === 'string' && Array.isArray(parts) && parts.every(isPart);
}

const isPart = (part: unknown): boolean =>
  typeof (part as { readonly type?: unknown } | null)?.type === 'string';
