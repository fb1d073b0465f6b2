// Parses cron expressions: five fields, or six with seconds first. node-schedule accepts invalid expressions
// silently, so they are checked here, with messages for operators. A valid expression has a next time.

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

/** February has 29 days, for leap years. */
const daysOfMonth = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Values per field. */
export interface CronFields {
  readonly seconds: ReadonlySet<number>;
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** True if both day fields are restricted: a day must match only one of them (POSIX). */
  readonly isEitherDay: boolean;
}

/** Returns the error message, if any. */
export function cronFault(expression: string): string | undefined {
  const parsed = parseCron(expression);
  if (typeof parsed === 'string') return parsed;
  // The last field, day of week, is `*`, so only day of month and month restrict the days.
  const isByDate = /\s\*$/.test(expression.trim());
  return isByDate && !hasSuchDay(parsed.days, parsed.months)
    ? 'never occurs: none of its months has such a day'
    : undefined;
}

/** Parses an expression. Returns its fields, or an error message. */
export function parseCron(expression: string): CronFields | string {
  const fields = expression.trim().split(/\s+/);
  if (fields.length !== 5 && fields.length !== 6) {
    const found = expression.trim() === '' ? 0 : fields.length;
    return `expected 5 fields (minute, hour, day of month, month, day of week), or 6 with seconds first; found ${found}`;
  }
  if (fields.length === 5) fields.unshift('0');
  const sets: ReadonlySet<number>[] = [];
  for (const [index, kind] of kinds.entries()) {
    const values = valuesOf(fields[index] ?? '', kind);
    if (typeof values === 'string') return `${kind.name}: ${values}`;
    sets.push(values);
  }
  const none = new Set<number>();
  const [seconds = none, minutes = none, hours = none, days = none, monthsOfYear = none, weekdaysOf = none] =
    sets;
  const isEitherDay = fields[3] !== '*' && fields[5] !== '*';
  return { seconds, minutes, hours, days, months: monthsOfYear, weekdays: weekdaysOf, isEitherDay };
}

function hasSuchDay(days: ReadonlySet<number>, monthsOfYear: ReadonlySet<number>): boolean {
  const first = Math.min(...days);
  return [...monthsOfYear].some((month) => first <= (daysOfMonth[month - 1] ?? 0));
}

/** Returns the field's values, or an error message. */
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
  if (match === null) return `${JSON.stringify(part)} is not one of *, 5, 1-5, */5, 1-5/2 or a list of these`;
  const [, star, first = '', last, stepText] = match;
  const step = stepText === undefined ? 1 : Number(stepText);
  if (step < 1 || step > kind.high) return `a step of ${stepText} is outside 1-${kind.high}`;
  if (star !== undefined) return { from: kind.low, to: kind.high, step };
  const from = numberOf(first, kind);
  if (typeof from === 'string') return from;
  if (last === undefined) {
    // `5/10` is ambiguous: "from 5 on", or only 5.
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
  return words === undefined ? `${text} is not a number` : `${text} is not one of ${words.join(', ')}`;
}
