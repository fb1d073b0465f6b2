// Answers of the model stand-in: rules for the newest message and for tool results. The answers say
// explicitly that it is not a model. It only calls offered tools.

import type { ScriptedAnswer, ScriptedCall, Wire } from '../../test/fixtures/models/reply.ts';

/** Request of the chat completions protocol. */
export interface CompletionRequest {
  readonly messages?: readonly CompletionMessage[];
  readonly tools?: readonly { readonly function?: { readonly name?: string } }[];
}

interface StandInAnswer extends ScriptedAnswer, Wire {
  readonly text?: readonly string[];
}

interface CompletionMessage {
  readonly role?: string;
  readonly content?: unknown;
}

const SLOWLY_MS = 10_000;
/** Pause between words of an answer. */
const WORD_MS = 30;
const SHOWN_CHARACTERS = 1000;

const RULES: readonly {
  readonly pattern: RegExp;
  readonly call: (found: RegExpExecArray) => Required<Pick<ScriptedCall, 'name' | 'input'>>;
}[] = [
  {
    pattern: /\bwrite\s+(?:"([^"]*)"|(.+?))\s+(?:to|into)\s+([\w./-]*\w)/i,
    call: ([, quoted, bare = '', path = '']) => ({
      name: 'write_file',
      input: { path, content: `${quoted ?? bare}\n` },
    }),
  },
  {
    pattern: /\b(?:[\w-]+\/)*[\w-]+\.(?:txt|md|ya?ml|json)\b/i,
    call: ([path]) => ({ name: 'read_text_file', input: { path } }),
  },
  { pattern: /\b(?:files?|folder|list)\b/i, call: () => ({ name: 'list_directory', input: { path: '.' } }) },
];

const HELP =
  'I am not a model, but a program that follows three rules: name a file (what does hello.txt say?), ask for the folder ' +
  '(which files are there?), or tell me to write "something" to notes.txt. With "slowly" I take ten seconds to answer.';

export function standIn({ messages = [], tools = [] }: CompletionRequest): StandInAnswer {
  const lastUserIndex = messages.findLastIndex(({ role }) => role === 'user');
  const userText = textOf(messages[lastUserIndex]);
  const isSlow = /\bslowly\b/i.test(userText);
  const toolMessages = messages.slice(lastUserIndex + 1).filter(({ role }) => role === 'tool');
  if (toolMessages.length > 0) {
    const text = toolMessages.map((message) => textOf(message).trim()).join('\n');
    const answer = textAnswer(`By my rules, the result of the tool:\n\n${text.slice(0, SHOWN_CHARACTERS)}`);
    return isSlow ? { ...answer, delayMs: SLOWLY_MS } : answer;
  }
  for (const { pattern, call } of RULES) {
    const found = pattern.exec(userText);
    if (found === null) continue;
    const { name, input } = call(found);
    const isOffered = tools.some((tool) => tool.function?.name === name);
    return isOffered
      ? { calls: [{ name, input }] }
      : textAnswer(`By my rules I would call ${name}, which is not offered.`);
  }
  return textAnswer(HELP);
}

/** Returns an answer as a line for the log. */
export function describeAnswer({ calls = [], text }: StandInAnswer): string {
  if (calls.length > 0)
    return calls.map(({ name, input }) => `calls ${name} ${JSON.stringify(input)}`).join(', ');
  return `says ${JSON.stringify(text?.join(''))}`;
}

/** Splits the text into words, as models stream it. */
const textAnswer = (text: string) => ({ text: text.match(/\s*\S+/g) ?? [], pauseMs: WORD_MS });

function textOf(message: CompletionMessage | undefined): string {
  const content = message?.content;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: { readonly text?: string }) => part.text ?? '').join('\n');
}

/** Returns the text of the newest message. */
export const newestText = ({ messages = [] }: CompletionRequest): string => textOf(messages.at(-1)).trim();
