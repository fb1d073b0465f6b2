// What was said so far, as `ai` takes it.
//
// PJ1  parts that only a provider understands (signatures of its thoughts, ids of its own) go back to that provider and to no
//      other, unchanged; for all others an answer is its text and its calls.
// PJ2  a call has the id that the run gave it, there and in its result.

import type { AssistantModelMessage, ModelMessage as SdkMessage, ToolResultPart } from 'ai';
import type { ToolCall } from '../../machines/agent-run/journal.ts';
import type { ModelMessage, ToolOutput } from './model.ts';

type AssistantParts = Exclude<AssistantModelMessage['content'], string>;

/** `ModelAnswer.raw` where an answer has parts that cannot be made of its text and calls. */
interface RawAnswer {
  readonly provider: string;
  readonly parts: AssistantParts;
}

/** Undefined where text and calls say all. */
export function rawOf(
  provider: string,
  messages: readonly { readonly role: string; readonly content: unknown }[],
): RawAnswer | undefined {
  const parts = messages.flatMap(({ role, content }) =>
    role === 'assistant' && Array.isArray(content) ? (content as AssistantParts) : [],
  );
  const isPlain = parts.every(
    (part) => (part.type === 'text' || part.type === 'tool-call') && part.providerOptions === undefined,
  );
  return isPlain ? undefined : { provider, parts };
}

export function promptOf(messages: readonly ModelMessage[], provider: string): SdkMessage[] {
  return messages.flatMap((message): SdkMessage[] => {
    if (message.role === 'user') return [{ role: 'user', content: message.text }];
    if (message.role === 'tool') return [{ role: 'tool', content: message.results.map(resultPart) }];
    const content = assistantParts(message, provider);
    // Providers take no empty answer back.
    return content.length === 0 ? [] : [{ role: 'assistant', content }];
  });
}

function assistantParts(
  { text, calls, raw }: Extract<ModelMessage, { role: 'assistant' }>,
  provider: string,
): AssistantParts {
  if (isRaw(raw) && raw.provider === provider && callsIn(raw.parts) === calls.length) {
    let n = 0;
    return raw.parts.map((part) =>
      part.type === 'tool-call' ? { ...part, toolCallId: calls[n++]?.id ?? part.toolCallId } : part,
    );
  }
  const said = text === '' ? [] : [{ type: 'text' as const, text }];
  return [...said, ...calls.map(callPart)];
}

const callsIn = (parts: AssistantParts) => parts.filter(({ type }) => type === 'tool-call').length;

function callPart({ id, name, input }: ToolCall) {
  return { type: 'tool-call' as const, toolCallId: id, toolName: name, input: inputOf(input) };
}

/** Providers take objects only; the result of a call whose arguments are none says so. */
function inputOf(text: string): unknown {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? parsed : {};
  } catch {
    return {};
  }
}

function resultPart({ id, name, text, isError }: ToolOutput): ToolResultPart {
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
