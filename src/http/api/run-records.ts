// The JSON of GET /runs, and of what an agent was asked. Times are ISO 8601; what is measured of steps is milliseconds.

import type { RunParts } from '../../../actors/agents/runs/parts-of-run.ts';
import { conversationOf } from '../../../actors/agents/runs/run-conversation.ts';
import type { RunMember } from '../../../actors/agents/runs/run-members.ts';
import type { RunNode } from '../../../actors/agents/runs/run-nodes.ts';
import { waitsFor } from '../../../actors/agents/runs/run-state.ts';
import type { RawStep, StepPage } from '../../../actors/agents/runs/runs.ts';
import type { RunAnswer, ShownRun } from '../../../actors/agents/runs/shown-run.ts';
import type { ShownStep } from '../../../actors/agents/runs/step-for-people.ts';

const iso = (epochMs: number | undefined) => (epochMs === undefined ? null : new Date(epochMs).toISOString());

/** One line of GET /runs. */
export function runRecord(run: ShownRun) {
  const { delivery, kind, name, state, figures, stepCount } = run;
  return {
    id: delivery.id,
    seq: delivery.seq,
    kind,
    name,
    state,
    waiting_for: waitsFor(delivery) ?? null,
    until: iso(delivery.until),
    conversation: delivery.key,
    session: conversationOf(delivery.key)?.session ?? null,
    trigger: delivery.trigger ?? null,
    attempts: delivery.attempts,
    steps_count: stepCount,
    usage: usageRecord(figures),
    received_at: iso(delivery.receivedAt),
    started_at: iso(delivery.attempts === 0 ? undefined : delivery.startedAt),
    ended_at: iso(delivery.endedAt),
    next_attempt_at: iso(delivery.retryAt),
    trace: delivery.trace,
    note: delivery.note ?? null,
  };
}

/** Null for one without a journal. */
function usageRecord(figures: ShownRun['figures']) {
  if (figures === undefined) return null;
  const { model, iterations, tool_calls, input_tokens, output_tokens, cost, worked_ms } = figures;
  return {
    model: model ?? null,
    iterations,
    tool_calls,
    input_tokens,
    output_tokens,
    cost: cost ?? null,
    worked_ms,
  };
}

/** POST /agents/:name/runs, and the end of its events. */
export function answerRecord(run: RunAnswer) {
  return { ...runRecord(run), answer: run.answer ?? null, data: run.data ?? null };
}

/** GET /runs/:id. */
export function runDetails(run: RunAnswer, { steps, nextAfter }: StepPage, { nodes, members }: RunParts) {
  return {
    ...answerRecord(run),
    ...(nodes === undefined ? {} : { nodes: nodes.map(nodeRecord) }),
    ...(members === undefined ? {} : { members: members.map(memberRecord) }),
    failures: run.delivery.failures.map(({ attempt, at, note }) => ({ attempt, at: iso(at), note })),
    steps: steps.map(stepRecord),
    next_after: nextAfter ?? null,
  };
}

function nodeRecord(node: RunNode) {
  return {
    ...{ path: node.path, place: node.place, id: node.id, type: node.type, state: node.state },
    ...{ turn: node.turn ?? null, attempts: node.attempts },
    until: iso(node.until),
    for_people: node.isForPeople,
    ...lifeRecord(node),
    taken: node.taken ?? null,
  };
}

function memberRecord({ name, state, ...life }: RunMember) {
  return { name, state, ...lifeRecord(life) };
}

function lifeRecord({
  why,
  startedAt,
  endedAt,
  tookMs,
  output,
}: Pick<RunMember, 'why' | 'startedAt' | 'endedAt' | 'tookMs' | 'output'>) {
  return {
    why: why ?? null,
    started_at: iso(startedAt),
    ended_at: iso(endedAt),
    took_ms: tookMs ?? null,
    output: output ?? null,
  };
}

/** A step has the members that its kind has. */
export function stepRecord(step: ShownStep | RawStep) {
  if ('row' in step) return { n: step.n, at: iso(step.at), row: step.row };
  const { n, at, kind, tookMs, until, waitingFor, ...others } = step;
  return {
    ...{ n, at: iso(at), kind, ...others },
    ...(tookMs === undefined ? {} : { took_ms: tookMs }),
    ...(until === undefined ? {} : { until: iso(until) }),
    ...(waitingFor === undefined ? {} : { waiting_for: waitingFor }),
  };
}
