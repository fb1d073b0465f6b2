// Creates the API records of runs, their steps, and their parts: flow nodes and fleet members
// (run-shapes.ts).

import { conversationOf } from '../../../actors/agents/runs/conversation-key.ts';
import type { RunMember } from '../../../actors/agents/runs/member-progress.ts';
import type { RunNode } from '../../../actors/agents/runs/node-progress.ts';
import type { RunParts } from '../../../actors/agents/runs/part-progress.ts';
import type { RunAnswer as AnsweredRun, RunView } from '../../../actors/agents/runs/run-view.ts';
import type { RawStep, StepPage } from '../../../actors/agents/runs/runs.ts';
import { waitsFor } from '../../../actors/agents/runs/state.ts';
import type { StepView } from '../../../actors/agents/runs/step-shape.ts';
import { deliveryRecord, failureRecords } from './delivery-records.ts';
import { isoTime } from './iso-time.ts';
import type { RecordView } from './record-view.ts';
import type {
  MemberRecord,
  NodeRecord,
  RawStepRecord,
  RunDetails,
  RunRecord,
  RunResultRecord,
  RunUsage,
  StepRecord,
} from './run-shapes.ts';

/** Maximum answer length in the brief view (record-view.ts). */
const MAX_ANSWER = 2_000;

/** Returns an entry for the list of runs. */
export function runRecord(run: RunView, view: RecordView): RunRecord {
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

function usageRecord(figures: RunView['figures'], view: RecordView): RunUsage | null {
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

/** Returns the JSON of POST /agents/:name/runs and of the event `end`. */
export function runResultRecord(run: AnsweredRun, view: RecordView): RunResultRecord {
  const data = view.isBrief ? null : (run.data ?? null);
  return { ...runRecord(run, view), answer: view.text(run.answer, MAX_ANSWER), data };
}

/** Returns the record for `/runs/:id`. */
export function runDetails(
  run: AnsweredRun,
  { steps, nextAfter }: StepPage,
  { nodes, members }: RunParts,
  view: RecordView,
): RunDetails {
  return {
    ...runResultRecord(run, view),
    ...(nodes === undefined ? {} : { nodes: nodes.map(nodeRecord) }),
    ...(members === undefined ? {} : { members: members.map(memberRecord) }),
    failures: failureRecords(run.delivery, view),
    steps: steps.map((step) => ('row' in step ? rawStepRecord(step) : stepRecord(step))),
    next_after: nextAfter ?? null,
  };
}

/**
 * Returns the node's record. Texts of nodes, members and steps are already redacted and cut in both views.
 */
export function nodeRecord(node: RunNode): NodeRecord {
  return {
    ...{ path: node.path, place: node.place, id: node.id, type: node.type, state: node.state },
    ...{ turn: node.turn ?? null, attempts: node.attempts },
    until: isoTime(node.until),
    for_people: node.isForPeople,
    ...outcomeRecord(node),
    ...{ input: node.input ?? null, approval: node.approval ?? null, taken: node.taken ?? null },
  };
}

export function memberRecord({ path, name, state, vote, ...outcome }: RunMember): MemberRecord {
  return { path, name, state, ...outcomeRecord(outcome), vote: vote ?? null };
}

/** Returns the fields that nodes and members have in common: reason, times and output. */
function outcomeRecord({
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

export function stepRecord(step: StepView): StepRecord {
  const { n, at, kind, tookMs, until, waitingFor, ...others } = step;
  return {
    ...{ n, at: isoTime(at), kind, ...others },
    ...(tookMs === undefined ? {} : { took_ms: tookMs }),
    ...(until === undefined ? {} : { until: isoTime(until) }),
    ...(waitingFor === undefined ? {} : { waiting_for: waitingFor }),
  };
}

const rawStepRecord = ({ n, at, row }: RawStep): RawStepRecord => ({ n, at: isoTime(at), row });
