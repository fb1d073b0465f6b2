import { expect, test } from 'vitest';
import { SHOWN_TEXT, ShownSteps } from '../../../../actors/runs/shown-step.ts';

test('a step of a call is bounded and without secrets, whatever a model has called', () => {
  const steps = new ShownSteps((text, most) => text.replace('secret', '***').slice(0, most));
  const name = `secret${'x'.repeat(100_000)}`;
  const calls = [{ id: 'call_1_0', name, input: '{}' }];
  const answer = { kind: 'answer', iteration: 1, model: 'local:one', text: '', calls, usage: {}, tookMs: 1 };
  steps.next({ n: 1, at: 0, text: JSON.stringify(answer) });
  const result = { kind: 'result', id: 'call_1_0', text: 'no such tool', isError: true, how: 'refused' };
  const shown = steps.next({ n: 2, at: 0, text: JSON.stringify(result) });
  expect(shown).toMatchObject({ call: 'call_1_0', state: 'refused', result: 'no such tool' });
  expect(shown.tool).toMatch(/^\*\*\*x+$/);
  expect(shown.tool).toHaveLength(SHOWN_TEXT);
});
