// Renders messages and events for models. Each line of text from people begins with `| `; all other lines are
// the gateway's. Therefore people cannot imitate gateway lines or further messages.
//
// Invariant: text from people occurs only after `| ` and within JSON.

import type { MessageOrigin, QuotedMessage } from '../../events/message-origin.ts';
import type { HistoryMessage, Job } from '../handlers/handler.ts';

/** Limits in UTF-16 units. */
const MAX_INPUT = 65_536;
const MAX_CONTEXT = 16_384;
const MAX_VALUE = 2_048;
const CUT = ' […]';

const LINE_END = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/;
/** Line ends and direction marks that JSON does not escape. */
const UNESCAPED = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
const CONTROL = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/u;
/** Names of parameters and values of the context; the gateway's own lines begin with a capital. */
const PLAIN_NAME = /^[a-z0-9_][\w.-]{0,199}$/;

/** Returns the job's request. Plain text is unchanged if the sender is unknown. */
export function requestText(job: Job): string {
  const text = cut(inputText(job), MAX_INPUT);
  const { command, parameters, event, message } = job;
  const isPlain = command === undefined && event.name === undefined;
  if (isPlain && message === undefined) return text;
  const title =
    command === undefined
      ? `Event: ${inLine(`${event.name} (${event.type})`)}`
      : `Command: ${inLine(command)}`;
  const lines = isPlain ? [] : [title, ...valueLines(parameters), ...valueLines(event.context)];
  return rendered([cut(lines.join('\n'), MAX_CONTEXT), ...originLines(message)], text);
}

/**
 * Returns a message of the history. `isFramed` is true if the conversation has senders; a message that was
 * stored without its sender is then rendered like all others.
 */
export function historyText({ text, message }: HistoryMessage, isFramed: boolean): string {
  return message === undefined && !isFramed ? text : rendered(originLines(message), text);
}

function rendered(lines: readonly string[], text: string): string {
  const all = text === '' ? lines : [...lines, 'Text:', quotedLines(text)];
  return all.filter((line) => line !== '').join('\n');
}

const RELATIONS: Readonly<Record<QuotedMessage['relation'], string>> = {
  answered: 'Reply to',
  quoted: 'Quote of',
  forwarded: 'Forwarded from',
};

function originLines({ sender, chat, quoted = [] }: MessageOrigin = {}): readonly string[] {
  return [
    ...(sender === undefined ? [] : [`From: ${json(sender)}`]),
    ...(chat === undefined ? [] : [`Chat: ${json(chat)}`]),
    ...quoted.map(quotation),
  ];
}

function quotation({ relation, sender, text }: QuotedMessage): string {
  const head = `${RELATIONS[relation]} ${sender === undefined ? 'an unknown sender' : json(sender)}`;
  return text === undefined || text === '' ? head : `${head}:\n${quotedLines(text)}`;
}

const quotedLines = (text: string) =>
  text
    .split(LINE_END)
    .map((line) => `| ${line}`)
    .join('\n');

function valueLines(values: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const text = typeof value === 'object' ? undefined : String(value ?? '');
    if (text === undefined || text === '') return [];
    return [`${PLAIN_NAME.test(name) ? name : json(name)}: ${inLine(cut(text, MAX_VALUE))}`];
  });
}

/** Returns the text, as JSON if it contains line ends or other control characters. */
const inLine = (text: string) => (CONTROL.test(text) ? json(text) : text);

const json = (value: unknown) =>
  JSON.stringify(value).replace(
    UNESCAPED,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

function inputText({ input, inputJson }: Job): string {
  if (inputJson === undefined) return input;
  try {
    const value: unknown = JSON.parse(Buffer.from(inputJson).toString('utf8'));
    return typeof value === 'string' ? value : JSON.stringify(value);
  } catch {
    return input;
  }
}

const cut = (text: string, most: number) =>
  text.length <= most ? text : text.slice(0, most - CUT.length).toWellFormed() + CUT;
