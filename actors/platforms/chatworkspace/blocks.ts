// The blocks of a message: a title, its text, fields, and buttons or lists to choose from, within the platform's limits, beyond any of
// which it would refuse the message. What can be no button stands in words.

import { lineBesideButton, lineOfAction } from '../../events/outbox/action-lines.ts';
import type { Card, CardAction, CardField } from '../../events/outbox/outbound-message.ts';
import { sizeOf, splitText } from '../../events/outbox/split-text.ts';
import { ownBlock } from './choice.ts';
import { cut, markup } from './markup.ts';

export type Block = Readonly<Record<string, unknown>>;

export interface BlockOptions {
  readonly mayMention: boolean;
  /** What is pressed goes on in the channel as a whole, and not below the message. */
  readonly isOfChannel: boolean;
}

const MAX_HEADER = 150;
const MAX_SECTION = 3000;
const MAX_FIELD = 2000;
const FIELDS_OF_SECTION = 10;
export const MAX_BUTTONS = 25;
const MAX_BUTTON_TEXT = 75;
const MAX_ACTION_ID = 255;
const MAX_OPTIONS = 100;
/** Of an option's text, value and description. */
const MAX_OPTION = 75;
const MAX_URL = 3000;

export function titleBlocks(title: string | undefined, options: BlockOptions): readonly Block[] {
  const words = title?.replace(/\s+/g, ' ').trim() ?? '';
  if (words === '') return [];
  if (words.length > MAX_HEADER) return textBlocks(`*${words}*`, options);
  return [{ type: 'header', text: plain(words) }];
}

export function textBlocks(text: string, { mayMention }: BlockOptions): readonly Block[] {
  if (text.trim() === '') return [];
  return splitText(text, { limit: MAX_SECTION, unit: 'entities' }).map((part) => ({
    type: 'section',
    text: mrkdwn(part, mayMention),
  }));
}

/** What stands below the text. */
export function cardBlocks(card: Card, options: BlockOptions): readonly Block[] {
  const { actions = [], fields = [], inputs = [] } = card;
  const { blocks, lines } = actionBlocks(actions, options);
  const asked = inputs.map(({ label }) => `${label}: …`);
  return [
    ...fieldBlocks(fields, options),
    ...textBlocks([...asked, ...lines].join('\n'), options),
    ...blocks,
  ];
}

function fieldBlocks(fields: readonly CardField[], options: BlockOptions): readonly Block[] {
  const blocks: Block[] = [];
  let row: Block[] = [];
  const end = () => {
    if (row.length > 0) blocks.push({ type: 'section', fields: row });
    row = [];
  };
  for (const { name, value } of fields) {
    const text = `*${name}*\n${value}`;
    if (sizeOf(text, 'entities') > MAX_FIELD) {
      end();
      blocks.push(...textBlocks(text, options));
    } else {
      row.push(mrkdwn(text, options.mayMention));
      if (row.length === FIELDS_OF_SECTION) end();
    }
  }
  end();
  return blocks;
}

interface Actions {
  readonly blocks: readonly Block[];
  /** What can be no button, and what a button has no room for. */
  readonly lines: readonly string[];
}

function actionBlocks(actions: readonly CardAction[], options: BlockOptions): Actions {
  const isMany = actions.length > MAX_BUTTONS;
  const listed = isMany ? actions.filter(canBeListed) : [];
  const rest = isMany ? actions.filter((action) => !canBeListed(action)) : actions;
  const buttons: Block[] = [];
  const lines: string[] = [];
  for (const [index, action] of rest.entries()) {
    const button = buttons.length === MAX_BUTTONS ? undefined : buttonOf(action, index);
    if (button !== undefined) buttons.push(button);
    const line = button === undefined ? lineOfAction(action) : lineBesideButton(action);
    if (line !== undefined) lines.push(line);
  }
  const elements = [...(buttons.length > 0 ? [buttons] : []), ...listsOf(listed).map((list) => [list])];
  return { blocks: elements.map((each, index) => actionBlock(each, index, options)), lines };
}

function actionBlock(elements: readonly Block[], index: number, { isOfChannel }: BlockOptions): Block {
  return {
    type: 'actions',
    ...(isOfChannel && { block_id: `${ownBlock.ofChannel}${index + 1}` }),
    elements,
  };
}

function buttonOf({ id, title, style, url }: CardAction, index: number): Block | undefined {
  const button = { type: 'button', text: plain(cut(title.trim() || id, MAX_BUTTON_TEXT)) };
  const styled = style === undefined ? button : { ...button, style };
  if (url !== undefined)
    return url.length > MAX_URL ? undefined : { ...styled, action_id: `${ownBlock.link}${index + 1}`, url };
  return id.length > MAX_ACTION_ID || isOwn(id) ? undefined : { ...styled, action_id: id };
}

function canBeListed({ id, url }: CardAction): boolean {
  return url === undefined && id.length <= MAX_OPTION && !isOwn(id);
}

function listsOf(actions: readonly CardAction[]): readonly Block[] {
  const count = Math.ceil(actions.length / MAX_OPTIONS);
  return Array.from({ length: count }, (_, index) => ({
    type: 'static_select',
    action_id: `${ownBlock.list}${index + 1}`,
    options: actions.slice(index * MAX_OPTIONS, (index + 1) * MAX_OPTIONS).map(optionOf),
  }));
}

function optionOf({ id, title, description }: CardAction): Block {
  const words = description?.trim() ?? '';
  return {
    text: plain(cut(title.trim() || id, MAX_OPTION)),
    value: id,
    ...(words !== '' && { description: plain(cut(words, MAX_OPTION)) }),
  };
}

const isOwn = (id: string) => Object.values(ownBlock).some((prefix) => id.startsWith(prefix));

const plain = (text: string): Block => ({ type: 'plain_text', text });

/** Names in it are what they are, unless they may notify somebody. */
function mrkdwn(text: string, mayMention: boolean): Block {
  return { type: 'mrkdwn', text: markup(text, mayMention), ...(!mayMention && { verbatim: true }) };
}
