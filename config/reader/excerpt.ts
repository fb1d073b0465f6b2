// A line of a file as it is shown below a complaint about it, with a mark at the place. Values are covered sign by sign, since
// each may be a secret: what makes the syntax (indentation, keys, quotes, brackets, colons) stays to be seen.
//
// EX1 (A9)  of a value no letter and no digit is shown; names of variables in references are.

/** The line with its number, and a mark under the column (both counted from 1). */
export function excerpt(text: string, line: number, column: number): readonly string[] {
  const written = text.split('\n', line)[line - 1] ?? '';
  const from = Math.max(0, Math.min(column - 1 - BEFORE, written.length));
  const shown = covered(written).slice(from, from + WIDTH);
  const number = String(line).padStart(5);
  const mark = ' '.repeat(Math.min(column - 1 - from, WIDTH));
  return [
    `${number} | ${from > 0 ? '…' : ''}${shown}`,
    `${' '.repeat(number.length)} | ${from > 0 ? ' ' : ''}${mark}^`,
  ];
}

const WIDTH = 100;
const BEFORE = 80;

/** The same length, so that a column stays where it is. */
function covered(line: string): string {
  const start =
    /^[\s-]*(?:(?:"[\w.@/ -]{1,64}"|'[\w.@/ -]{1,64}'|[\w.@/-]{1,64})\s*[:=])?/.exec(line)?.[0] ?? '';
  const rest = line
    .slice(start.length)
    .split(reference)
    // What the pattern captures is at the odd places.
    .map((part, at) =>
      at % 2 === 1 ? part : part.replace(/[\p{L}\p{N}\p{M}\p{So}_]/gu, (each) => '•'.repeat(each.length)),
    )
    .join('');
  return (start + rest).replace(/\t/g, '→').replace(/\p{C}/gu, ' ');
}

const reference = /(\$\{[A-Za-z_]\w{0,63}\})/;
