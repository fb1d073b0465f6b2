// What a press and a mark decide, whatever a platform calls them (CHD1, CHD2).

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decisionActionId } from '../../../../../actors/events/decision-action.ts';
import { pressedDecision, reactedDecision } from '../../../../../actors/platforms/chats/chat-decisions.ts';

const approval = '0b5e7a1c-1d2e-4f30-8a41-5b6c7d8e9f00';

test('a press of one of our two buttons names the approval; of any other it decides nothing', () => {
  for (const verdict of ['approve', 'deny'] as const)
    expect(pressedDecision(decisionActionId(approval, verdict))).toEqual({ verdict, about: { approval } });
  for (const id of ['', 'deploy', 'approval', `${decisionActionId(approval, 'deny')} now`])
    expect(pressedDecision(id)).toBeUndefined();
});

test('any id that decides is exactly one that was made for that, and any mark says one thing or nothing (CHD1, CHD2)', () => {
  const verdict = fc.constantFrom('approve' as const, 'deny' as const);
  const part = fc.constantFrom(
    'approval',
    'approve',
    'deny',
    '/',
    ':',
    ' ',
    approval,
    approval.toUpperCase(),
  );
  const nearly = fc.array(fc.oneof(part, fc.string({ maxLength: 3 })), { maxLength: 6 });
  const made = fc.tuple(fc.uuid(), verdict).map(([id, each]) => decisionActionId(id, each));
  const any = fc.oneof(
    made,
    fc.string(),
    nearly.map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(any, (id) => {
      const decision = pressedDecision(id);
      if (decision === undefined) return;
      if (!('approval' in decision.about)) throw new Error('a press is about an approval');
      expect(decisionActionId(decision.about.approval, decision.verdict)).toBe(id);
      expect(Buffer.byteLength(id)).toBeLessThanOrEqual(64);
    }),
  );
  fc.assert(fc.property(made, (id) => pressedDecision(id) !== undefined));
  const marks = fc.array(fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('👍', '-1', '2705_x')));
  fc.assert(
    fc.property(marks, (all) => {
      const decision = reactedDecision(all, '7');
      const each = new Set(all.flatMap((mark) => reactedDecision([mark], '7')?.verdict ?? []));
      expect(decision?.verdict).toBe(each.size === 1 ? [...each][0] : undefined);
    }),
  );
});

describe('a mark', () => {
  test.each([
    '👍',
    '👍🏽',
    '✅',
    '✔️',
    '✔',
    '+1',
    '+1::skin-tone-4',
    'thumbsup',
    'white_check_mark',
    'heavy_check_mark',
    'like',
    '2705_whiteheavycheckmark',
    '1f44d_thumbsup-tone3',
  ])('%s approves', (mark) => {
    expect(reactedDecision([mark], '7')).toEqual({ verdict: 'approve', about: { message: '7' } });
  });

  test.each([
    '👎',
    '👎🏿',
    '❌',
    '⛔',
    '⛔️',
    '-1',
    '-1::skin-tone-6',
    'thumbsdown',
    'x',
    'no_entry',
    '274c_crossmark',
  ])('%s denies', (mark) => {
    expect(reactedDecision([mark], '7')).toEqual({ verdict: 'deny', about: { message: '7' } });
  });

  test.each(['', '❤', 'heart', '🤔', 'thumbsup2', 'LIKE', '🏽', 'ffff_f', '10ffff', 'constructor'])(
    '%j says nothing',
    (mark) => {
      expect(reactedDecision([mark], '7')).toBeUndefined();
    },
  );

  test('beside others decides, and beside its opposite does not (CHD2)', () => {
    expect(reactedDecision(['❤', '👍'], '7')?.verdict).toBe('approve');
    expect(reactedDecision(['👍', '✅'], '7')?.verdict).toBe('approve');
    expect(reactedDecision(['👍', '👎'], '7')).toBeUndefined();
    expect(reactedDecision([], '7')).toBeUndefined();
  });
});
