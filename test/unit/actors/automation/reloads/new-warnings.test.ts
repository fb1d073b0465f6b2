import { expect, test } from 'vitest';
import { newWarnings } from '../../../../../actors/automation/reloads/new-warnings.ts';
import type { Problem } from '../../../../../config/reader/problem.ts';

const warning = (file: string, line: number, message = 'is written out'): Problem => ({
  file,
  line,
  column: 1,
  message,
  severity: 'warning',
});

test('a warning is reported once, even if its line number changes; each new warning is reported', () => {
  const before = [warning('/a.yaml', 3)];
  expect(newWarnings([], before)).toEqual(before);
  expect(newWarnings(before, [warning('/a.yaml', 9)])).toEqual([]);
  const [other, second, elsewhere] = [
    warning('/a.yaml', 3, 'leads nowhere'),
    warning('/a.yaml', 30),
    warning('/b.yaml', 3),
  ] as const;
  expect(newWarnings(before, [...before, other, second, elsewhere])).toEqual([other, second, elsewhere]);
});

test('a warning that disappeared and returns is reported again; errors are not reported as warnings', () => {
  expect(newWarnings([], [warning('/a.yaml', 3)])).toHaveLength(1);
  const error: Problem = { ...warning('/a.yaml', 3), severity: 'error' };
  expect(newWarnings([], [error])).toEqual([]);
  expect(newWarnings([error], [warning('/a.yaml', 3)])).toHaveLength(1);
});
