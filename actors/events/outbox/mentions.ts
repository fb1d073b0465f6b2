// Neutralises mentions, so that an agent's text notifies no person unless the trigger has `mentions: allow`.
// An invisible character is inserted into each mention. Platforms with a request field for this purpose do
// not need this file.
//
// Code blocks are not changed, since people copy them, but only if the platform certainly treats them as
// code. An attacker may control text that an agent repeats, and could write a mention that looks like code
// here but not to the platform. Ambiguous cases are therefore treated as text.

import type { MessageCard, OutboundMessage } from './message.ts';

/** Syntax of mentions on a platform. */
export interface MentionRule {
  /** Global pattern; the invisible character is inserted after the first character of each match. */
  readonly pattern: RegExp;
  /**
   * True if the platform accepts a code block only if it is closed with the same marks, and if the language
   * on the opening line is a plain word.
   */
  readonly requiresClosedCode?: boolean | undefined;
}

/** Word joiner: zero width, no line break. */
const INVISIBLE = '\u2060';
/** Opening line of top-level code blocks. */
const OPENING = /^(`{3,}(?=[^`]*$)|~{3,})/;
/** Opening line with only a plain word, or nothing more. */
const PLAIN_OPENING = /^[`~]{3,} *(?:[\w#.+-]+ *)?$/;
/** After a line with this text, only a full Markdown parser can distinguish code from text. */
const MAY_MISLEAD = /`{3}|~{3}|^[\s>]*</;

/** Returns the message with all mentions neutralised, in text and card. */
export function messageWithMentionsNeutralised(message: OutboundMessage, rule: MentionRule): OutboundMessage {
  const { text, card } = message;
  return {
    ...message,
    text: withMentionsNeutralised(text, rule),
    card: card && cardWithMentionsNeutralised(card, rule),
  };
}

function cardWithMentionsNeutralised(
  { title, fields, actions, inputs }: MessageCard,
  rule: MentionRule,
): MessageCard {
  const neutralise = (value: string) => withMentionsNeutralised(value, rule);
  const optional = (value: string | undefined) => (value === undefined ? undefined : neutralise(value));
  return {
    title: optional(title),
    fields: fields?.map(({ name, value }) => ({ name: neutralise(name), value: neutralise(value) })),
    actions: actions?.map((action) => ({
      ...action,
      title: neutralise(action.title),
      description: optional(action.description),
    })),
    inputs: inputs?.map((input) => ({ ...input, label: neutralise(input.label) })),
  };
}

/** Returns the text with all mentions neutralised. */
export function withMentionsNeutralised(
  text: string,
  { pattern, requiresClosedCode = false }: MentionRule,
): string {
  // Fast path: most texts contain no mention.
  if (text.search(pattern) === -1) return text;
  // Some platforms treat a lone carriage return as a line break, which can close a code block.
  if (/\r(?!\n)/.test(text)) return splitMentions(text, pattern);
  let closing: string | undefined;
  // False from the first line that could mislead the detection of code.
  let isCertain = true;
  let isPlainParagraph = true;
  const lines = text.split('\n').map((line, index, all) => {
    if (closing !== undefined) {
      if (isClosing(line, closing)) closing = undefined;
      return line;
    }
    const [marks] = (isCertain ? OPENING.exec(line) : null) ?? [];
    if (marks !== undefined && (!requiresClosedCode || isStrictCodeBlock(all, index, marks))) {
      closing = marks;
      // The text after the marks names the language.
      return splitMentions(line, pattern);
    }
    isCertain &&= !MAY_MISLEAD.test(line);
    if (line.trim() === '') isPlainParagraph = isCertain;
    isPlainParagraph &&= isCertain && isPlain(line);
    return isPlainParagraph ? splitOutsideCode(line, pattern) : splitMentions(line, pattern);
  });
  return lines.join('\n');
}

function isClosing(line: string, opening: string): boolean {
  const marks = line.trimEnd();
  return marks.startsWith(opening) && marks === opening.charAt(0).repeat(marks.length);
}

/** Returns whether even a strict parser accepts the code block that opens at the line. */
function isStrictCodeBlock(lines: readonly string[], index: number, marks: string): boolean {
  if (!PLAIN_OPENING.test(lines[index] ?? '')) return false;
  let end = index + 1;
  while (end < lines.length && !isClosing(lines[end] ?? '', marks)) end += 1;
  return lines[end]?.trimEnd() === marks;
}

/** Returns true for a line that has single backticks in pairs only: every second piece is then code. */
function isPlain(line: string): boolean {
  return !/``|\\`|[<|]/.test(line) && line.split('`').length % 2 === 1;
}

function splitOutsideCode(line: string, pattern: RegExp): string {
  return line
    .split('`')
    .map((piece, i) => (i % 2 === 1 ? piece : splitMentions(piece, pattern)))
    .join('`');
}

function splitMentions(text: string, pattern: RegExp): string {
  return text.replace(pattern, (match) => {
    const [first = ''] = match;
    return first + INVISIBLE + match.slice(first.length);
  });
}
