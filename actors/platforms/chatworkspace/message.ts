// A message in the platform's form: texts, and where there is more than text blocks, which are shown in place of the text.
//
// WSM1  the text arrives whole and in order, each part within what one message holds; a title stands above the first, fields and
//       buttons below the last.
// WSM2  nothing in it is beyond a limit of the platform, which would refuse the message.

import { UnrenderableError } from '../../events/outbox/delivery-error.ts';
import type { OutboundMessage } from '../../events/outbox/outbound-message.ts';
import { splitText } from '../../events/outbox/split-text.ts';
import { type Block, type BlockOptions, cardBlocks, MAX_BUTTONS, textBlocks, titleBlocks } from './blocks.ts';
import { cut, markup } from './markup.ts';

/** A message of the API, as a row of the outbox keeps it. */
export interface WorkspaceCall {
  readonly parameters: {
    readonly channel: string;
    readonly thread_ts?: string | undefined;
    readonly text: string;
    readonly blocks?: readonly Block[] | undefined;
  };
  /** The row whose message this is to stand in, if that has one. */
  readonly of?: string;
}

/** Of one message, as the platform recommends. */
const MAX_TEXT = 4000;
/** Below the text of one message; the platform takes 50, and not all of them full. */
const MAX_BLOCKS = 40;
const MAX_BLOCKS_SIZE = 8_000;
const MAX_SUMMARY = 300;
export const workspaceLimits = { text: { most: MAX_TEXT, unit: 'utf16' }, buttons: MAX_BUTTONS } as const;

interface Shown {
  readonly text: string;
  readonly blocks?: readonly Block[];
}

/** Throws UnrenderableError. */
export function workspaceCalls({
  target,
  action,
  text,
  card,
  mentions,
}: OutboundMessage): readonly WorkspaceCall[] {
  if (action.do === 'react')
    throw new UnrenderableError('a message of a workspace can be written and changed, not reacted to');
  const { place: channel, thread } = target;
  const mayMention = mentions === 'allow';
  const options = { mayMention, isOfChannel: thread === undefined };
  const parts = text.trim() === '' ? [] : splitText(text, { limit: MAX_TEXT, unit: 'entities' });
  const head = titleBlocks(card?.title, options);
  const tails = packed(card === undefined ? [] : cardBlocks(card, options));
  const place = { channel, ...(thread !== undefined && { thread_ts: thread }) };
  return shownOf(parts, head, tails, options).map((shown, index) => ({
    parameters: { ...place, ...shown },
    ...(action.do === 'edit' && index === 0 && { of: action.of }),
  }));
}

function shownOf(
  parts: readonly string[],
  head: readonly Block[],
  tails: readonly (readonly Block[])[],
  options: BlockOptions,
): readonly Shown[] {
  if (parts.length === 0) {
    const [first = [], ...others] = tails;
    const all = [[...head, ...first], ...others].filter((blocks) => blocks.length > 0);
    return all.map((blocks) => ({ text: summaryOf(blocks), blocks }));
  }
  const [tail = [], ...others] = tails;
  const texts = parts.map((part, index): Shown => {
    const above = index === 0 ? head : [];
    const below = index === parts.length - 1 ? tail : [];
    const shown = markup(part, options.mayMention);
    if (above.length + below.length === 0) return { text: shown };
    return { text: shown, blocks: [...above, ...textBlocks(part, options), ...below] };
  });
  return [...texts, ...others.map((blocks) => ({ text: summaryOf(blocks), blocks }))];
}

/** As many together as one message holds. */
function packed(blocks: readonly Block[]): readonly (readonly Block[])[] {
  const packs: Block[][] = [];
  let size = 0;
  for (const block of blocks) {
    const more = JSON.stringify(block).length;
    const last = packs.at(-1);
    if (last === undefined || last.length === MAX_BLOCKS || size + more > MAX_BLOCKS_SIZE) {
      packs.push([block]);
      size = more;
    } else {
      last.push(block);
      size += more;
    }
  }
  return packs;
}

/** For notifications, where blocks are not shown. */
function summaryOf(blocks: readonly Block[]): string {
  return cut(blocks.flatMap(textsIn).join(' '), MAX_SUMMARY) || '…';
}

function textsIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== 'object' || value === null) return [];
  const { type, text, fields, elements, options } = value as Readonly<Record<string, unknown>>;
  const isText = (type === 'plain_text' || type === 'mrkdwn') && typeof text === 'string';
  return isText ? [text] : [text, fields, elements, options].flatMap(textsIn);
}
