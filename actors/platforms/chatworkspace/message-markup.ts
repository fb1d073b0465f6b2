// Reads message text in the platform's markup. People write `text`; programs also write blocks and
// attachments. Forwarded messages are attachments, too. Link previews are omitted.
//
// Unescaped texts are escaped here, because text.ts decodes the result.

import type { MessageParty } from '../../events/message-origin.ts';
import { joinTexts } from '../payloads/join-texts.ts';
import { listMember, memberOf, textMember } from '../payloads/payload-member.ts';

/** Maximum text length, equal to the platform's message limit. */
const MAX_TEXT = 40_000;
const MAX_DEPTH = 12;

/** Returns the text, excluding forwarded messages; blank if missing. */
export function messageMarkup(event: unknown, isByBot: boolean): string {
  const text = textMember(event, 'text') ?? '';
  const blocks = () => renderAll(listMember(event, 'blocks'));
  // Programs use `text` as a summary for notifications.
  const body = text.trim() === '' ? blocks() : isByBot ? withDetails(text, blocks()) : text;
  const details = listMember(event, 'attachments').filter(
    (each) => !isForwarded(each) && textMember(each, 'from_url') === undefined,
  );
  return joined([body, ...details.map(attachmentMarkup)]);
}

export interface ForwardedMessage {
  /** True for forwards; false for previews of linked messages. */
  readonly isShared: boolean;
  readonly sender: MessageParty | undefined;
  /** Text in the platform's markup. */
  readonly text: string;
}

/** Returns the forwarded messages. */
export function forwardedMessages(event: unknown): readonly ForwardedMessage[] {
  return listMember(event, 'attachments')
    .filter(isForwarded)
    .map((attachment) => {
      const id = textMember(attachment, 'author_id');
      const name = textMember(attachment, 'author_name');
      return {
        isShared: memberOf(attachment, 'is_share') === true,
        sender: id === undefined && name === undefined ? undefined : { id, name },
        text: attachmentMarkup(attachment),
      };
    });
}

function withDetails(summary: string, details: string): string {
  if (details.includes(summary.trim())) return details;
  return summary.includes(details) ? summary : joined([summary, details]);
}

const isForwarded = (attachment: unknown) =>
  memberOf(attachment, 'is_share') === true || memberOf(attachment, 'is_msg_unfurl') === true;

function attachmentMarkup(attachment: unknown): string {
  const fields = listMember(attachment, 'fields').map((field) =>
    [textMember(field, 'title'), textMember(field, 'value')].filter((part) => part).join(': '),
  );
  const texts = ['pretext', 'title', 'text'].map((name) => textMember(attachment, name) ?? '');
  const blocks = renderAll(listMember(attachment, 'blocks'));
  return joined([...texts, ...fields, blocks]) || (textMember(attachment, 'fallback') ?? '');
}

type Renderer = (node: unknown, depth: number) => string;

const lines: Renderer = (node, depth) =>
  joined(listMember(node, 'elements').map((each) => render(each, depth)));
const inline: Renderer = (node, depth) =>
  listMember(node, 'elements')
    .map((each) => render(each, depth))
    .join('');
const sequence =
  (mark: string, path: string): Renderer =>
  (node) =>
    `<${mark}${textMember(node, path) ?? ''}>`;

const renderers: ReadonlyMap<string, Renderer> = new Map<string, Renderer>([
  ['mrkdwn', (node) => textMember(node, 'text') ?? ''],
  ['plain_text', (node) => escaped(textMember(node, 'text'))],
  ['raw_text', (node) => escaped(textMember(node, 'text'))],
  ['markdown', (node) => escaped(textMember(node, 'text'))],
  ['section', sectionMarkup],
  ['header', (node, depth) => render(memberOf(node, 'text'), depth)],
  ['context', lines],
  ['table', tableMarkup],
  ['rich_text', lines],
  ['rich_text_section', inline],
  ['rich_text_preformatted', inline],
  ['rich_text_quote', inline],
  ['rich_text_list', lines],
  ['text', (node) => escaped(textMember(node, 'text'))],
  ['link', linkMarkup],
  ['user', sequence('@', 'user_id')],
  ['channel', sequence('#', 'channel_id')],
  ['usergroup', sequence('!subteam^', 'usergroup_id')],
  ['broadcast', sequence('!', 'range')],
  ['emoji', (node) => `:${textMember(node, 'name') ?? ''}:`],
  ['date', (node) => escaped(textMember(node, 'fallback'))],
]);

function render(node: unknown, depth: number): string {
  if (depth > MAX_DEPTH) return '';
  return renderers.get(textMember(node, 'type') ?? '')?.(node, depth + 1) ?? '';
}

function renderAll(blocks: readonly unknown[]): string {
  return joined(blocks.map((block) => render(block, 0)));
}

function sectionMarkup(node: unknown, depth: number): string {
  return joined([memberOf(node, 'text'), ...listMember(node, 'fields')].map((each) => render(each, depth)));
}

function tableMarkup(node: unknown, depth: number): string {
  const rows = listMember(node, 'rows').map((row) => (Array.isArray(row) ? row : []));
  return joined(rows.map((cells) => cells.map((cell: unknown) => render(cell, depth)).join(' | ')));
}

function linkMarkup(node: unknown): string {
  const url = escaped(textMember(node, 'url'));
  const text = escaped(textMember(node, 'text')).replaceAll('|', ' ');
  return text === '' ? `<${url}>` : `<${url}|${text}>`;
}

const joined = (parts: readonly string[]) => joinTexts(parts, MAX_TEXT);

const escaped = (text = '') => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
