// The ids of the buttons by which people decide.

import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decisionActionId, decisionIn } from '../../../../actors/events/decision-action.ts';

test('what a button was made for is read back from its id, which every platform takes', () => {
  for (const verdict of ['approve', 'deny'] as const) {
    const approval = randomUUID();
    const id = decisionActionId(approval, verdict);
    expect(decisionIn(id)).toEqual({ approval, verdict });
    expect(Buffer.byteLength(id)).toBeLessThanOrEqual(64);
    expect(id).toMatch(/^[\x21-\x7e]+$/);
  }
});

test('the id of any other button is no decision', () => {
  const id = decisionActionId(randomUUID(), 'approve');
  const others = [
    '',
    'approve',
    'approval/approve/',
    'approval/approve/x',
    ` ${id}`,
    `${id}/`,
    `${id}/1`,
    id.toUpperCase(),
  ];
  for (const other of [...others, id.replace('/approve/', '/maybe/')])
    expect(decisionIn(other), other).toBeUndefined();
});

test('of any text that is no id of ours nothing is read', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const found = decisionIn(text);
      if (found !== undefined) expect(decisionActionId(found.approval, found.verdict)).toBe(text);
    }),
  );
});
