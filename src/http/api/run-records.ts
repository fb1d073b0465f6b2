// Creates the records in run-shapes.ts.

import type { RunParts } from '../../../actors/agents/runs/parts-of-run.ts';
import { conversationOf } from '../../../actors/agents/runs/run-conversation.ts';
import type { RunMember } from '../../../actors/agents/runs/run-members.ts';
import type { RunNode } from '../../../actors/agents/runs/run-nodes.ts';
import { waitsFor } from '../../../actors/agents/runs/run-state.ts';
import type { RawStep, StepPage } from '../../../actors/agents/runs/runs.ts';
import type { RunAnswer as AnsweredRun, ShownRun } from '../../../actors/agents/runs/shown-run.ts';
import type { ShownStep } from '../../../actors/agents/runs/step-for-people.ts';
import { deliveryRecord, failureRecords } from './delivery-records.ts';
import { isoTime } from './iso-time.ts';
import type { RecordView } from './record-view.ts';
import type {
  MemberRecord,
  NodeRecord,
  RawStepRecord,
  RunAnswer,
  RunDetails,
  RunRecord,
  RunUsage,
  StepRecord,
} from './run-shapes.ts';

/** Limit for answers in the brief view. */
const MAX_ANSWER = 2_000;

/** One line of GET /runs. */
export function runRecord(run: ShownRun, view: RecordView): RunRecord {
  const { delivery, kind, name, state, figures, stepCount } = run;
  const record = deliveryRecord(delivery, view);
  const { id, seq, until, conversation, trigger, attempts, trace, note } = record;
  const { received_at, started_at, ended_at, next_attempt_at } = record;
  return {
    ...{ id, seq, kind, name: view.name(name), state, waiting_for: waitsFor(delivery) ?? null, until },
    ...{ conversation, session: view.name(conversationOf(delivery.key)?.session), trigger, attempts },
    ...{ steps_count: stepCount, usage: usageRecord(figures, view) },
    ...{ received_at, started_at, ended_at, next_attempt_at, trace, note },
  };
}

function usageRecord(figures: ShownRun['figures'], view: RecordView): RunUsage | null {
  if (figures === undefined) return null;
  const { model, iterations, tool_calls, input_tokens, output_tokens, cost, worked_ms } = figures;
  return {
    model: view.name(model),
    iterations,
    tool_calls,
    input_tokens,
    output_tokens,
    cost: cost ?? null,
    worked_ms,
  };
}

/** POST /agents/:name/runs and the event `end`. */
export function answerRecord(run: AnsweredRun, view: RecordView): RunAnswer {
  const data = view.isBrief ? null : (run.data ?? null);
  return { ...runRecord(run, view), answer: view.text(run.answer, MAX_ANSWER), data };
}

/** GET /runs/:id. */
export function runDetails(
  run: AnsweredRun,
  { steps, nextAfter }: StepPage,
  { nodes, members }: RunParts,
  view: RecordView,
): RunDetails {
  return {
    ...answerRecord(run, view),
    ...(nodes === undefined ? {} : { nodes: nodes.map(nodeRecord) }),
    ...(members === undefined ? {} : { members: members.map(memberRecord) }),
    failures: failureRecords(run.delivery, view),
    steps: steps.map((step) => ('row' in step ? rawStepRecord(step) : stepRecord(step))),
    next_after: nextAfter ?? null,
  };
}

/** Texts in nodes, members and steps are redacted and cut in both views. */
export function nodeRecord(node: RunNode): NodeRecord {
  return {
    ...{ path: node.path, place: node.place, id: node.id, type: node.type, state: node.state },
    ...{ turn: node.turn ?? null, attempts: node.attempts },
    until: isoTime(node.until),
    for_people: node.isForPeople,
    ...lifeRecord(node),
    ...{ input: node.input ?? null, approval: node.approval ?? null, taken: node.taken ?? null },
  };
}

export function memberRecord({ path, name, state, vote, ...life }: RunMember): MemberRecord {
  return { path, name, state, ...lifeRecord(life), vote: vote ?? null };
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
    started_at: isoTime(startedAt),
    ended_at: isoTime(endedAt),
    took_ms: tookMs ?? null,
    output: output ?? null,
  };
}

export function stepRecord(step: ShownStep): StepRecord {
  const { n, at, kind, tookMs, until, waitingFor, ...others } = step;
  return {
    ...{ n, at: isoTime(at), kind, ...others },
    ...(tookMs === undefined ? {} : { took_ms: tookMs }),
    ...(until === undefined ? {} : { until: isoTime(until) }),
    ...(waitingFor === undefined ? {} : { waiting_for: waitingFor }),
  };
}

const rawStepRecord = ({ n, at, row }: RawStep): RawStepRecord => ({ n, at: isoTime(at), row });
