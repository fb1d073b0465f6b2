// Requests approvals for tool calls, parks the run, and reads the decisions. A parked run releases its slot
// and waits in the store under a name, until an event with this name wakes it (parked.ts). All approval
// requests in a run share one name, so each decision wakes the run.

import type { ToolPolicy } from '../../../config/resources/agents/model-runtime.ts';
import type { JournaledTool, JournalRow } from '../../../machines/agent-run/journal.ts';
import type { PlannedCall } from '../../../machines/agent-run/plan.ts';
import { toolArguments } from '../../../machines/agent-run/tool-arguments.ts';
import { isExactly } from '../approvals/record.ts';
import {
  type ApprovalOutcome,
  approvalWake,
  type CreatedRequest,
  type RunApprovals,
} from '../approvals/run-approvals.ts';
import type { Parked } from '../handlers/parked.ts';
import type { RunJournal } from './run-journal.ts';

/** Prevents repeated checks shortly before an approval expires. */
const SHORTEST_WAIT_MS = 250;

interface WaitingRun {
  readonly agent: string;
  /** Id of the event that started the run. */
  readonly event: string;
  readonly journal: RunJournal;
}

/**
 * Creates the requests, adds them to the journal, and returns the result that parks the run. Journal rows and
 * requests are committed together with this result. Rejects with the error of `ask`.
 */
export async function parkForApprovals(
  calls: readonly PlannedCall[],
  approvals: RunApprovals,
  policy: ToolPolicy,
  waiting: WaitingRun,
): Promise<Parked> {
  const request = ({ tool, args }: PlannedCall): Promise<CreatedRequest> =>
    approvals.ask({
      ...requestOf(tool, args),
      agent: waiting.agent,
      title: `${tool.server}/${tool.tool}`,
      rules: policy,
    });
  const requests = await Promise.all(calls.map(request));
  waiting.journal.add(
    ...requests.map(({ id }, n): JournalRow => ({ kind: 'asked', approval: id, call: calls[n]?.id })),
  );
  return park(
    waiting,
    requests.map(({ expiresInMs }) => expiresInMs),
    requests,
  );
}

/**
 * Adds new decisions to the journal and returns undefined. If there are none, returns the result that parks
 * the run again. Rejects with the store's error.
 */
export async function parkUndecided(
  ids: readonly string[],
  approvals: RunApprovals,
  waiting: WaitingRun,
): Promise<Parked | undefined> {
  const outcomes = await Promise.all(ids.map(async (id) => ({ id, outcome: await approvals.outcome(id) })));
  const decided = outcomes.flatMap(({ id, outcome }): JournalRow[] => {
    // A request that was never committed, or differs from the call, counts as cancelled and is repeated.
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

/** Returns true if the approval is for this call, with these arguments. */
function isOf(outcome: ApprovalOutcome, approval: string, rows: readonly JournalRow[]): boolean {
  const askedRow = rows.find((row) => row.kind === 'asked' && row.approval === approval);
  const calls = rows.flatMap((row) => (row.kind === 'answer' ? row.calls : []));
  const call = calls.find(({ id }) => askedRow?.kind === 'asked' && id === askedRow.call);
  const tools = rows.flatMap((row) => (row.kind === 'begun' ? row.tools : []));
  const tool = tools.find(({ name }) => name === call?.name);
  const args = call && toolArguments(call.input);
  return tool !== undefined && typeof args === 'object' && isExactly(outcome, requestOf(tool, args));
}

function park(
  { event, journal }: WaitingRun,
  expiries: readonly (number | undefined)[],
  requests: readonly CreatedRequest[] = [],
): Parked {
  const first = Math.min(...expiries.map((each) => each ?? Number.POSITIVE_INFINITY));
  const emit = requests.flatMap(({ effects }) => effects.emit ?? []);
  const asks = requests.flatMap(({ effects }) => effects.asks ?? []);
  return {
    parkedOn: approvalWake(event),
    wakeInMs: Number.isFinite(first) ? Math.max(SHORTEST_WAIT_MS, first) : undefined,
    state: journal.state,
    effects: { ...journal.takeUnwritten(), emit, asks },
    note: 'waits for an approval',
  };
}
