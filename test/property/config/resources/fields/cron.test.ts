// The check of cron expressions, compared with the parser inside node-schedule. The check accepts an
// expression exactly if the parser has a next time for it.

import { createRequire } from 'node:module';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cronFault } from '../../../../../config/resources/fields/cron.ts';
import { runs } from '../../../../fixtures/property-runs.ts';

const requireFromNodeSchedule = createRequire(createRequire(import.meta.url).resolve('node-schedule'));
const parser = requireFromNodeSchedule('cron-parser') as {
  parseExpression(cron: string, options: object): { next(): { toDate(): Date } };
};

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** A field's value, range or step. `names` are value names. */
const part = (low: number, high: number, names?: readonly string[]) => {
  const value = fc.integer({ min: low, max: high });
  const notationOf = (number: number) =>
    names === undefined
      ? fc.constant(String(number))
      : fc.constantFrom(String(number), names[number - low] ?? String(number));
  const range = fc
    .tuple(value, value)
    .map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const)
    .chain(([from, to]) => fc.tuple(notationOf(from), notationOf(to)))
    .map(([from, to]) => `${from}-${to}`);
  const step = fc.integer({ min: 1, max: Math.max(1, Math.floor(high / 2)) });
  return fc.oneof(
    fc.constant('*'),
    value.chain(notationOf),
    range,
    step.map((interval) => `*/${interval}`),
    fc.tuple(range, fc.integer({ min: 1, max: 3 })).map(([span, interval]) => `${span}/${interval}`),
  );
};
const field = (low: number, high: number, names?: readonly string[]) =>
  fc
    .array(part(low, high, names), { minLength: 1, maxLength: 3 })
    .map((parts) => (parts.includes('*') ? '*' : parts.join(',')));

/** Minute, hour, day, month, weekday. */
const fiveFields = fc.tuple(
  field(0, 59),
  field(0, 23),
  field(1, 31),
  field(1, 12, months),
  field(0, 7, weekdays),
);
const expression = fc.oneof(
  fiveFields.map((fields) => fields.join(' ')),
  fc.tuple(field(0, 59), fiveFields).map(([seconds, fields]) => [seconds, ...fields].join(' ')),
);

const from = new Date('2026-01-01T00:00:00Z');

/** Returns the next time of the parser; undefined for an expression that it refuses or that never occurs. */
function nextTime(text: string): Date | undefined {
  try {
    return parser.parseExpression(text, { tz: 'UTC', currentDate: from }).next().toDate();
  } catch {
    return undefined;
  }
}

/**
 * Removes the day from an expression such as `0 0 30 2 mon`. In POSIX a matching weekday is sufficient. The
 * parser refuses the expression, because the day does not exist in the only month.
 */
function withoutImpossibleDay(text: string): string {
  const fields = text.split(' ');
  const [day = '', month = '', weekday = ''] = fields.slice(-3);
  const lacksDay = cronFault([0, 0, day, month, '*'].join(' '))?.startsWith('never occurs') === true;
  return lacksDay && weekday !== '*' ? fields.with(-3, '*').join(' ') : text;
}

describe('the check of cron expressions', () => {
  test('accepts exactly the expressions that node-schedule parses and that have a next time', () => {
    fc.assert(
      fc.property(expression, (text) => {
        expect(cronFault(text) === undefined, text).toBe(nextTime(withoutImpossibleDay(text)) !== undefined);
      }),
      { numRuns: runs(300), examples: [['* 0-0 30-30 2 0-0/1']] },
    );
  });

  test('refuses a value above the maximum of its field, as node-schedule does', () => {
    // Maxima of minute, hour, day and month.
    const limits = [59, 23, 31, 12] as const;
    fc.assert(
      fc.property(fiveFields, fc.nat(3), fc.integer({ min: 1, max: 100 }), (fields, index, beyond) => {
        // The value exceeds the field's maximum (`beyond`).
        const text = fields.with(index, String((limits[index] ?? 0) + beyond)).join(' ');
        expect(cronFault(text)).toMatch(/ is outside /);
        expect(nextTime(text), text).toBeUndefined();
      }),
      { numRuns: runs(200) },
    );
  });
});
