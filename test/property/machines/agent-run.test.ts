// The plan of an agent's run (nextStep computes the next step from the journal, the stored rows of the run),
// with random model answers, decisions and crashes between two rows. Each run ends, continues from its stored
// rows, stays within its budget, and makes no call without its approval. A call of unknown outcome is
// repeated only if the settings permit it.

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

/** A tool call of the model. `gone` is an unknown tool, and some inputs are no JSON object. */
const arbCall = fc.record({
  name: fc.constantFrom('read', 'write', 'pay', 'look', 'gone'),
  input: fc.constantFrom('{}', '', '{"path":"/a"}', '[1]', '{"a":', 'null'),
});
const arbAnswer = fc.record({
  text: fc.constantFrom('', 'hello', '{"ok":true}', '{"ok":1}'),
  calls: fc.oneof(
    {
      weight: 3,
      arbitrary: fc.array<{ name: string; input: string }>(arbCall, { minLength: 1, maxLength: 5 }),
    },
    fc.constant<{ name: string; input: string }[]>([]),
  ),
  finish: fc.constantFrom<ModelAnswerRow['finish']>('stop', 'calls', 'length', 'filtered', 'other'),
  /** Undefined if the provider reports no usage. */
  tokens: fc.option(fc.integer({ min: 0, max: 500 }), { nil: undefined, freq: 12 }),
});
/** Generates a limit from 1 to `max`, or no limit. */
const upTo = (max: number) => fc.option(fc.integer({ min: 1, max }), { nil: undefined });
const arbSettings = fc.record({
  max_iterations: fc.integer({ min: 1, max: 8 }),
  interrupted_calls: fc.constantFrom<RunSettings['interrupted_calls']>('tell', 'repeat', 'ask', 'fail'),
  output_schema: fc.constantFrom(undefined, { type: 'object' }),
  budget: fc.record({ tokens: upTo(3_000), tool_calls: upTo(12), cost: upTo(100) }),
});
const arbDecision = fc.constantFrom<'approved' | 'denied' | 'expired' | 'cancelled'>(
  ...(['approved', 'approved', 'denied', 'expired', 'cancelled'] as const),
);
const arbScenario = fc.record({
  settings: arbSettings,
  answers: fc.array(arbAnswer, { minLength: 1, maxLength: 12 }),
  decisions: fc.array(arbDecision, { minLength: 1, maxLength: 12 }),
  /** True for a crash, at each model request and tool call. */
  crashes: fc.infiniteStream(fc.integer({ min: 0, max: 3 }).map((n) => n === 0)),
});
type Scenario = typeof arbScenario extends fc.Arbitrary<infer T> ? T : never;
type Answer = typeof arbAnswer extends fc.Arbitrary<infer T> ? T : never;

/** Reads an answer of the output schema. */
const readAnswer = (text: string) =>
  text === '{"ok":true}' ? { data: { ok: true } } : { misfit: 'it is not ok' };

interface PlannedStep {
  readonly next: NextStep;
  /** Durable rows at this point. */
  readonly rows: readonly JournalRow[];
}

/**
 * Executes the planned steps until the run completes. `calledIds` contains the ids of all tool calls, with or
 * without a result.
 */
function runScenario({ settings: changes, answers, decisions, crashes }: Scenario) {
  const runSettings = settings(changes);
  const plannedSteps: PlannedStep[] = [];
  const calledIds: string[] = [];
  let durable: readonly JournalRow[] = [];
  let approvals = 0;
  let cancelled = 0;
  const isCrashed = () => crashes.next().value === true;
  const write = (rows: readonly JournalRow[]) => {
    durable = [...durable, ...rows];
  };
  const decision = () => {
    const next = decisions[approvals % decisions.length] ?? 'denied';
    if (next !== 'cancelled') return next;
    // An operator who retries the run cancels its approval. The limit ensures that the run terminates.
    cancelled += 1;
    return cancelled > 5 ? 'denied' : next;
  };
  for (let step = 0; step < 500; step += 1) {
    const next = nextStep(durable, runSettings, readAnswer);
    plannedSteps.push({ next, rows: durable });
    if (next.do === 'end' || next.do === 'fail')
      return { plannedSteps, calledIds, rows: durable, last: next, runSettings };
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
      // The rows always form valid messages.
      messagesOf(durable);
      if (isCrashed()) continue;
      write([answerRow(answers[(next.iteration - 1) % answers.length] ?? answers[0], next.iteration)]);
    } else if (next.do === 'call') {
      write(next.calls.map(({ id, isRepeated }) => ({ kind: 'called', id, isRepeated })));
      for (const { id } of next.calls) {
        calledIds.push(id);
        if (isCrashed()) break;
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

function answerRow(modelAnswer: Answer | undefined, iteration: number): ModelAnswerRow {
  const { text = '', calls = [], finish = 'stop', tokens } = modelAnswer ?? { tokens: 0 };
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

/** Returns the call's tool. Undefined for an unknown tool. */
const toolOf = (rows: readonly JournalRow[], id: string) => {
  const name = rowsOfKind(rows, 'answer')
    .flatMap(({ calls }) => calls)
    .find((each) => each.id === id)?.name;
  return tools.find((tool) => tool.name === name);
};

describe('the run of an agent', () => {
  test('reaches a final state after any sequence of events', () => {
    fc.assert(
      fc.property(arbScenario, (scenario) => {
        const { rows, last, runSettings } = runScenario(scenario);
        expect(['end', 'fail']).toContain(last.do);
        expect(rowsOfKind(rows, 'answer').length).toBeLessThanOrEqual(runSettings.max_iterations);
      }),
      { numRuns: runs(1_000) },
    );
  });

  test('continues from its rows after an interruption at any point', () => {
    fc.assert(
      fc.property(arbScenario, (scenario) => {
        const { plannedSteps, runSettings } = runScenario(scenario);
        for (const { next, rows } of plannedSteps) {
          const readBack = rows.map((row) => JSON.parse(JSON.stringify(row)) as JournalRow);
          expect(JSON.stringify(nextStep(readBack, runSettings, readAnswer))).toBe(JSON.stringify(next));
        }
      }),
      { numRuns: runs(300) },
    );
  });

  test('requests each model response only once, and repeats no tool call whose result is stored', () => {
    fc.assert(
      fc.property(arbScenario, (scenario) => {
        const { plannedSteps, rows } = runScenario(scenario);
        const iterations = rowsOfKind(rows, 'answer').map(({ iteration }) => iteration);
        expect(iterations).toEqual(iterations.map((_, n) => n + 1));
        for (const { next, rows: before } of plannedSteps) {
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

  test('repeats a tool call with an unknown outcome only if the repetition is harmless or the configuration allows it', () => {
    fc.assert(
      fc.property(arbScenario, (scenario) => {
        const { calledIds, rows, runSettings } = runScenario(scenario);
        const counts = new Map<string, number>();
        for (const id of calledIds) counts.set(id, (counts.get(id) ?? 0) + 1);
        for (const [id, count] of counts) {
          const isSafe = toolOf(rows, id)?.hints.isReadOnly === true;
          const mayRepeat = isSafe || runSettings.interrupted_calls === 'repeat';
          if (runSettings.interrupted_calls !== 'ask' && !mayRepeat) expect(count).toBe(1);
          // The gateway starts a call at most four times. With `ask`, people may approve further repetitions.
          expect(count).toBeLessThanOrEqual(mayRepeat ? 4 : 10);
        }
      }),
      { numRuns: runs(1_000) },
    );
  });

  test('makes a call that needs approval only after approval, and repeats a call with an unknown outcome only after a new one', () => {
    fc.assert(
      fc.property(arbScenario, (scenario) => {
        const { plannedSteps, runSettings } = runScenario(scenario);
        for (const { next, rows } of plannedSteps) {
          if (next.do !== 'call') continue;
          for (const { id, tool, isRepeated } of next.calls) {
            const approvalRows = rowsOfKind(rows, 'asked').filter((row) => row.call === id);
            const approved = rowsOfKind(rows, 'decided').filter(
              (row) =>
                row.state === 'approved' && approvalRows.some(({ approval }) => approval === row.approval),
            );
            if (tool.verdict === 'ask') expect(approved.length).toBeGreaterThan(0);
            const asksAgain = runSettings.interrupted_calls === 'ask' && !tool.hints.isReadOnly;
            const startCount = rowsOfKind(rows, 'called').filter((row) => row.id === id).length;
            // One approval per earlier start, and one for the first start if the tool requires it.
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
      fc.property(arbScenario, (scenario) => {
        const { calledIds, rows } = runScenario(scenario);
        const callByApproval = new Map(
          rowsOfKind(rows, 'asked').map(({ approval, call: id }) => [approval, id]),
        );
        const rejections = rowsOfKind(rows, 'decided').filter(
          (row) => row.state === 'denied' || row.state === 'expired',
        );
        for (const { approval } of rejections) {
          const id = callByApproval.get(approval) ?? '';
          const at = rows.findIndex((row) => row.kind === 'decided' && row.approval === approval);
          expect(rowsOfKind(rows.slice(at), 'called').filter((row) => row.id === id)).toEqual([]);
        }
        for (const id of calledIds) expect(toolOf(rows, id)).toBeDefined();
        const invalidCalls = rowsOfKind(rows, 'answer')
          .flatMap(({ calls }) => calls)
          .filter(({ input }) => ['[1]', '{"a":', 'null'].includes(input));
        for (const { id } of invalidCalls) expect(calledIds).not.toContain(id);
      }),
      { numRuns: runs(1_000) },
    );
  });

  test('stays within the budget, and has no tools in the last allowed iteration', () => {
    fc.assert(
      fc.property(arbScenario, (scenario) => {
        const { plannedSteps, rows, runSettings } = runScenario(scenario);
        const { tokens = Infinity, tool_calls = Infinity, cost = Infinity } = runSettings.budget;
        expect(figuresOf(rows, 0).tool_calls).toBeLessThanOrEqual(tool_calls);
        for (const { next, rows: before } of plannedSteps) {
          if (next.do === 'ask') expect(next.hasTools).toBe(next.iteration < runSettings.max_iterations);
          if (next.do !== 'ask' && next.do !== 'call') continue;
          const figures = figuresOf(before, 0);
          expect(figures.input_tokens + figures.output_tokens).toBeLessThan(tokens);
          expect(figures.cost ?? 0).toBeLessThan(cost);
          // With such a budget, the run stops after an answer without reported usage.
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
      fc.property(arbScenario, (scenario) => {
        for (const { next, rows } of runScenario(scenario).plannedSteps) {
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
