// A run with arbitrary events between the rows: random model answers, decisions and crashes.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JournaledTool, JournalRow, ModelAnswerRow } from '../../../machines/agent-run/journal.ts';
import { messagesOf } from '../../../machines/agent-run/messages.ts';
import { type NextStep, nextStep, type RunSettings } from '../../../machines/agent-run/plan.ts';
import { figuresOf } from '../../../machines/agent-run/usage.ts';
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
  /** Undefined if the provider reports no usage. */
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
  /** Crashes after each commit and each effect. */
  ends: fc.infiniteStream(fc.integer({ min: 0, max: 3 }).map((n) => n === 0)),
});
type World = typeof world extends fc.Arbitrary<infer T> ? T : never;
type Answer = typeof answer extends fc.Arbitrary<infer T> ? T : never;

const readAnswer = (text: string) =>
  text === '{"ok":true}' ? { data: { ok: true } } : { misfit: 'it is not ok' };

interface PlannedStep {
  readonly next: NextStep;
  /** Durable rows at this point. */
  readonly rows: readonly JournalRow[];
}

/** Runs until the run is final. `made` contains the id of each call, with or without a result. */
function runWorld({ more, answers, decisions, ends }: World) {
  const runSettings = settings(more);
  const plannedSteps: PlannedStep[] = [];
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
    // An operator retries the run, up to a limit.
    if (found !== 'cancelled') return found;
    cancelled += 1;
    return cancelled > 5 ? 'denied' : found;
  };
  for (let step = 0; step < 500; step += 1) {
    const next = nextStep(durable, runSettings, readAnswer);
    plannedSteps.push({ next, rows: durable });
    if (next.do === 'end' || next.do === 'fail')
      return { told: plannedSteps, made, rows: durable, last: next, given: runSettings };
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

const rowsOfKind = <K extends JournalRow['kind']>(rows: readonly JournalRow[], kind: K) =>
  rows.filter((row): row is Extract<JournalRow, { readonly kind: K }> => row.kind === kind);

const toolOf = (rows: readonly JournalRow[], id: string) => {
  const name = rowsOfKind(rows, 'answer')
    .flatMap(({ calls }) => calls)
    .find((each) => each.id === id)?.name;
  return tools.find((tool) => tool.name === name);
};

describe('the run of an agent', () => {
  test('reaches a final state after any sequence of events', () => {
    fc.assert(
      fc.property(world, (given) => {
        const { rows, last, given: used } = runWorld(given);
        expect(['end', 'fail']).toContain(last.do);
        expect(rowsOfKind(rows, 'answer').length).toBeLessThanOrEqual(used.max_iterations);
      }),
      { numRuns: runs(1_000) },
    );
  });

  test('continues from its rows after an interruption at any point', () => {
    fc.assert(
      fc.property(world, (given) => {
        const { told, given: used } = runWorld(given);
        for (const { next, rows } of told) {
          const readBack = rows.map((row) => JSON.parse(JSON.stringify(row)) as JournalRow);
          expect(JSON.stringify(nextStep(readBack, used, readAnswer))).toBe(JSON.stringify(next));
        }
      }),
      { numRuns: runs(300) },
    );
  });

  test('calls the model once per response, and no tool that has a result', () => {
    fc.assert(
      fc.property(world, (given) => {
        const { told, rows } = runWorld(given);
        const iterations = rowsOfKind(rows, 'answer').map(({ iteration }) => iteration);
        expect(iterations).toEqual(iterations.map((_, n) => n + 1));
        for (const { next, rows: before } of told) {
          if (next.do !== 'call') continue;
          const knownIds = new Set(rowsOfKind(before, 'result').map(({ id }) => id));
          for (const { id } of next.calls) expect(knownIds).not.toContain(id);
        }
        const results = rowsOfKind(rows, 'result').map(({ id }) => id);
        expect(new Set(results).size).toBe(results.length);
      }),
      { numRuns: runs(1_000) },
    );
  });

  test('repeats a call that may have happened only if that is harmless or allowed by the configuration', () => {
    fc.assert(
      fc.property(world, (given) => {
        const { made, rows, given: used } = runWorld(given);
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

  test('makes a call that needs approval only after the approval, and repeats a call that may have happened only after a new approval', () => {
    fc.assert(
      fc.property(world, (given) => {
        const { told, given: used } = runWorld(given);
        for (const { next, rows } of told) {
          if (next.do !== 'call') continue;
          for (const { id, tool, isRepeated } of next.calls) {
            const approvalRows = rowsOfKind(rows, 'asked').filter((row) => row.call === id);
            const approved = rowsOfKind(rows, 'decided').filter(
              (row) =>
                row.state === 'approved' && approvalRows.some(({ approval }) => approval === row.approval),
            );
            if (tool.verdict === 'ask') expect(approved.length).toBeGreaterThan(0);
            const asksAgain = used.interrupted_calls === 'ask' && !tool.hints.isReadOnly;
            const startCount = rowsOfKind(rows, 'called').filter((row) => row.id === id).length;
            if (isRepeated && asksAgain)
              expect(approved.length).toBe(startCount + (tool.verdict === 'ask' ? 1 : 0));
          }
        }
      }),
      { numRuns: runs(1_000) },
    );
  });

  test('never makes denied or unknown calls, or calls with invalid arguments', () => {
    fc.assert(
      fc.property(world, (given) => {
        const { made, rows } = runWorld(given);
        const approvalRows = new Map(
          rowsOfKind(rows, 'asked').map(({ approval, call: id }) => [approval, id]),
        );
        const no = rowsOfKind(rows, 'decided').filter(
          (row) => row.state === 'denied' || row.state === 'expired',
        );
        for (const { approval } of no) {
          const id = approvalRows.get(approval) ?? '';
          const at = rows.findIndex((row) => row.kind === 'decided' && row.approval === approval);
          expect(rowsOfKind(rows.slice(at), 'called').filter((row) => row.id === id)).toEqual([]);
        }
        for (const id of made) expect(toolOf(rows, id)).toBeDefined();
        const wrong = rowsOfKind(rows, 'answer')
          .flatMap(({ calls }) => calls)
          .filter(({ input }) => ['[1]', '{"a":', 'null'].includes(input));
        for (const { id } of wrong) expect(made).not.toContain(id);
      }),
      { numRuns: runs(1_000) },
    );
  });

  test('stays within the budget, and has no tools in the last allowed iteration', () => {
    fc.assert(
      fc.property(world, (given) => {
        const { told, rows, given: used } = runWorld(given);
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
            expect(rowsOfKind(before, 'answer').every(({ usage }) => usage.input !== undefined)).toBe(true);
        }
      }),
      { numRuns: runs(1_000) },
    );
  });

  test('gives the model one result per call, in order', () => {
    fc.assert(
      fc.property(world, (given) => {
        for (const { next, rows } of runWorld(given).told) {
          if (next.do !== 'ask') continue;
          const messages = messagesOf(rows);
          for (const [n, message] of messages.entries()) {
            if (message.role !== 'assistant' || message.calls.length === 0) continue;
            const after = messages[n + 1];
            const results = after?.role === 'tool' ? after.results : [];
            expect(results.map(({ id }) => id)).toEqual(message.calls.map(({ id }) => id));
            expect(results.every(({ text }) => text !== 'no result')).toBe(true);
          }
        }
      }),
      { numRuns: runs(500) },
    );
  });
});
