// Shows a source line below an error message, with a marker at the position. Values may be secrets, so their
// letters and digits are masked (A9, ARCHITECTURE.md). Indentation, keys, quotes, brackets, colons and
// variable names in `${VAR}` stay visible.

/** Returns the numbered line, and a marker below the column (line and column from 1). */
export function excerpt(text: string, line: number, column: number): readonly string[] {
  const written = text.split('\n', line)[line - 1] ?? '';
  const from = Math.max(0, Math.min(column - 1 - MAX_CHARS_BEFORE, written.length));
  const shown = maskValues(written).slice(from, from + MAX_CHARS);
  const number = String(line).padStart(5);
  const mark = ' '.repeat(Math.min(column - 1 - from, MAX_CHARS));
  return [
    `${number} | ${from > 0 ? '…' : ''}${shown}`,
    `${' '.repeat(number.length)} | ${from > 0 ? ' ' : ''}${mark}^`,
  ];
}

const MAX_CHARS = 100;
const MAX_CHARS_BEFORE = 80;

/** Masks values and keeps the length, so that columns stay valid. */
function maskValues(line: string): string {
  const start =
    /^[\s-]*(?:(?:"[\w.@/ -]{1,64}"|'[\w.@/ -]{1,64}'|[\w.@/-]{1,64})\s*[:=])?/.exec(line)?.[0] ?? '';
  const rest = line
    .slice(start.length)
    .split(reference)
    // Odd indexes are the captured `${VAR}`.
    .map((part, index) =>
      index % 2 === 1 ? part : part.replace(/[\p{L}\p{N}\p{M}\p{So}_]/gu, (each) => '•'.repeat(each.length)),
    )
    .join('');
  return (start + rest).replace(/\t/g, '→').replace(/\p{C}/gu, ' ');
}

const reference = /(\$\{[A-Za-z_]\w{0,63}\})/;
