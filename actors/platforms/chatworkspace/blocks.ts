// Renders message blocks: title, text, fields, and buttons or lists. Stays within the platform's limits,
// because the platform refuses larger messages. Actions that cannot be buttons become text. The texts of a
// card contain no markup, so they are escaped.

import { lineBesideButton, lineOfAction } from '../../events/outbox/action-lines.ts';
import { escapeLine, escapeMarkdown } from '../../events/outbox/escape-markdown.ts';
import type { CardAction, CardField, MessageCard } from '../../events/outbox/message.ts';
import { convertedParts } from '../markdown/converted-parts.ts';
import { ownBlock } from './choice.ts';
import { truncate, writerOf } from './markup.ts';

export type MessageBlock = Readonly<Record<string, unknown>>;

export interface BlockOptions {
  readonly mayMention: boolean;
  /** True if a button press continues the conversation in the channel, not in the thread. */
  readonly isOfChannel: boolean;
}

const MAX_HEADER = 150;
export const MAX_SECTION = 3000;
const MAX_FIELD = 2000;
const FIELDS_OF_SECTION = 10;
export const MAX_BUTTONS = 25;
const MAX_BUTTON_TEXT = 75;
const MAX_ACTION_ID = 255;
const MAX_OPTIONS = 100;
/** Maximum length of the text, value and description of an option. */
const MAX_OPTION = 75;
const MAX_URL = 3000;

export function titleBlocks(title: string | undefined, options: BlockOptions): readonly MessageBlock[] {
  const line = title?.replace(/\s+/g, ' ').trim() ?? '';
  if (line === '') return [];
  if (line.length > MAX_HEADER) return textBlocks(`**${escapeLine(line)}**`, options);
  return [{ type: 'header', text: plain(line) }];
}

function textBlocks(markdown: string, options: BlockOptions): readonly MessageBlock[] {
  if (markdown.trim() === '') return [];
  const write = writerOf('markdown', options.mayMention);
  const size = { limit: MAX_SECTION, unit: 'entities' } as const;
  const parts = convertedParts(markdown, size, write, ({ length }) => length);
  return parts.map((part) => sectionOf(part, options));
}

/** Returns a block with a text in the platform's markup. */
export function sectionOf(text: string, { mayMention }: BlockOptions): MessageBlock {
  return { type: 'section', text: mrkdwn(text, mayMention) };
}

/** Returns the blocks below the message text. */
export function cardBlocks(card: MessageCard, options: BlockOptions): readonly MessageBlock[] {
  const { actions = [], fields = [], inputs = [] } = card;
  const { blocks, lines } = actionBlocks(actions, options);
  const inputLines = inputs.map(({ label }) => `${label}: …`);
  return [
    ...fieldBlocks(fields, options),
    ...textBlocks(escapeMarkdown([...inputLines, ...lines].join('\n')), options),
    ...blocks,
  ];
}

function fieldBlocks(fields: readonly CardField[], options: BlockOptions): readonly MessageBlock[] {
  const blocks: MessageBlock[] = [];
  let row: MessageBlock[] = [];
  const closeRow = () => {
    if (row.length > 0) blocks.push({ type: 'section', fields: row });
    row = [];
  };
  const write = writerOf('markdown', options.mayMention);
  for (const { name, value } of fields) {
    const markdown = `**${escapeLine(name)}**\n${escapeMarkdown(value)}`;
    const text = write(markdown);
    if (text.length > MAX_FIELD) {
      closeRow();
      blocks.push(...textBlocks(markdown, options));
    } else {
      row.push(mrkdwn(text, options.mayMention));
      if (row.length === FIELDS_OF_SECTION) closeRow();
    }
  }
  closeRow();
  return blocks;
}

interface Actions {
  readonly blocks: readonly MessageBlock[];
  /** Text for actions without a button, and for details that a button cannot show. */
  readonly lines: readonly string[];
}

function actionBlocks(actions: readonly CardAction[], options: BlockOptions): Actions {
  const isMany = actions.length > MAX_BUTTONS;
  const listable = isMany ? actions.filter(canBeListed) : [];
  const rest = isMany ? actions.filter((action) => !canBeListed(action)) : actions;
  const buttons: MessageBlock[] = [];
  const lines: string[] = [];
  for (const [index, action] of rest.entries()) {
    const button = buttons.length === MAX_BUTTONS ? undefined : buttonOf(action, index);
    if (button !== undefined) buttons.push(button);
    const line = button === undefined ? lineOfAction(action) : lineBesideButton(action);
    if (line !== undefined) lines.push(line);
  }
  const elements = [...(buttons.length > 0 ? [buttons] : []), ...listsOf(listable).map((list) => [list])];
  return { blocks: elements.map((each, index) => actionBlock(each, index, options)), lines };
}

function actionBlock(
  elements: readonly MessageBlock[],
  index: number,
  { isOfChannel }: BlockOptions,
): MessageBlock {
  return {
    type: 'actions',
    ...(isOfChannel && { block_id: `${ownBlock.ofChannel}${index + 1}` }),
    elements,
  };
}

function buttonOf({ id, title, style, url }: CardAction, index: number): MessageBlock | undefined {
  const button = { type: 'button', text: plain(truncate(title.trim() || id, MAX_BUTTON_TEXT)) };
  const styledButton = style === undefined ? button : { ...button, style };
  if (url !== undefined)
    return url.length > MAX_URL
      ? undefined
      : { ...styledButton, action_id: `${ownBlock.link}${index + 1}`, url };
  return id.length > MAX_ACTION_ID || isOwn(id) ? undefined : { ...styledButton, action_id: id };
}

function canBeListed({ id, url }: CardAction): boolean {
  return url === undefined && id.length <= MAX_OPTION && !isOwn(id);
}

function listsOf(actions: readonly CardAction[]): readonly MessageBlock[] {
  const count = Math.ceil(actions.length / MAX_OPTIONS);
  return Array.from({ length: count }, (_, index) => ({
    type: 'static_select',
    action_id: `${ownBlock.list}${index + 1}`,
    options: actions.slice(index * MAX_OPTIONS, (index + 1) * MAX_OPTIONS).map(optionOf),
  }));
}

function optionOf({ id, title, description }: CardAction): MessageBlock {
  const details = description?.trim() ?? '';
  return {
    text: plain(truncate(title.trim() || id, MAX_OPTION)),
    value: id,
    ...(details !== '' && { description: plain(truncate(details, MAX_OPTION)) }),
  };
}

const isOwn = (id: string) => Object.values(ownBlock).some((prefix) => id.startsWith(prefix));

const plain = (text: string): MessageBlock => ({ type: 'plain_text', text });

/** `verbatim` prevents the platform from turning names into mentions. */
function mrkdwn(text: string, mayMention: boolean): MessageBlock {
  return { type: 'mrkdwn', text, ...(!mayMention && { verbatim: true }) };
}
