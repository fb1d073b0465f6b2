// Runs and their steps as the inspector shows them. What came from outside, from a model or from a tool is redacted and cut (A9).

import { waitsFor } from '../../../actors/agents/runs/run-state.ts';
import type { ShownRun } from '../../../actors/agents/runs/shown-run.ts';
import type { ShownStep } from '../../../actors/agents/runs/step-for-people.ts';
import type { Redactor } from '../../../actors/base/errors/redact.ts';
import type { RunDetails, RunRow, RunStep } from '../wire/run-wire.ts';

const MAX_NAME = 200;
const MAX_NOTE = 500;
const MAX_ANSWER = 2_000;
const MAX_FAILURES = 5;

export function runRow(
  { delivery, kind, name, state, figures, stepCount }: ShownRun,
  redactor: Redactor,
): RunRow {
  const { id, key, trigger, until, attempts, receivedAt, startedAt, endedAt, retryAt, note } = delivery;
  return {
    // Whole, as GET /runs has it: it is asked for by this.
    id,
    kind,
    name: redactor.excerpt(name, MAX_NAME),
    state,
    waiting_for: waitsFor(delivery) ?? null,
    until: until ?? null,
    trigger: trigger ?? null,
    conversation: redactor.excerpt(key, MAX_NAME),
    model: figures?.model === undefined ? null : redactor.excerpt(figures.model, MAX_NAME),
    steps: stepCount,
    iterations: figures?.iterations ?? 0,
    tool_calls: figures?.tool_calls ?? 0,
    input_tokens: figures?.input_tokens ?? 0,
    output_tokens: figures?.output_tokens ?? 0,
    cost: figures?.cost ?? null,
    worked_ms: figures?.worked_ms ?? 0,
    attempts,
    received_at: receivedAt,
    // A claim that was no attempt is no start.
    started_at: attempts === 0 ? null : (startedAt ?? null),
    ended_at: endedAt ?? null,
    next_attempt_at: retryAt ?? null,
    note: note === undefined ? null : redactor.excerpt(note, MAX_NOTE),
  };
}

export function runDetails(run: ShownRun, redactor: Redactor): RunDetails {
  const { answer, failures } = run.delivery;
  const hasJournal = run.stepCount > 0;
  return {
    ...runRow(run, redactor),
    answer: hasJournal || answer === undefined ? null : redactor.excerpt(answer, MAX_ANSWER),
    failures: failures.slice(-MAX_FAILURES).map(({ attempt, at, note }) => {
      return { attempt, at, note: redactor.excerpt(note, MAX_NOTE) };
    }),
  };
}

/** The texts of a step are redacted and cut already. */
export function stepRow({ tokens, tookMs, ...step }: ShownStep): RunStep {
  return { ...step, input_tokens: tokens?.input, output_tokens: tokens?.output, took_ms: tookMs };
}
