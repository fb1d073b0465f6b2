// Parses the cron expressions of schedules: five fields, six with seconds first, or a name such as @daily.
// The package node-schedule accepts invalid expressions silently, so they are checked here, with messages for
// operators. An expression without any date, such as February 30, is invalid too.

interface FieldKind {
  readonly name: string;
  readonly low: number;
  readonly high: number;
  readonly words?: readonly string[];
  /** Form of values with an L, for the last day or weekday of a month. The group is the text before the L. */
  readonly last?: RegExp;
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const kinds: readonly FieldKind[] = [
  { name: 'second', low: 0, high: 59 },
  { name: 'minute', low: 0, high: 59 },
  { name: 'hour', low: 0, high: 23 },
  { name: 'day of month', low: 1, high: 31, last: /^()L$/i },
  { name: 'month', low: 1, high: 12, words: months },
  { name: 'day of week', low: 0, high: 6, words: weekdays, last: /^([0-9]+|[A-Za-z]{3})L$/i },
];

const nicknames: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/** February has 29 days, for leap years. */
const daysOfMonth = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Values that match, per field. */
export interface CronFields {
  readonly seconds: ReadonlySet<number>;
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  /** Sunday is 0. */
  readonly weekdays: ReadonlySet<number>;
  /** True if the last day of each month matches. */
  readonly hasLastDay: boolean;
  /** Weekdays that match in the last seven days of a month. */
  readonly lastWeekdays: ReadonlySet<number>;
  /** True if both day fields are restricted: a day must match only one of them (POSIX). */
  readonly isEitherDay: boolean;
}

/** Returns the error message for an invalid expression, or for a time that never occurs. */
export function cronFault(expression: string): string | undefined {
  const parsed = parseCron(expression);
  if (typeof parsed === 'string') return parsed;
  // The last field, day of week, is `*`, so only day of month and month restrict the days.
  const isByDate = /\s\*$/.test(expression.trim());
  return isByDate && !parsed.hasLastDay && !hasSuchDay(parsed.days, parsed.months)
    ? 'never occurs: none of its months has such a day'
    : undefined;
}

/** Returns advice for an interval such as `5m` instead of an expression, if it divides an hour or a day. */
function expressionFor(text: string): string {
  const [, digits, unit] = /^(?:every )?(\d{1,2}) ?(m|h)(?:in|ins|inutes?|ours?)?$/i.exec(text) ?? [];
  const count = Number(digits);
  if (unit === undefined || count === 0) return '';
  const isMinutes = unit.toLowerCase() === 'm';
  if ((isMinutes ? 60 : 24) % count !== 0) return '';
  return `; write ${isMinutes ? `*/${count} * * * *` : `0 */${count} * * *`} for each interval of ${text.replace('every ', '')}`;
}

/** Parses an expression. Returns its fields, or an error message. */
export function parseCron(expression: string): CronFields | string {
  const text = expression.trim();
  if (text.startsWith('@') && !Object.hasOwn(nicknames, text.toLowerCase()))
    return `${text} is not one of ${Object.keys(nicknames).join(', ')}`;
  const fields = (nicknames[text.toLowerCase()] ?? text).split(/\s+/);
  if (fields.length !== 5 && fields.length !== 6) {
    const found = text === '' ? 0 : fields.length;
    const hint = expressionFor(text);
    return `expected 5 fields (minute, hour, day of month, month, day of week), or 6 with seconds first; found ${found}${hint}`;
  }
  if (fields.length === 5) fields.unshift('0');
  const sets: FieldValues[] = [];
  for (const [index, kind] of kinds.entries()) {
    const values = valuesOf(fields[index] ?? '', kind);
    if (typeof values === 'string') return `${kind.name}: ${values}`;
    sets.push(values);
  }
  const [seconds = none, minutes = none, hours = none, days = none, monthsOfYear = none, weekdaysOf = none] =
    sets;
  return {
    seconds: seconds.values,
    minutes: minutes.values,
    hours: hours.values,
    days: days.values,
    months: monthsOfYear.values,
    weekdays: weekdaysOf.values,
    hasLastDay: days.last.size > 0,
    lastWeekdays: weekdaysOf.last,
    isEitherDay: fields[3] !== '*' && fields[5] !== '*',
  };
}

function hasSuchDay(days: ReadonlySet<number>, monthsOfYear: ReadonlySet<number>): boolean {
  const first = Math.min(...days);
  return [...monthsOfYear].some((month) => first <= (daysOfMonth[month - 1] ?? 0));
}

interface FieldValues {
  readonly values: ReadonlySet<number>;
  /** Values with an L; `kind.low` for an L alone. */
  readonly last: ReadonlySet<number>;
}

/** Never used at run time: a placeholder for the compiler. */
const none: FieldValues = { values: new Set(), last: new Set() };

/** Returns the field's values, or an error message. */
function valuesOf(field: string, kind: FieldKind): FieldValues | string {
  const values = new Set<number>();
  const last = new Set<number>();
  for (const part of field.split(',')) {
    const unit = kind.last?.exec(part)?.[1];
    if (unit !== undefined) {
      const value = unit === '' ? kind.low : numberOf(unit, kind);
      if (typeof value === 'string') return value;
      last.add(value % daysOfWeek);
      continue;
    }
    const range = rangeOf(part, kind);
    if (typeof range === 'string') return range;
    for (let value = range.from; value <= range.to; value += range.step)
      values.add(isWeekday(kind) ? value % daysOfWeek : value);
  }
  return { values, last };
}

const daysOfWeek = weekdays.length;
const isWeekday = ({ words }: FieldKind) => words === weekdays;

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
  const end = numberOf(last, kind);
  if (typeof end === 'string') return end;
  // A week may end with Sunday: `fri-sun`.
  const to = isWeekday(kind) && /^sun$/i.test(last) && from > 0 ? daysOfWeek : end;
  return from <= to ? { from, to, step } : `the range ${part} runs backwards`;
}

/** Returns the number of a value (7 for a Sunday written as 7), or an error message. */
function numberOf(text: string, kind: FieldKind): number | string {
  const { low, high, words } = kind;
  if (/^[0-9]+$/.test(text)) {
    const value = Number(text);
    const highest = isWeekday(kind) ? daysOfWeek : high;
    return value >= low && value <= highest ? value : `${text} is outside ${low}-${highest}`;
  }
  const index = words?.indexOf(text.toLowerCase()) ?? -1;
  if (index >= 0) return index + low;
  return words === undefined ? `${text} is not a number` : `${text} is not one of ${words.join(', ')}`;
}
