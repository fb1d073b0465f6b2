// Approval decisions by buttons and reactions, on all platforms.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decisionActionId } from '../../../../../actors/events/decision-action.ts';
import { decisionOfPress, decisionOfReactions } from '../../../../../actors/platforms/chats/decisions.ts';

const approval = '0b5e7a1c-1d2e-4f30-8a41-5b6c7d8e9f00';

test('a press of a gateway button decides its approval, and other buttons do not', () => {
  for (const verdict of ['approve', 'deny'] as const)
    expect(decisionOfPress(decisionActionId(approval, verdict))).toEqual({ verdict, about: { approval } });
  for (const id of ['', 'deploy', 'approval', `${decisionActionId(approval, 'deny')} now`])
    expect(decisionOfPress(id)).toBeUndefined();
});

test('no button id other than those of approval buttons decides, and a reaction means approve, deny or nothing', () => {
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
  const similarId = fc.array(fc.oneof(part, fc.string({ maxLength: 3 })), { maxLength: 6 });
  const actionId = fc.tuple(fc.uuid(), verdict).map(([id, each]) => decisionActionId(id, each));
  const anyId = fc.oneof(
    actionId,
    fc.string(),
    similarId.map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(anyId, (id) => {
      const decision = decisionOfPress(id);
      if (decision === undefined) return;
      if (!('approval' in decision.about)) throw new Error('a press must name an approval');
      expect(decisionActionId(decision.about.approval, decision.verdict)).toBe(id);
      expect(Buffer.byteLength(id)).toBeLessThanOrEqual(64);
    }),
  );
  fc.assert(fc.property(actionId, (id) => decisionOfPress(id) !== undefined));
  const reactions = fc.array(
    fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('👍', '-1', '2705_x')),
  );
  fc.assert(
    fc.property(reactions, (all) => {
      const decision = decisionOfReactions(all, '7');
      const each = new Set(all.flatMap((mark) => decisionOfReactions([mark], '7')?.verdict ?? []));
      expect(decision?.verdict).toBe(each.size === 1 ? [...each][0] : undefined);
    }),
  );
});

describe('a reaction to an approval request', () => {
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
    expect(decisionOfReactions([mark], '7')).toEqual({ verdict: 'approve', about: { message: '7' } });
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
    expect(decisionOfReactions([mark], '7')).toEqual({ verdict: 'deny', about: { message: '7' } });
  });

  test.each(['', '❤', 'heart', '🤔', 'thumbsup2', 'LIKE', '🏽', 'ffff_f', '10ffff', 'constructor'])(
    '%j has no meaning',
    (mark) => {
      expect(decisionOfReactions([mark], '7')).toBeUndefined();
    },
  );

  test('decides together with neutral reactions, but not with the opposite one', () => {
    expect(decisionOfReactions(['❤', '👍'], '7')?.verdict).toBe('approve');
    expect(decisionOfReactions(['👍', '✅'], '7')?.verdict).toBe('approve');
    expect(decisionOfReactions(['👍', '👎'], '7')).toBeUndefined();
    expect(decisionOfReactions([], '7')).toBeUndefined();
  });
});
