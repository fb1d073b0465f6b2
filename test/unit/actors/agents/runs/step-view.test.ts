import { expect, test } from 'vitest';
import { MAX_STEP_TEXT, StepViews } from '../../../../../actors/agents/runs/step-view.ts';

test('the view of a call step is bounded and redacted, even for an unknown tool', () => {
  const steps = new StepViews((text, most) => text.replace('secret', '***').slice(0, most));
  const name = `secret${'x'.repeat(100_000)}`;
  const calls = [{ id: 'call_1_0', name, input: '{}' }];
  const answer = { kind: 'answer', iteration: 1, model: 'local:one', text: '', calls, usage: {}, tookMs: 1 };
  steps.next({ n: 1, at: 0, text: JSON.stringify(answer) });
  const result = { kind: 'result', id: 'call_1_0', text: 'no such tool', isError: true, how: 'refused' };
  const view = steps.next({ n: 2, at: 0, text: JSON.stringify(result) });
  expect(view).toMatchObject({ call: 'call_1_0', state: 'refused', result: 'no such tool' });
  expect(view.tool).toMatch(/^\*\*\*x+$/);
  expect(view.tool).toHaveLength(MAX_STEP_TEXT);
});

test('calls of several agents in one run are distinguished, even with equal ids', () => {
  const steps = new StepViews((text) => text);
  const next = (row: object) => steps.next({ n: 1, at: 0, text: JSON.stringify(row) });
  const answer = (part: string, name: string) => ({
    in: part,
    kind: 'answer',
    iteration: 1,
    model: 'local:one',
    text: '',
    usage: {},
    tookMs: 1,
    calls: [{ id: 'call_1_0', name, input: `{"of":"${part}"}` }],
  });
  next(answer('vote/security', 'scan'));
  next(answer('vote/style', 'lint'));
  next({ in: 'vote/style', kind: 'called', id: 'call_1_0' });
  expect(next({ in: 'vote/security', kind: 'called', id: 'call_1_0' })).toEqual({
    n: 1,
    at: 0,
    kind: 'called',
    part: 'vote/security',
    call: 'call_1_0',
    tool: 'scan',
    arguments: '{"of":"vote/security"}',
  });
  const result = {
    in: 'vote/style',
    kind: 'result',
    id: 'call_1_0',
    text: 'ok',
    isError: false,
    how: 'called',
  };
  expect(next(result)).toMatchObject({ part: 'vote/style', tool: 'lint', state: 'done' });
  expect(next({ in: 'vote/style', kind: 'asked', approval: 'x', call: 'call_1_0' })).toMatchObject({
    tool: 'lint',
  });
});

test('journal rows of flows and fleets are shown with node or member, output, taken connections and wait, redacted', () => {
  const steps = new StepViews((text, most) => text.replaceAll('secret', '***').slice(0, most));
  const definition = JSON.stringify({
    nodes: [
      { id: 'a', type: 'Approval' },
      { id: 'b', type: 'End' },
      { id: 'c', type: 'End' },
    ],
    connections: [
      { from: 'a', to: 'b' },
      { from: 'a', to: 'c' },
    ],
  });
  const view = (row: object) => {
    const { n: _, at: __, ...rest } = steps.next({ n: 1, at: 0, text: JSON.stringify(row) });
    return rest;
  };
  expect(view({ kind: 'flow', definition, parameters: { version: '1 secret' }, input: 'ship' })).toEqual({
    kind: 'flow',
    text: 'ship',
    arguments: '{"version":"1 ***"}',
  });
  expect(view({ kind: 'fleet', in: 'vote', definition: 'x', input: 'look' })).toEqual({
    kind: 'fleet',
    part: 'vote',
    text: 'look',
  });
  const of = { in: 'a' };
  expect(view({ kind: 'entered', ...of })).toEqual({ kind: 'entered', part: 'a' });
  expect(view({ kind: 'parked', ...of, isForPeople: true, until: 5, ms: 4 })).toEqual({
    kind: 'parked',
    part: 'a',
    waitingFor: 'approval',
    until: 5,
  });
  expect(view({ kind: 'again', ...of, reason: 'a secret', until: 7 })).toEqual({
    kind: 'again',
    part: 'a',
    reason: 'a ***',
    until: 7,
  });
  expect(view({ kind: 'waits', ...of, until: 7 })).toMatchObject({ waitingFor: 'time', until: 7 });
  expect(view({ kind: 'left', ...of, output: { by: 'secret' }, taken: [1] })).toEqual({
    kind: 'left',
    part: 'a',
    output: '{"by":"***"}',
    taken: ['c'],
  });
  expect(view({ kind: 'failed', ...of, reason: 'secret' })).toEqual({
    kind: 'failed',
    part: 'a',
    reason: '***',
  });
  expect(view({ kind: 'turn', in: 'poll', n: 3 })).toEqual({ kind: 'turn', part: 'poll', turn: 3 });
  expect(view({ kind: 'kept', in: 'a', kept: 'secret state' })).toEqual({ kind: 'kept', part: 'a' });
  expect(view({ kind: 'said', of: 'told' })).toEqual({ kind: 'said', part: 'told' });
  expect(view({ kind: 'of later', in: 'a', what: 'a secret' })).toEqual({
    kind: 'of later',
    part: 'a',
    text: '{"what":"a ***"}',
  });
  expect(view({ kind: 'new' })).toEqual({ kind: 'new' });
});
