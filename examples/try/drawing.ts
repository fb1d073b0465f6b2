// Renders chat messages for a terminal: plain messages as a line, cards in a frame with their buttons below.

import { type Paint, plain } from '../../src/terminal/paint.ts';
import { printable, printableLines } from '../../src/terminal/terminal-text.ts';
import type { VisibleMessage } from '../../test/fixtures/chats/local-chat.ts';

export interface Drawing {
  readonly paint?: Paint;
  /** Width of the terminal, in characters. */
  readonly columns?: number;
  /** Place of the message, if not the current one. */
  readonly place?: string | undefined;
}

/** Returns the lines of a message. */
export function drawn(
  message: VisibleMessage,
  { paint = plain, columns = 80, place }: Drawing = {},
): string[] {
  const { who, mark, title, text, fields, choices, isEdited } = message;
  const head = [
    paint('good', printable(who)),
    ...(place === undefined ? [] : [paint('faint', `in ${place}`)]),
    ...(isEdited ? [paint('faint', '(edited)')] : []),
  ].join(' ');
  const width = Math.max(20, columns - 4);
  const body = [
    ...(title === undefined ? [] : [paint('strong', printable(title))]),
    ...renderText([mark, text].filter((part) => part !== undefined).join(' '), width, paint),
    ...table(fields, paint),
    ...(choices.length === 0 ? [] : [buttons(choices, paint)]),
  ];
  const isCard = title !== undefined || fields.length > 0 || choices.length > 0;
  if (!isCard && body.length === 1) return [`${head}: ${body[0]}`];
  const [top, side, bottom] = isCard ? ['┌─', '│ ', '└─'] : ['', '  ', ''];
  return [
    `${head}:`,
    ...(top === '' ? [] : [paint('faint', top)]),
    ...body.map((line) => paint('faint', side) + line),
    ...(bottom === '' ? [] : [paint('faint', bottom)]),
  ];
}

/** Wraps lines at blanks, except code. */
function renderText(text: string, width: number, paint: Paint): string[] {
  let isCode = false;
  return printableLines(text)
    .split('\n')
    .flatMap((line) => {
      const isFence = line.startsWith('```');
      if (isFence) isCode = !isCode;
      return isFence ? [paint('faint', line)] : isCode ? [paint('busy', line)] : wrapped(line, width);
    });
}

function wrapped(line: string, width: number): string[] {
  const lines: string[] = [];
  let rest = line;
  while (rest.length > width) {
    const blank = rest.lastIndexOf(' ', width);
    const at = blank > 0 ? blank : width;
    lines.push(rest.slice(0, at));
    rest = rest.slice(at).trimStart();
  }
  return [...lines, rest];
}

function table(fields: VisibleMessage['fields'], paint: Paint): string[] {
  const width = Math.max(0, ...fields.map(({ name }) => name.length));
  return fields.map(
    ({ name, value }) => `${paint('faint', printable(name).padEnd(width))}  ${printable(value)}`,
  );
}

/** Shows buttons with their numbers. */
function buttons(choices: readonly string[], paint: Paint): string {
  return choices
    .map((choice, index) => `[${paint('faint', `#${index + 1}`)} ${paint('strong', printable(choice))}]`)
    .join(' ');
}
