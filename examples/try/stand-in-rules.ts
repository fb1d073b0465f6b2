// What the stand-in of a model answers: rules over the newest words, and over what tools have told it. Whoever reads its answers
// shall never take it for a model.
//
// TRY1  it calls no tool that it was not offered.

import type { ScriptedAnswer, ScriptedCall, Wire } from '../../test/fixtures/models/reply.ts';

/** Of a question in the protocol of chat completions. */
export interface Question {
  readonly messages?: readonly Message[];
  readonly tools?: readonly { readonly function?: { readonly name?: string } }[];
}

interface StandInAnswer extends ScriptedAnswer, Wire {
  readonly text?: readonly string[];
}

interface Message {
  readonly role?: string;
  readonly content?: unknown;
}

const SLOWLY_MS = 10_000;
/** Between two words of an answer. */
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
  'I am no model, but a program that follows three rules: name a file (what does hello.txt say?), ask for the folder ' +
  '(which files are there?), or tell me to write "something" to notes.txt. With "slowly" I take ten seconds to answer.';

export function standIn({ messages = [], tools = [] }: Question): StandInAnswer {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const words = textOf(messages[asked]);
  const isSlow = /\bslowly\b/i.test(words);
  const told = messages.slice(asked + 1).filter(({ role }) => role === 'tool');
  if (told.length > 0) {
    const text = told.map((message) => textOf(message).trim()).join('\n');
    const answer = said(`By my rules, what the tool told me:\n\n${text.slice(0, SHOWN_CHARACTERS)}`);
    return isSlow ? { ...answer, delayMs: SLOWLY_MS } : answer;
  }
  for (const { pattern, call } of RULES) {
    const found = pattern.exec(words);
    if (found === null) continue;
    const { name, input } = call(found);
    const isOffered = tools.some((tool) => tool.function?.name === name);
    return isOffered
      ? { calls: [{ name, input }] }
      : said(`By my rules I would call ${name}, which I have not.`);
  }
  return said(HELP);
}

/** For the person who watches: what is answered, in a line. */
export function inALine({ calls = [], text }: StandInAnswer): string {
  if (calls.length > 0)
    return calls.map(({ name, input }) => `calls ${name} ${JSON.stringify(input)}`).join(', ');
  return `says ${JSON.stringify(text?.join(''))}`;
}

/** Word by word, as models do. */
const said = (text: string) => ({ text: text.match(/\s*\S+/g) ?? [], pauseMs: WORD_MS });

function textOf(message: Message | undefined): string {
  const content = message?.content;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: { readonly text?: string }) => part.text ?? '').join('\n');
}

/** The newest words of people, or of a tool. */
export const newestWords = ({ messages = [] }: Question): string => textOf(messages.at(-1)).trim();
