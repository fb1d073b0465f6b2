import fc from 'fast-check';
import { expect, test } from 'vitest';
import { InvalidQueryError } from '../../../../actors/base/errors/errors.ts';
import { Redactor } from '../../../../actors/base/errors/redact.ts';
import { fullView, RecordView, viewIn } from '../../../../src/http/api/record-view.ts';

test('a query may have one view parameter, and an unknown view is refused with the valid names', () => {
  expect(viewIn('', false)).toEqual({ isBrief: false, rest: '' });
  expect(viewIn('view=full', true)).toEqual({ isBrief: true, rest: '' });
  expect(() => viewIn('view=short', true)).toThrow(InvalidQueryError);
  expect(viewIn('view=full&state=done', false)).toEqual({ isBrief: false, rest: 'state=done' });
  expect(viewIn('limit=2&view=brief', false)).toEqual({ isBrief: true, rest: 'limit=2' });
  for (const view of ['', 'short', 'BRIEF', 'brief,full', '__proto__', 'x'.repeat(5_000)])
    expect(() => viewIn(`view=${view}`, false)).toThrow(InvalidQueryError);
  expect(() => viewIn('view=short', false)).toThrow('view: unknown value "short"; valid values: full, brief');
  expect(() => viewIn('view=brief&view=full', false)).toThrow('give view once');
});

test('removing the view parameter from a query leaves the other parameters unchanged', () => {
  const pairs = fc.array(fc.tuple(fc.constantFrom('state', 'before', 'a b', 'ä'), fc.string()));
  fc.assert(
    fc.property(pairs, fc.constantFrom(undefined, 'full', 'brief'), (record, view) => {
      const query = new URLSearchParams(record);
      if (view !== undefined) query.append('view', view);
      const { isBrief, rest } = viewIn(query.toString(), false);
      expect(isBrief).toBe(view === 'brief');
      expect([...new URLSearchParams(rest)]).toEqual(record);
    }),
  );
});

test('the full view keeps text unchanged, and the brief view truncates and redacts it', () => {
  const brief = new RecordView(new Redactor(['hunter2-secret']));
  expect([fullView.isBrief, brief.isBrief]).toEqual([false, true]);
  const text = `hunter2-secret ${'x'.repeat(600)}`;
  expect([fullView.note(text), fullView.note(undefined)]).toEqual([text, null]);
  expect(brief.note(text)).toMatch(/^\[redacted\] x{485}…$/);
  expect(brief.name('n'.repeat(201))).toBe(`${'n'.repeat(200)}…`);
  expect(brief.name(undefined)).toBeNull();
});
