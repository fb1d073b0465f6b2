// The parts of the page about runs that decide what is to be seen: what is kept of the messages, cards of steps, addresses, words.

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
  cardsOf,
  MAX_STEPS,
  nothingShown,
  withMessage,
} from '../../../../src/inspector/page/runs/run-state.ts';
import {
  cost,
  decidersText,
  doneLine,
  runFigures,
  runLine,
  tokens,
  waitText,
} from '../../../../src/inspector/page/runs/run-words.ts';

const iso = (epochMs: number) => new Date(epochMs).toISOString();

const run: RunDetails = {
  ...{ id: 'r1', seq: 1, kind: 'agent', name: 'oncall', state: 'running', waiting_for: null, until: null },
  ...{ trigger: 'agent/oncall', conversation: 'conversation/x', session: 'x', trace: '', steps_count: 4 },
  usage: {
    ...{ model: 'local:tiny', iterations: 2, tool_calls: 1, input_tokens: 12_000, output_tokens: 300 },
    ...{ cost: 0.0042, worked_ms: 900 },
  },
  ...{ attempts: 1, received_at: iso(1_000), started_at: iso(1_000), ended_at: null, next_attempt_at: null },
  ...{ note: null, answer: null, data: null, failures: [], steps: [], next_after: null },
};
const step = (n: number, kind: string, more: Partial<StepRecord> = {}): StepRecord => ({
  n,
  at: iso(n * 1000),
  kind,
  ...more,
});
const steps = (...list: StepRecord[]) => ({ kind: 'steps', data: { steps: list } }) as const;

describe('the addresses of runs', () => {
  test('are those of one run each, whatever its id, and lead back to it', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (id) => {
        const view = viewAt(pathOf(runView(id)));
        expect([runAt(view.actor), sectionAt(view.actor)]).toEqual([id, 'runs']);
      }),
    );
  });

  test('of sections are no runs, and no other address is one of them', () => {
    for (const section of sections) {
      const { actor } = viewAt(pathOf(sectionView(section)));
      expect([sectionAt(actor), runAt(actor), nameAt(actor)]).toEqual([section, undefined, section]);
    }
    for (const address of ['', 'runs', '~sessions/4', '~trigger/runs', 'runs/x', '~runsome'])
      expect([sectionAt(address), runAt(address)]).toEqual([undefined, undefined]);
  });
});

describe('what a page keeps of a run', () => {
  test('is each step once, however often it is told', () => {
    let state = withMessage(nothingShown, { kind: 'run', data: { run, is_anew: false } });
    state = withMessage(state, steps(step(1, 'begun'), step(2, 'answer')));
    state = withMessage(state, steps(step(2, 'answer'), step(3, 'called')));
    state = withMessage(state, { kind: 'text', data: { text: 'Hel' } });
    expect([state.steps.map(({ n }) => n), state.text, state.run?.name]).toEqual([
      [1, 2, 3],
      'Hel',
      'oncall',
    ]);
    const anew = withMessage(state, { kind: 'run', data: { run, is_anew: true } });
    expect([anew.steps, anew.text]).toEqual([[], '']);
  });

  test('RPS1: is bounded, and the newest', () => {
    let state = nothingShown;
    for (let n = 1; n <= MAX_STEPS + 7; n += 1) state = withMessage(state, steps(step(n, 'answer')));
    expect([state.steps.length, state.steps[0]?.n]).toEqual([MAX_STEPS, 8]);
  });
});

describe('the cards of a run', () => {
  test('have a call with its result, and an approval with its decision, as one, where it began', () => {
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
      { kind: 'text', title: 'asked', text: 'Look.' },
      { kind: 'answer' },
      { kind: 'call', n: 3, at: iso(3000), state: 'failed', step: { result: 'No.' } },
      { kind: 'call', n: 4, state: 'running' },
      {
        kind: 'approval',
        n: 6,
        state: 'denied',
        step: { tool: 'pay' },
        decided: { by: 'ada', text: 'Never.' },
      },
      // What was said last is not said twice.
      { kind: 'text', title: 'ended', text: '' },
    ]);
  });

  test('say that nothing more comes of what has no end once the run is over', () => {
    const open = [step(1, 'called', { call: 'c1' }), step(2, 'asked', { approval: 'a1' })];
    expect(cardsOf(open)).toMatchObject([{ state: 'running' }, { state: 'pending' }]);
    expect(cardsOf(open, true)).toMatchObject([{ state: 'no result' }, { state: 'cancelled' }]);
  });

  test('show what this version does not know, and what lost its beginning', () => {
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

  test('are never lost, whatever the journal', () => {
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

describe('the words about a run', () => {
  test('are its totals', () => {
    expect(runLine(run)).toBe(
      'local:tiny · agent/oncall · 4 steps · 2 model calls · 1 tool call · 12 k tokens · cost 0.0042',
    );
    const figures = Object.fromEntries(runFigures(run, 4_000));
    expect(figures).toMatchObject({
      'tokens in': '12 k',
      cost: '0.0042',
      worked: '900 ms',
      'since it came': '3000 ms',
    });
    expect(
      Object.fromEntries(runFigures({ ...run, usage: null, ended_at: iso(3_000) }, 9_000)),
    ).toMatchObject({
      ...{ cost: '–', 'in all': '2000 ms' },
    });
    expect([0, 0.00001, 0.0042, 0.123, 12.345].map(cost)).toEqual([
      '0',
      'under 0.0001',
      '0.0042',
      '0.12',
      '12.35',
    ]);
    expect([tokens(undefined, undefined), tokens(5, undefined)]).toEqual([undefined, '5 tokens in, ? out']);
  });

  test('are what an agent has done', () => {
    const none: TargetStats = {
      ...{ runs: 1, failed: 0, running: 0, iterations: 0, tool_calls: 0 },
      ...{ input_tokens: 0, output_tokens: 0, cost: 0 },
    };
    expect(doneLine(none)).toBe('1 answer since the start');
    const busy = { ...none, runs: 3, running: 1, failed: 2, iterations: 7, tool_calls: 4, input_tokens: 900 };
    expect(doneLine({ ...busy, cost: 0.5 })).toBe(
      '3 answers since the start · 1 under way · 2 failed attempts · 7 model calls · 4 tool calls · 900 tokens · cost 0.5',
    );
  });

  test('say who may decide, and nobody in a chat where there is neither a name nor a channel', () => {
    expect(decidersText({ approvers: ['ada', 'ben'], approval_channel: 'ops' })).toBe('ada, ben');
    expect(decidersText({ approvers: [], approval_channel: 'ops' })).toBe('whoever is in ops');
    expect(decidersText({ approvers: [], approval_channel: null })).toBeUndefined();
  });

  test('say what it waits for', () => {
    expect(waitText(run, 0)).toBeUndefined();
    expect(waitText({ ...run, waiting_for: 'approval', until: iso(61_000) }, 1_000)).toBe(
      'somebody to approve, until in 60 s',
    );
    expect(waitText({ ...run, waiting_for: 'timer' }, 0)).toBe('its time to come');
    expect(waitText({ ...run, ended_at: null, attempts: 1, next_attempt_at: iso(9_000) }, 1_000)).toBe(
      'attempt 2, in 8 s',
    );
  });
});
