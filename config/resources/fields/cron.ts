// Checks an expression of cron: five fields, or six with the seconds first. What follows it in time is the scheduler's
// affair; that one takes a bad expression without a word, so it is judged here, in words an operator can use.
//
// CR1  what passes here, the scheduler understands, and it comes at some time.

interface FieldKind {
  readonly name: string;
  readonly low: number;
  readonly high: number;
  readonly words?: readonly string[];
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const kinds: readonly FieldKind[] = [
  { name: 'second', low: 0, high: 59 },
  { name: 'minute', low: 0, high: 59 },
  { name: 'hour', low: 0, high: 23 },
  { name: 'day of month', low: 1, high: 31 },
  { name: 'month', low: 1, high: 12, words: months },
  { name: 'day of week', low: 0, high: 6, words: weekdays },
];

/** Of February, the day that leap years have counts. */
const daysOfMonth = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** What is wrong with an expression, or undefined. */
export function cronFault(expression: string): string | undefined {
  const fields = expression.trim().split(/\s+/);
  if (fields.length !== 5 && fields.length !== 6) {
    const found = expression.trim() === '' ? 0 : fields.length;
    return `expected 5 fields (minute, hour, day of month, month, day of week), or 6 with seconds first; found ${found}`;
  }
  const used = fields.length === 6 ? kinds : kinds.slice(1);
  const sets: ReadonlySet<number>[] = [];
  for (const [index, kind] of used.entries()) {
    const values = valuesOf(fields[index] ?? '', kind);
    if (typeof values === 'string') return `${kind.name}: ${values}`;
    sets.push(values);
  }
  const [days, monthsOfYear] = sets.slice(-3);
  // With a day of the week as well, either of the two days will do.
  const isByDate = fields.at(-1) === '*';
  if (isByDate && days !== undefined && monthsOfYear !== undefined && !comes(days, monthsOfYear))
    return 'never comes: none of its months has such a day';
  return undefined;
}

function comes(days: ReadonlySet<number>, monthsOfYear: ReadonlySet<number>): boolean {
  const first = Math.min(...days);
  return [...monthsOfYear].some((month) => first <= (daysOfMonth[month - 1] ?? 0));
}

/** The values that a field stands for, or what is wrong with it. */
function valuesOf(field: string, kind: FieldKind): ReadonlySet<number> | string {
  const values = new Set<number>();
  for (const part of field.split(',')) {
    const range = rangeOf(part, kind);
    if (typeof range === 'string') return range;
    for (let value = range.from; value <= range.to; value += range.step) values.add(value);
  }
  return values;
}

function rangeOf(part: string, kind: FieldKind): { from: number; to: number; step: number } | string {
  const match = /^(?:(\*)|([0-9]+|[A-Za-z]+)(?:-([0-9]+|[A-Za-z]+))?)(?:\/([0-9]+))?$/.exec(part);
  if (match === null) return `${JSON.stringify(part)} is none of *, 5, 1-5, */5, 1-5/2 and lists of these`;
  const [, star, first = '', last, stepText] = match;
  const step = stepText === undefined ? 1 : Number(stepText);
  if (step < 1 || step > kind.high) return `a step of ${stepText} is outside 1-${kind.high}`;
  if (star !== undefined) return { from: kind.low, to: kind.high, step };
  const from = numberOf(first, kind);
  if (typeof from === 'string') return from;
  if (last === undefined) {
    // `5/10` is read by some as "from 5 on", by others as 5 alone.
    return stepText === undefined
      ? { from, to: from, step }
      : `write ${first}-${kind.high}/${stepText} instead of ${part}`;
  }
  const to = numberOf(last, kind);
  if (typeof to === 'string') return to;
  return from <= to ? { from, to, step } : `the range ${part} runs backwards`;
}

function numberOf(text: string, { low, high, words, name }: FieldKind): number | string {
  if (/^[0-9]+$/.test(text)) {
    const value = Number(text);
    if (value >= low && value <= high) return value;
    const hint = name === 'day of week' && value === 7 ? ' (Sunday is 0)' : '';
    return `${text} is outside ${low}-${high}${hint}`;
  }
  const index = words?.indexOf(text.toLowerCase()) ?? -1;
  if (index >= 0) return index + low;
  return words === undefined ? `${text} is no number` : `${text} is none of ${words.join(', ')}`;
}
