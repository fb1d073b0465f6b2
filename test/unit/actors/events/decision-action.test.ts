import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decisionActionId, parseDecisionActionId } from '../../../../actors/events/decision-action.ts';

test('the button id of an approval decision contains approval id and decision in a form that every platform accepts', () => {
  for (const verdict of ['approve', 'deny'] as const) {
    const approval = randomUUID();
    const id = decisionActionId(approval, verdict);
    expect(parseDecisionActionId(id)).toEqual({ approval, verdict });
    expect(Buffer.byteLength(id)).toBeLessThanOrEqual(64);
    expect(id).toMatch(/^[\x21-\x7e]+$/);
  }
});

test('the id of any other button is not parsed as an approval decision', () => {
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
    expect(parseDecisionActionId(other), other).toBeUndefined();
});

test('a text is parsed as an approval decision only if the text is the button id of this decision', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const found = parseDecisionActionId(text);
      if (found !== undefined) expect(decisionActionId(found.approval, found.verdict)).toBe(text);
    }),
  );
});
