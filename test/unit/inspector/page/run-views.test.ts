// View logic of runs: stored messages, cards of steps, addresses and texts.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RunDetails, StepRecord } from '../../../../src/http/api/run-shapes.ts';
import type { TargetStats } from '../../../../src/http/api/target-shapes.ts';
import {
  nameAt,
  pathOf,
  runAt,
  runView,
  sectionAt,
  sections,
  sectionView,
  viewAt,
} from '../../../../src/inspector/page/address.ts';
import {
  cost,
  decidersText,
  runFigures,
  runLine,
  shortWait,
  statsLine,
  tokens,
  waitText,
} from '../../../../src/inspector/page/runs/figures.ts';
import { applyMessage, cardsOf, emptyRun, MAX_STEPS } from '../../../../src/inspector/page/runs/state.ts';

const iso = (epochMs: number) => new Date(epochMs).toISOString();

const run: RunDetails = {
  id: 'r1',
  seq: 1,
  kind: 'agent',
  name: 'oncall',
  state: 'running',
  waiting_for: null,
  until: null,
  trigger: 'agent/oncall',
  conversation: 'conversation/x',
  session: 'x',
  trace: '',
  steps_count: 4,
  usage: {
    model: 'local:tiny',
    iterations: 2,
    tool_calls: 1,
    input_tokens: 12_000,
    output_tokens: 300,
    cost: 0.0042,
    worked_ms: 900,
  },
  attempts: 1,
  received_at: iso(1_000),
  started_at: iso(1_000),
  ended_at: null,
  next_attempt_at: null,
  note: null,
  answer: null,
  data: null,
  failures: [],
  steps: [],
  next_after: null,
};
const step = (n: number, kind: string, more: Partial<StepRecord> = {}): StepRecord => ({
  n,
  at: iso(n * 1000),
  kind,
  ...more,
});
const steps = (...list: StepRecord[]) => ({ kind: 'steps', data: { steps: list } }) as const;

describe('the addresses of runs', () => {
  test('are unique for any run id, and lead back to it', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (id) => {
        const view = viewAt(pathOf(runView(id)));
        expect([runAt(view.actor), sectionAt(view.actor)]).toEqual([id, 'runs']);
      }),
    );
  });

  test('differ from the addresses of sections and of all other views', () => {
    for (const section of sections) {
      const { actor } = viewAt(pathOf(sectionView(section)));
      expect([sectionAt(actor), runAt(actor), nameAt(actor)]).toEqual([section, undefined, section]);
    }
    for (const address of ['', 'runs', '~sessions/4', '~trigger/runs', 'runs/x', '~runsome'])
      expect([sectionAt(address), runAt(address)]).toEqual([undefined, undefined]);
  });
});

describe('the page state of a run', () => {
  test('contains each step once, however often it is received', () => {
    let state = applyMessage(emptyRun, { kind: 'run', data: { run, is_anew: false } });
    state = applyMessage(state, steps(step(1, 'begun'), step(2, 'answer')));
    state = applyMessage(state, steps(step(2, 'answer'), step(3, 'called')));
    state = applyMessage(state, { kind: 'text', data: { text: 'Hel' } });
    expect([state.steps.map(({ n }) => n), state.text, state.run?.name]).toEqual([
      [1, 2, 3],
      'Hel',
      'oncall',
    ]);
    const anew = applyMessage(state, { kind: 'run', data: { run, is_anew: true } });
    expect([anew.steps, anew.text]).toEqual([[], '']);
  });

  test('is bounded, and contains the newest steps', () => {
    let state = emptyRun;
    for (let n = 1; n <= MAX_STEPS + 7; n += 1) state = applyMessage(state, steps(step(n, 'answer')));
    expect([state.steps.length, state.steps[0]?.n]).toEqual([MAX_STEPS, 8]);
  });
});

describe('the cards of a run', () => {
  test('combine a call with its result and an approval with its decision, at the position of the call or request', () => {
    const cards = cardsOf([
      step(1, 'begun', { text: 'Look.' }),
      step(2, 'answer', { text: 'So.' }),
      step(3, 'called', { call: 'c1', tool: 'read_file' }),
      step(4, 'called', { call: 'c2', tool: 'pay' }),
      step(5, 'result', { call: 'c1', tool: 'read_file', state: 'failed', result: 'No.' }),
      step(6, 'asked', { approval: 'a1', call: 'c2', tool: 'pay', arguments: '{}' }),
      step(7, 'decided', { approval: 'a1', state: 'denied', by: 'ada', text: 'Never.' }),
      step(8, 'ended', { text: 'So.' }),
    ]);
    expect(cards).toMatchObject([
      { kind: 'text', title: 'request', text: 'Look.' },
      { kind: 'answer' },
      { kind: 'call', n: 3, at: iso(3000), state: 'failed', step: { result: 'No.' } },
      { kind: 'call', n: 4, state: 'running' },
      {
        kind: 'approval',
        n: 6,
        state: 'denied',
        step: { tool: 'pay' },
        decision: { by: 'ada', text: 'Never.' },
      },
      // The final text is not repeated.
      { kind: 'text', title: 'ended', text: '' },
    ]);
  });

  test('mark open calls and approvals as ended when the run has ended', () => {
    const open = [step(1, 'called', { call: 'c1' }), step(2, 'asked', { approval: 'a1' })];
    expect(cardsOf(open)).toMatchObject([{ state: 'running' }, { state: 'pending' }]);
    expect(cardsOf(open, true)).toMatchObject([{ state: 'no result' }, { state: 'cancelled' }]);
  });

  test('show unknown steps, and steps whose beginning is missing', () => {
    const cards = cardsOf([
      step(1, 'later', { text: 'x' }),
      step(2, 'decided', { approval: 'a9', state: 'approved' }),
      step(3, 'result', { call: 'c9', state: 'refused' }),
    ]);
    expect(cards).toMatchObject([
      { kind: 'text', title: 'later', text: 'x' },
      { kind: 'approval', state: 'approved' },
      { kind: 'call', state: 'refused' },
    ]);
  });

  test('are complete and in order, for any journal', () => {
    const kinds = ['begun', 'answer', 'called', 'result', 'asked', 'decided', 'unfit', 'ended', 'x'];
    const arbStep = fc.record({
      kind: fc.constantFrom(...kinds),
      call: fc.constantFrom('c1', 'c2', undefined),
      approval: fc.constantFrom('a1', undefined),
    });
    fc.assert(
      fc.property(fc.array(arbStep, { maxLength: 30 }), fc.boolean(), (journal, isOver) => {
        const cards = cardsOf(
          journal.map((each, index) => step(index + 1, each.kind, each)),
          isOver,
        );
        const numbers = cards.map(({ n }) => n);
        expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
        expect(cards.length > 0).toBe(journal.length > 0);
      }),
    );
  });
});

describe('texts about a run', () => {
  test('summarize its totals', () => {
    expect(runLine(run)).toBe(
      'local:tiny · agent/oncall · 4 steps · 2 model calls · 1 tool call · 12 k tokens · cost 0.0042',
    );
    const figures = Object.fromEntries(runFigures(run, 4_000));
    expect(figures).toMatchObject({
      'tokens in': '12 k',
      cost: '0.0042',
      worked: '900 ms',
      'running for': '3000 ms',
    });
    expect(
      Object.fromEntries(runFigures({ ...run, usage: null, ended_at: iso(3_000) }, 9_000)),
    ).toMatchObject({
      cost: '–',
      'total time': '2000 ms',
    });
    expect([0, 0.00001, 0.0042, 0.123, 12.345].map(cost)).toEqual([
      '0',
      'below 0.0001',
      '0.0042',
      '0.12',
      '12.35',
    ]);
    expect([tokens(undefined, undefined), tokens(5, undefined)]).toEqual([undefined, '5 tokens in, ? out']);
  });

  test('summarize the work of an agent', () => {
    const none: TargetStats = {
      runs: 1,
      failed: 0,
      running: 0,
      iterations: 0,
      tool_calls: 0,
      input_tokens: 0,
      output_tokens: 0,
      cost: 0,
    };
    expect(statsLine(none)).toBe('1 response since the start');
    const busy = { ...none, runs: 3, running: 1, failed: 2, iterations: 7, tool_calls: 4, input_tokens: 900 };
    expect(statsLine({ ...busy, cost: 0.5 })).toBe(
      '3 responses since the start · 1 in progress · 2 failed attempts · 7 model calls · 4 tool calls · 900 tokens · cost 0.5',
    );
  });

  test('name the approvers or the channel of an approval, and no person if both are missing', () => {
    expect(decidersText({ approvers: ['ada', 'ben'], approval_channel: 'ops' })).toBe('ada, ben');
    expect(decidersText({ approvers: [], approval_channel: 'ops' })).toBe('any member of ops');
    expect(decidersText({ approvers: [], approval_channel: null })).toBeUndefined();
  });

  test.each([
    ['flow', 'waits at check', 'at check'],
    ['flow', 'it waits at check', 'at check'],
    ['fleet', 'members wait', 'members wait'],
  ] as const)('shorten the note of a waiting %s in the list: %s', (kind, note, expected) => {
    expect(shortWait({ ...run, kind, note, state: 'waiting' })).toBe(expected);
    expect(shortWait({ ...run, note, waiting_for: 'approval' })).toBe('for an approval');
  });

  test('describe what the run waits for', () => {
    expect(waitText(run, 0)).toBeUndefined();
    expect(waitText({ ...run, waiting_for: 'approval', until: iso(61_000) }, 1_000)).toBe(
      'an approval, for at most 60 s',
    );
    expect(waitText({ ...run, waiting_for: 'timer' }, 0)).toBe('its scheduled time');
    expect(waitText({ ...run, ended_at: null, attempts: 1, next_attempt_at: iso(9_000) }, 1_000)).toBe(
      'attempt 2, in 8 s',
    );
  });
});
