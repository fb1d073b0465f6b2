// How a run asks people about calls, and looks what they have said: it is parked under one name, whatever it waits for, and each
// decision wakes it.

import type { ToolPolicy } from '../../../config/resources/agents/model-runtime.ts';
import type { JournaledTool, JournalRow } from '../../../machines/agent-run/journal.ts';
import type { PlannedCall } from '../../../machines/agent-run/plan.ts';
import { toolArguments } from '../../../machines/agent-run/tool-arguments.ts';
import { isExactly } from '../approvals/approval-record.ts';
import {
  type ApprovalOutcome,
  type AskedApproval,
  approvalWake,
  type RunApprovals,
} from '../approvals/run-approvals.ts';
import type { Parked } from '../handlers/parked.ts';
import type { RunJournal } from './run-journal.ts';

/** One whose time is just over is not looked at again and again. */
const SHORTEST_WAIT_MS = 250;

interface Waiting {
  readonly agent: string;
  /** The event that the run is of. */
  readonly event: string;
  readonly journal: RunJournal;
}

/** Adds what was asked to the journal, which becomes durable with the park. Rejects as `ask` does. */
export async function parkAsking(
  calls: readonly PlannedCall[],
  approvals: RunApprovals,
  who: ToolPolicy,
  waiting: Waiting,
): Promise<Parked> {
  const ask = ({ tool, args }: PlannedCall): Promise<AskedApproval> =>
    approvals.ask({
      ...requestOf(tool, args),
      ...{ agent: waiting.agent, title: `${tool.server}/${tool.tool}`, who },
    });
  const asked = await Promise.all(calls.map(ask));
  waiting.journal.add(
    ...asked.map(({ id }, n): JournalRow => ({ kind: 'asked', approval: id, call: calls[n]?.id })),
  );
  return park(
    waiting,
    asked.map(({ expiresInMs }) => expiresInMs),
    asked,
  );
}

/** Adds what was decided to the journal, or gives the park until something is. Rejects as the store does. */
export async function parkUndecided(
  ids: readonly string[],
  approvals: RunApprovals,
  waiting: Waiting,
): Promise<Parked | undefined> {
  const outcomes = await Promise.all(ids.map(async (id) => ({ id, outcome: await approvals.outcome(id) })));
  const decided = outcomes.flatMap(({ id, outcome }): JournalRow[] => {
    // One that nobody knows any more was asked of nobody: it is asked again. So is what is not exactly what was approved.
    const isOfCall = outcome !== undefined && isOf(outcome, id, waiting.journal.rows);
    const { state, by, comment } = isOfCall ? outcome : UNKNOWN;
    return state === 'pending' ? [] : [{ kind: 'decided', approval: id, state, by, comment }];
  });
  waiting.journal.add(...decided);
  if (decided.length > 0) return undefined;
  return park(
    waiting,
    outcomes.map(({ outcome }) => outcome?.expiresInMs),
  );
}

const UNKNOWN = { state: 'cancelled', by: undefined, comment: undefined } as const;

const requestOf = ({ server, tool }: JournaledTool, args: unknown) =>
  ({ kind: 'tool', tool: { server, tool, arguments: args } }) as const;

/** Whether it is about the call that the journal says it is about, with these arguments. */
function isOf(outcome: ApprovalOutcome, approval: string, rows: readonly JournalRow[]): boolean {
  const asked = rows.find((row) => row.kind === 'asked' && row.approval === approval);
  const calls = rows.flatMap((row) => (row.kind === 'answer' ? row.calls : []));
  const call = calls.find(({ id }) => asked?.kind === 'asked' && id === asked.call);
  const tools = rows.flatMap((row) => (row.kind === 'begun' ? row.tools : []));
  const tool = tools.find(({ name }) => name === call?.name);
  const args = call && toolArguments(call.input);
  return tool !== undefined && typeof args === 'object' && isExactly(outcome, requestOf(tool, args));
}

function park(
  { event, journal }: Waiting,
  expiries: readonly (number | undefined)[],
  asked: readonly AskedApproval[] = [],
): Parked {
  const first = Math.min(...expiries.map((each) => each ?? Number.POSITIVE_INFINITY));
  const emit = asked.flatMap(({ effects }) => effects.emit ?? []);
  const asks = asked.flatMap(({ effects }) => effects.asks ?? []);
  return {
    parkedOn: approvalWake(event),
    wakeInMs: Number.isFinite(first) ? Math.max(SHORTEST_WAIT_MS, first) : undefined,
    state: journal.state,
    effects: { ...journal.take(), emit, asks },
    note: 'it waits for an approval',
  };
}
