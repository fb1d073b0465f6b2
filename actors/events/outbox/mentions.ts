// What an agent writes is text: what a platform would read in it as a mention of somebody, or of everybody, notifies nobody,
// unless the trigger says `mentions: allow`. Where a platform has a field that says so its adapter uses that; for others such
// words are taken apart here, in whatever leaves, by a sign that nobody sees.
//
// MEN1  in code nothing is changed, since people copy it, where it is certain that the platform reads it as code: strangers choose
//       what agents repeat, and would like a name to look like code here and not there. In doubt it is text.

import type { Card, OutboundMessage } from './outbound-message.ts';

/** What a platform reads as a mention. */
export interface MentionRule {
  /** Global. Behind the first character of each match the sign is put. */
  readonly pattern: RegExp;
  /** Code in Markdown is none there, or is read as well. */
  readonly isReadInCode?: boolean | undefined;
  /** A block of code is none until it is closed, by the same marks, and has one plain word behind its opening at most. */
  readonly isCodeClosed?: boolean | undefined;
}

/** Word joiner: no width, and no place for a line to break. */
const UNSEEN = '\u2060';
/** A block of code that no list, quotation or page can end, or be around. */
const OPENING = /^(`{3,}(?=[^`]*$)|~{3,})/;
/** With one plain word behind the marks at most. */
const PLAIN_OPENING = /^[`~]{3,} *(?:[\w#.+-]+ *)?$/;
/** What may make code of what follows, or text of it, in a way that only the whole of Markdown would tell. */
const MAY_MISLEAD = /`{3}|~{3}|^[\s>]*</;

/** Whatever people would see of it. */
export function messageWithoutMentions(message: OutboundMessage, rule: MentionRule): OutboundMessage {
  const { text, card } = message;
  return { ...message, text: withoutMentions(text, rule), card: card && cardWithout(card, rule) };
}

function cardWithout({ title, fields, actions, inputs }: Card, rule: MentionRule): Card {
  const harmless = (words: string) => withoutMentions(words, rule);
  const optional = (words: string | undefined) => (words === undefined ? undefined : harmless(words));
  return {
    title: optional(title),
    fields: fields?.map(({ name, value }) => ({ name: harmless(name), value: harmless(value) })),
    actions: actions?.map((action) => ({
      ...action,
      title: harmless(action.title),
      description: optional(action.description),
    })),
    inputs: inputs?.map((input) => ({ ...input, label: harmless(input.label) })),
  };
}

/** The text in which nothing is a mention any more. */
export function withoutMentions(
  text: string,
  { pattern, isReadInCode = false, isCodeClosed = false }: MentionRule,
): string {
  // Most texts have none.
  if (text.search(pattern) === -1) return text;
  // A lone carriage return ends a line for some platforms, and so a block of code, and none for others.
  if (isReadInCode || /\r(?!\n)/.test(text)) return takenApart(text, pattern);
  let closing: string | undefined;
  let isCertain = true;
  let isPlainParagraph = true;
  const lines = text.split('\n').map((line, index, all) => {
    if (closing !== undefined) {
      if (isClosing(line, closing)) closing = undefined;
      return line;
    }
    const [marks] = (isCertain ? OPENING.exec(line) : null) ?? [];
    if (marks !== undefined && (!isCodeClosed || isClosedAlike(all, index, marks))) {
      closing = marks;
      // What stands behind the marks is a word for the language.
      return takenApart(line, pattern);
    }
    isCertain &&= !MAY_MISLEAD.test(line);
    if (line.trim() === '') isPlainParagraph = isCertain;
    isPlainParagraph &&= isCertain && isPlain(line);
    return isPlainParagraph ? besideCode(line, pattern) : takenApart(line, pattern);
  });
  return lines.join('\n');
}

function isClosing(line: string, opening: string): boolean {
  const marks = line.trimEnd();
  return marks.startsWith(opening) && marks === opening.charAt(0).repeat(marks.length);
}

/** Whether a block of code that begins at the line is one in the strictest reading too. */
function isClosedAlike(lines: readonly string[], index: number, marks: string): boolean {
  if (!PLAIN_OPENING.test(lines[index] ?? '')) return false;
  let end = index + 1;
  while (end < lines.length && !isClosing(lines[end] ?? '', marks)) end += 1;
  return lines[end]?.trimEnd() === marks;
}

/** Single backticks in pairs, and nothing that goes before them: each second piece is code. */
function isPlain(line: string): boolean {
  return !/``|\\`|[<|]/.test(line) && line.split('`').length % 2 === 1;
}

function besideCode(line: string, pattern: RegExp): string {
  return line
    .split('`')
    .map((piece, i) => (i % 2 === 1 ? piece : takenApart(piece, pattern)))
    .join('`');
}

function takenApart(text: string, pattern: RegExp): string {
  return text.replace(pattern, (found) => {
    const [first = ''] = found;
    return first + UNSEEN + found.slice(first.length);
  });
}
