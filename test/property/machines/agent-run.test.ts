// A run against a world in which anything may happen between two of its rows: models that want anything, people who decide
// anything, and a process that ends anywhere.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { figuresOf } from '../../../machines/agent-run/figures.ts';
import type { JournaledTool, JournalRow, ModelAnswerRow } from '../../../machines/agent-run/journal.ts';
import { messagesOf } from '../../../machines/agent-run/messages.ts';
import { type NextStep, nextStep, type RunSettings } from '../../../machines/agent-run/plan.ts';
import { aTool, settings } from '../../fixtures/agents/journaled.ts';
import { runs } from '../../fixtures/property-runs.ts';

const safe = { isReadOnly: true, isDestructive: false, isIdempotent: true };
const tools: readonly JournaledTool[] = [
  aTool('read', { hints: safe }),
  aTool('write'),
  aTool('pay', { verdict: 'ask' }),
  aTool('look', { verdict: 'ask', hints: safe }),
];

const call = fc.record({
  name: fc.constantFrom('read', 'write', 'pay', 'look', 'gone'),
  input: fc.constantFrom('{}', '', '{"path":"/a"}', '[1]', '{"a":', 'null'),
});
const answer = fc.record({
  text: fc.constantFrom('', 'hello', '{"ok":true}', '{"ok":1}'),
  calls: fc.oneof(
    { weight: 3, arbitrary: fc.array<{ name: string; input: string }>(call, { minLength: 1, maxLength: 5 }) },
    fc.constant<{ name: string; input: string }[]>([]),
  ),
  finish: fc.constantFrom<ModelAnswerRow['finish']>('stop', 'calls', 'length', 'filtered', 'other'),
  /** Undefined: the provider does not count. */
  tokens: fc.option(fc.integer({ min: 0, max: 500 }), { nil: undefined, freq: 12 }),
});
const upTo = (max: number) => fc.option(fc.integer({ min: 1, max }), { nil: undefined });
const someSettings = fc.record({
  max_iterations: fc.integer({ min: 1, max: 8 }),
  interrupted_calls: fc.constantFrom<RunSettings['interrupted_calls']>('tell', 'repeat', 'ask', 'fail'),
  output_schema: fc.constantFrom(undefined, { type: 'object' }),
  budget: fc.record({ tokens: upTo(3_000), tool_calls: upTo(12), cost: upTo(100) }),
});
const state = fc.constantFrom<'approved' | 'denied' | 'expired' | 'cancelled'>(
  ...(['approved', 'approved', 'denied', 'expired', 'cancelled'] as const),
);
const world = fc.record({
  more: someSettings,
  answers: fc.array(answer, { minLength: 1, maxLength: 12 }),
  decisions: fc.array(state, { minLength: 1, maxLength: 12 }),
  /** Whether the process ends: after each commit, or each thing that is done. */
  ends: fc.infiniteStream(fc.integer({ min: 0, max: 3 }).map((n) => n === 0)),
});
type World = typeof world extends fc.Arbitrary<infer T> ? T : never;
type Answer = typeof answer extends fc.Arbitrary<infer T> ? T : never;

const readAnswer = (text: string) =>
  text === '{"ok":true}' ? { data: { ok: true } } : { misfit: 'it is not ok' };

interface Told {
  readonly next: NextStep;
  /** What was durable then. */
  readonly rows: readonly JournalRow[];
}

/** The run to its end. `made`: each time that a tool was called, by the id of the call; with or without a result. */
function lived({ more, answers, decisions, ends }: World) {
  const given = settings(more);
  const told: Told[] = [];
  const made: string[] = [];
  let durable: readonly JournalRow[] = [];
  let approvals = 0;
  let cancelled = 0;
  const hasEnded = () => ends.next().value === true;
  const write = (rows: readonly JournalRow[]) => {
    durable = [...durable, ...rows];
  };
  const decision = () => {
    const found = decisions[approvals % decisions.length] ?? 'denied';
    // An operator has the run go on; not for ever.
    if (found !== 'cancelled') return found;
    cancelled += 1;
    return cancelled > 5 ? 'denied' : found;
  };
  for (let step = 0; step < 500; step += 1) {
    const next = nextStep(durable, given, readAnswer);
    told.push({ next, rows: durable });
    if (next.do === 'end' || next.do === 'fail') return { told, made, rows: durable, last: next, given };
    if (next.do === 'begin')
      write([
        {
          kind: 'begun',
          agent: 'a',
          nonce: 'n',
          definition: '',
          messages: [{ role: 'user', text: 'go' }],
          tools,
        },
      ]);
    else if (next.do === 'note') write(next.rows);
    else if (next.do === 'ask') {
      messagesOf(durable);
      if (hasEnded()) continue;
      write([answerRow(answers[(next.iteration - 1) % answers.length] ?? answers[0], next.iteration)]);
    } else if (next.do === 'call') {
      write(next.calls.map(({ id, isRepeated }) => ({ kind: 'called', id, isRepeated })));
      for (const { id } of next.calls) {
        made.push(id);
        if (hasEnded()) break;
        write([{ kind: 'result', id, text: 'done', isError: false, how: 'called', tookMs: 1 }]);
      }
    } else if (next.do === 'people') {
      write(
        next.calls.map(({ id }) => {
          approvals += 1;
          return { kind: 'asked', approval: `approval ${approvals}`, call: id };
        }),
      );
    } else {
      const [first = ''] = next.approvals;
      write([{ kind: 'decided', approval: first, state: decision(), by: 'ada', comment: undefined }]);
    }
  }
  throw new Error('the run has no end');
}

function answerRow(given: Answer | undefined, iteration: number): ModelAnswerRow {
  const { text = '', calls = [], finish = 'stop', tokens } = given ?? { tokens: 0 };
  return {
    kind: 'answer',
    iteration,
    model: 'local:one',
    text,
    calls: calls.map((each, n) => ({ ...each, id: `call_${iteration}_${n}` })),
    raw: undefined,
    finish,
    usage: { input: tokens, output: 1, cached: undefined },
    cost: tokens === undefined ? undefined : tokens / 100,
    tookMs: 1,
  };
}

const of = <K extends JournalRow['kind']>(rows: readonly JournalRow[], kind: K) =>
  rows.filter((row): row is Extract<JournalRow, { readonly kind: K }> => row.kind === kind);

const toolOf = (rows: readonly JournalRow[], id: string) => {
  const name = of(rows, 'answer')
    .flatMap(({ calls }) => calls)
    .find((each) => each.id === id)?.name;
  return tools.find((tool) => tool.name === name);
};

describe('the run of an agent', () => {
  test('comes to an end, whatever happens meanwhile (PN4)', () => {
    fc.assert(
      fc.property(world, (given) => {
        const { rows, last, given: used } = lived(given);
        expect(['end', 'fail']).toContain(last.do);
        expect(of(rows, 'answer').length).toBeLessThanOrEqual(used.max_iterations);
      }),
      { numRuns: runs(1_000) },
    );
  });

  test('goes on from its rows alone, wherever it was cut (PN1)', () => {
    fc.assert(
      fc.property(world, (given) => {
        const { told, given: used } = lived(given);
        for (const { next, rows } of told) {
          const readBack = rows.map((row) => JSON.parse(JSON.stringify(row)) as JournalRow);
          expect(JSON.stringify(nextStep(readBack, used, readAnswer))).toBe(JSON.stringify(next));
        }
      }),
      { numRuns: runs(300) },
    );
  });

  test('asks a model once for each answer, and calls nothing that has a result (PN1, PN2)', () => {
    fc.assert(
      fc.property(world, (given) => {
        const { told, rows } = lived(given);
        const iterations = of(rows, 'answer').map(({ iteration }) => iteration);
        expect(iterations).toEqual(iterations.map((_, n) => n + 1));
        for (const { next, rows: before } of told) {
          if (next.do !== 'call') continue;
          const known = new Set(of(before, 'result').map(({ id }) => id));
          for (const { id } of next.calls) expect(known).not.toContain(id);
        }
        const results = of(rows, 'result').map(({ id }) => id);
        expect(new Set(results).size).toBe(results.length);
      }),
      { numRuns: runs(1_000) },
    );
  });

  test('repeats a call that may have happened only where that does no harm, or it was told to (PN2)', () => {
    fc.assert(
      fc.property(world, (given) => {
        const { made, rows, given: used } = lived(given);
        const counts = new Map<string, number>();
        for (const id of made) counts.set(id, (counts.get(id) ?? 0) + 1);
        for (const [id, count] of counts) {
          const isSafe = toolOf(rows, id)?.hints.isReadOnly === true;
          const mayRepeat = isSafe || used.interrupted_calls === 'repeat';
          if (used.interrupted_calls !== 'ask' && !mayRepeat) expect(count).toBe(1);
          expect(count).toBeLessThanOrEqual(mayRepeat ? 4 : 10);
        }
      }),
      { numRuns: runs(1_000) },
    );
  });

  test('makes a call that has to be approved only after that, and another that may have happened only where it is again (PN3)', () => {
    fc.assert(
      fc.property(world, (given) => {
        const { told, given: used } = lived(given);
        for (const { next, rows } of told) {
          if (next.do !== 'call') continue;
          for (const { id, tool, isRepeated } of next.calls) {
            const asked = of(rows, 'asked').filter((row) => row.call === id);
            const approved = of(rows, 'decided').filter(
              (row) => row.state === 'approved' && asked.some(({ approval }) => approval === row.approval),
            );
            if (tool.verdict === 'ask') expect(approved.length).toBeGreaterThan(0);
            const asksAgain = used.interrupted_calls === 'ask' && !tool.hints.isReadOnly;
            const begun = of(rows, 'called').filter((row) => row.id === id).length;
            if (isRepeated && asksAgain)
              expect(approved.length).toBe(begun + (tool.verdict === 'ask' ? 1 : 0));
          }
        }
      }),
      { numRuns: runs(1_000) },
    );
  });

  test('never calls what was denied, is not there, or has no arguments that can be used (PN3)', () => {
    fc.assert(
      fc.property(world, (given) => {
        const { made, rows } = lived(given);
        const asked = new Map(of(rows, 'asked').map(({ approval, call: id }) => [approval, id]));
        const no = of(rows, 'decided').filter((row) => row.state === 'denied' || row.state === 'expired');
        for (const { approval } of no) {
          const id = asked.get(approval) ?? '';
          const at = rows.findIndex((row) => row.kind === 'decided' && row.approval === approval);
          expect(of(rows.slice(at), 'called').filter((row) => row.id === id)).toEqual([]);
        }
        for (const id of made) expect(toolOf(rows, id)).toBeDefined();
        const wrong = of(rows, 'answer')
          .flatMap(({ calls }) => calls)
          .filter(({ input }) => ['[1]', '{"a":', 'null'].includes(input));
        for (const { id } of wrong) expect(made).not.toContain(id);
      }),
      { numRuns: runs(1_000) },
    );
  });

  test('keeps within its budget, and has no tools in the last answer that it may have (BG1, BG2, PN5)', () => {
    fc.assert(
      fc.property(world, (given) => {
        const { told, rows, given: used } = lived(given);
        const { tokens = Infinity, tool_calls = Infinity, cost = Infinity } = used.budget;
        expect(figuresOf(rows, 0).tool_calls).toBeLessThanOrEqual(tool_calls);
        for (const { next, rows: before } of told) {
          if (next.do === 'ask') expect(next.hasTools).toBe(next.iteration < used.max_iterations);
          if (next.do !== 'ask' && next.do !== 'call') continue;
          const figures = figuresOf(before, 0);
          expect(figures.input_tokens + figures.output_tokens).toBeLessThan(tokens);
          expect(figures.cost ?? 0).toBeLessThan(cost);
          const isBounded = Number.isFinite(tokens) || Number.isFinite(cost);
          if (isBounded)
            expect(of(before, 'answer').every(({ usage }) => usage.input !== undefined)).toBe(true);
        }
      }),
      { numRuns: runs(1_000) },
    );
  });

  test('tells the model one result for each call, in their order (MS1)', () => {
    fc.assert(
      fc.property(world, (given) => {
        for (const { next, rows } of lived(given).told) {
          if (next.do !== 'ask') continue;
          const messages = messagesOf(rows);
          for (const [n, message] of messages.entries()) {
            if (message.role !== 'assistant' || message.calls.length === 0) continue;
            const after = messages[n + 1];
            const results = after?.role === 'tool' ? after.results : [];
            expect(results.map(({ id }) => id)).toEqual(message.calls.map(({ id }) => id));
            expect(results.every(({ text }) => text !== 'there is no result')).toBe(true);
          }
        }
      }),
      { numRuns: runs(500) },
    );
  });
});
