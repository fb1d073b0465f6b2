// Reads message content: written text, including captions and order notes, button presses, and completed
// forms (flows).

import { parseJson } from '../../../config/reader/json-text.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';

export interface MessageText {
  readonly text: string;
  /** True for buttons, list rows and forms, which contain no written text. */
  readonly isChoice: boolean;
  /** Form values, and template button payloads. */
  readonly parameters: Readonly<Record<string, string>>;
}

export interface UnsupportedContent {
  /** Message kind. */
  readonly unsupported: string;
  /** True for textless media. */
  readonly isWordless: boolean;
}

export type MessageContent = MessageText | UnsupportedContent | 'start';

/** Caption paths by message kind. */
const CAPTIONS: ReadonlyMap<string, string> = new Map([
  ['image', 'image.caption'],
  ['video', 'video.caption'],
  ['document', 'document.caption'],
  ['order', 'order.text'],
]);
/** Kinds that may be textless. The platform sends `unsupported` for polls and other new kinds. */
const WORDLESS: ReadonlySet<string> = new Set([
  ...CAPTIONS.keys(),
  ...['audio', 'sticker', 'location', 'contacts', 'unsupported'],
]);
/** Sent when a person opens the chat for the first time. */
const WELCOME = 'request_welcome';
/** Limits for form values. */
const MAX_FIELDS = 200;
const MAX_NAME = 200;
/** Identifier from the form's developer, not an answer. */
const FLOW_TOKEN = 'flow_token';

/** Returns the content; undefined if the kind or the text is missing. */
export function contentOf(message: unknown): MessageContent | undefined {
  const kind = textMember(message, 'type');
  if (kind === undefined) return undefined;
  if (memberOf(message, 'group_id') !== undefined)
    return { unsupported: `${kind} in a group`, isWordless: false };
  if (kind === WELCOME) return 'start';
  if (kind === 'text') return writtenText(textMember(message, 'text.body'));
  if (kind === 'button') return templateButton(message) ?? { unsupported: kind, isWordless: false };
  if (kind === 'interactive') return interactiveContent(message);
  const caption = textMember(message, CAPTIONS.get(kind) ?? '');
  if (caption !== undefined && caption.trim() !== '') return writtenText(caption);
  return { unsupported: kind, isWordless: WORDLESS.has(kind) };
}

function writtenText(text: string | undefined): MessageText | undefined {
  return text === undefined ? undefined : { text, isChoice: false, parameters: {} };
}

function interactiveContent(message: unknown): MessageContent {
  const reply = textMember(message, 'interactive.type') ?? '';
  const button = textMember(message, 'interactive.button_reply.id');
  const row = textMember(message, 'interactive.list_reply.id');
  if (reply === 'button_reply' && button !== undefined) return choice(`button:${button}`);
  if (reply === 'list_reply' && row !== undefined) return choice(`list:${row}`);
  const form = reply === 'nfm_reply' ? formContent(message) : undefined;
  return form ?? { unsupported: `interactive ${reply}`.trim(), isWordless: false };
}

const choice = (text: string, parameters: MessageText['parameters'] = {}): MessageText => ({
  text,
  isChoice: true,
  parameters,
});

/** Returns the visible button text; programs use the payload. */
function templateButton(message: unknown): MessageText | undefined {
  const payload = textMember(message, 'button.payload');
  const text = textMember(message, 'button.text') ?? payload;
  return text === undefined ? undefined : choice(text, payload === undefined ? {} : { payload });
}

/** Returns form values, also as lines of text. */
function formContent(message: unknown): MessageText | undefined {
  const parameters = formValues(textMember(message, 'interactive.nfm_reply.response_json') ?? '');
  const lines = Object.entries(parameters)
    .filter(([name]) => name !== FLOW_TOKEN)
    .map(([name, value]) => `${name}: ${value}`);
  const text = lines.join('\n') || textMember(message, 'interactive.nfm_reply.body');
  return text === undefined ? undefined : choice(text, parameters);
}

/** Returns an empty object for invalid or too deeply nested JSON. */
function formValues(json: string): Readonly<Record<string, string>> {
  try {
    const values: unknown = parseJson(json);
    if (typeof values !== 'object' || values === null || Array.isArray(values)) return {};
    const entries = Object.entries(values)
      .slice(0, MAX_FIELDS)
      .filter(([name]) => name.length <= MAX_NAME)
      .map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]);
    return Object.fromEntries(entries);
  } catch {
    return {};
  }
}
