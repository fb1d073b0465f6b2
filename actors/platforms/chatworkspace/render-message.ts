// Renders messages for the platform. Each has a text and, if needed, blocks; clients then show the blocks,
// and the text only in notifications.
//
// A long text is split into several messages and stays complete. The title is above the first part; fields
// and buttons are below the last part. The platform refuses messages above its limits.

import { UnrenderableError } from '../../events/outbox/delivery-error.ts';
import type { OutboundMessage } from '../../events/outbox/message.ts';
import { convertedParts, renderedFormat } from '../markdown/converted-parts.ts';
import { tablesAsCode } from '../markdown/tables-as-code.ts';
import { cardBlocks, MAX_BUTTONS, MAX_SECTION, type MessageBlock, sectionOf, titleBlocks } from './blocks.ts';
import { truncate, writerOf } from './markup.ts';

/** Parameters of an API call, as stored in an outbox row. */
export interface WorkspaceCall {
  readonly parameters: {
    readonly channel: string;
    readonly thread_ts?: string | undefined;
    readonly text: string;
    readonly blocks?: readonly MessageBlock[] | undefined;
  };
  /** Content id of the response address, for channels that lack the bot. */
  readonly response?: string | undefined;
  /** True for growing answers, omitted in such channels. */
  readonly isPreview?: true | undefined;
  /** Outbox row of the message to edit. If its receipt is missing, a new message is posted. */
  readonly of?: string;
}

/** Maximum text length, as the platform recommends. */
const MAX_TEXT = 4000;
/** Maximum number of blocks below the text. The platform accepts 50, but not all at full size. */
const MAX_BLOCKS = 40;
const MAX_BLOCKS_SIZE = 8_000;
const MAX_SUMMARY = 300;
export const workspaceLimits = { text: { most: MAX_TEXT, unit: 'utf16' }, buttons: MAX_BUTTONS } as const;

interface RenderedMessage {
  readonly text: string;
  readonly blocks?: readonly MessageBlock[];
}

/** Returns the API calls for a message. Throws UnrenderableError. */
export function workspaceCalls(message: OutboundMessage): readonly WorkspaceCall[] {
  const { target, action, text, card, mentions, isPreview } = message;
  const format = renderedFormat(message, MAX_TEXT);
  if (action.do === 'react') throw new UnrenderableError('this platform does not support reactions');
  const { place: channel, thread, repliesTo: response } = target;
  const mayMention = mentions === 'allow';
  const options = { mayMention, isOfChannel: thread === undefined };
  const write = writerOf(format, mayMention);
  const source = format === 'markdown' ? tablesAsCode(text) : text;
  const parts = text.trim() === '' ? [] : partsOf(source, MAX_TEXT, write);
  const head = titleBlocks(card?.title, options);
  const tails = groupBlocks(card === undefined ? [] : cardBlocks(card, options));
  const destination = { channel, ...(thread !== undefined && { thread_ts: thread }) };
  const sections = (source: string) =>
    partsOf(source, MAX_SECTION, write).map((section) => sectionOf(section.text, options));
  return renderParts(parts, head, tails, sections).map((rendered, index) => ({
    parameters: { ...destination, ...rendered },
    ...(response !== undefined && { response, ...(isPreview === true && { isPreview }) }),
    ...(action.do === 'edit' && index === 0 && { of: action.of }),
  }));
}

/** A part of a text, as written by the agent and in the platform's markup. */
interface MarkupPart {
  readonly source: string;
  readonly text: string;
}

function partsOf(text: string, limit: number, write: (part: string) => string): readonly MarkupPart[] {
  const convert = (source: string) => ({ source, text: write(source) });
  return convertedParts(text, { limit, unit: 'entities' }, convert, (part) => part.text.length);
}

function renderParts(
  parts: readonly MarkupPart[],
  head: readonly MessageBlock[],
  tails: readonly (readonly MessageBlock[])[],
  sections: (source: string) => readonly MessageBlock[],
): readonly RenderedMessage[] {
  if (parts.length === 0) {
    const [first = [], ...others] = tails;
    const all = [[...head, ...first], ...others].filter((blocks) => blocks.length > 0);
    return all.map((blocks) => ({ text: summaryOf(blocks), blocks }));
  }
  const [tail = [], ...others] = tails;
  const texts = parts.map(({ source, text }, index): RenderedMessage => {
    const above = index === 0 ? head : [];
    const below = index === parts.length - 1 ? tail : [];
    if (above.length + below.length === 0) return { text };
    return { text, blocks: [...above, ...sections(source), ...below] };
  });
  return [...texts, ...others.map((blocks) => ({ text: summaryOf(blocks), blocks }))];
}

/** Groups blocks into messages within the limits. */
function groupBlocks(blocks: readonly MessageBlock[]): readonly (readonly MessageBlock[])[] {
  const packs: MessageBlock[][] = [];
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

/** Returns the notification text; notifications do not show blocks. */
function summaryOf(blocks: readonly MessageBlock[]): string {
  return truncate(blocks.flatMap(textsIn).join(' '), MAX_SUMMARY) || '…';
}

function textsIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== 'object' || value === null) return [];
  const { type, text, fields, elements, options } = value as Readonly<Record<string, unknown>>;
  const isText = (type === 'plain_text' || type === 'mrkdwn') && typeof text === 'string';
  return isText ? [text] : [text, fields, elements, options].flatMap(textsIn);
}
