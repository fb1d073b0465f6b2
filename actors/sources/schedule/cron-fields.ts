// A cron expression as the values of its fields. The configuration has checked it (config/resources/cron.ts); here it is
// only read.

export interface CronFields {
  /** All in ascending order. */
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly months: ReadonlySet<number>;
  /** Undefined for a lone star. */
  readonly days: ReadonlySet<number> | undefined;
  /** Sunday is 0. Undefined for a lone star. */
  readonly weekdays: ReadonlySet<number> | undefined;
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** The fields of an expression with five or six of them. Throws for a field that stands for nothing. */
export function cronFields(cron: string): CronFields {
  const parts = cron.trim().split(/\s+/);
  const [second = '', minute = '', hour = '', day = '', month = '', weekday = ''] =
    parts.length === 5 ? ['0', ...parts] : parts;
  return {
    seconds: valuesOf(second, 0, 59),
    minutes: valuesOf(minute, 0, 59),
    hours: valuesOf(hour, 0, 23),
    days: day === '*' ? undefined : new Set(valuesOf(day, 1, 31)),
    months: new Set(valuesOf(month, 1, 12, months)),
    weekdays: weekday === '*' ? undefined : new Set(valuesOf(weekday, 0, 6, weekdays)),
  };
}

function valuesOf(field: string, low: number, high: number, words: readonly string[] = []): number[] {
  const values = new Set<number>();
  for (const part of field.split(',')) {
    const [range = '', step = '1'] = part.split('/');
    const [first = '', last = first] = range === '*' ? [String(low), String(high)] : range.split('-');
    for (let value = numberOf(first); value <= numberOf(last); value += Number(step)) values.add(value);
  }
  const sorted = [...values].sort((a, b) => a - b);
  if (sorted.length === 0) throw new Error(`cron: the field ${JSON.stringify(field)} stands for nothing`);
  return sorted;

  function numberOf(text: string): number {
    const index = words.indexOf(text.toLowerCase());
    return index === -1 ? Number(text) : index + low;
  }
}
