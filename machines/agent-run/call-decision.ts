// Applies the agent's policy to tools when a run starts, and later decides about each open call: make it,
// request approval, or settle it (write a result without a call). `deny` overrides all other lists, and tools
// in `ask` are never called without approval.

import type { ModelRuntime } from '../../config/resources/agents/model-runtime.ts';
import type { JournaledTool, JournalRow, ToolCall, ToolHints } from './journal.ts';
import { toolArguments } from './tool-arguments.ts';

/** Compiled policy list. */
export interface PolicyRule {
  /** Returns true if a pattern matches the tool. */
  matches(server: string, tool: string): boolean;
  /** True if the list contains `destructive` or `readonly`, which match the hints of the server. */
  readonly hasDestructive: boolean;
  readonly hasReadonly: boolean;
}

interface JudgedTool {
  readonly server: string;
  readonly tool: string;
  readonly hints: ToolHints;
}

/** Returns the policy decision for a tool, by name and hints at the start of the run. */
export function policyDecision(
  tool: JudgedTool,
  { deny, ask }: { readonly deny: PolicyRule; readonly ask: PolicyRule },
): 'deny' | 'ask' | 'allow' {
  if (matchesTool(deny, tool)) return 'deny';
  return matchesTool(ask, tool) ? 'ask' : 'allow';
}

function matchesTool(
  { matches, hasDestructive, hasReadonly }: PolicyRule,
  { server, tool, hints }: JudgedTool,
) {
  const { isDestructive, isReadOnly } = hints;
  return (hasDestructive && isDestructive) || (hasReadonly && isReadOnly) || matches(server, tool);
}

type DecidedRow = Extract<JournalRow, { readonly kind: 'decided' }>;

/** State of an open call (a call without result). */
export interface CallState {
  /** Number of starts. If it is above 0, the call was possibly executed. */
  readonly startCount: number;
  /** Approval requested since the last start. */
  readonly pendingApproval: string | undefined;
  /** Decision on the approval. */
  readonly decision: DecidedRow | undefined;
}

const INITIAL_CALL_STATE: CallState = { startCount: 0, pendingApproval: undefined, decision: undefined };

/** Returns a lookup of open calls by id. Calls without rows are in the initial state. */
export function callStates(rows: readonly JournalRow[]): (id: string) => CallState {
  const calls = new Map<string, CallState>();
  const callOf = new Map<string, string>();
  const stateOf = (id: string) => calls.get(id) ?? INITIAL_CALL_STATE;
  for (const row of rows) {
    if (row.kind === 'called')
      calls.set(row.id, { ...INITIAL_CALL_STATE, startCount: stateOf(row.id).startCount + 1 });
    else if (row.kind === 'asked' && row.call !== undefined) {
      callOf.set(row.approval, row.call);
      calls.set(row.call, { ...stateOf(row.call), pendingApproval: row.approval, decision: undefined });
    } else if (row.kind === 'decided') {
      const id = callOf.get(row.approval);
      // A decision counts only for the last request of its call.
      if (id !== undefined && stateOf(id).pendingApproval === row.approval)
        calls.set(id, { ...stateOf(id), decision: row });
    }
  }
  return stateOf;
}

export type CallDecision =
  | {
      readonly do: 'make' | 'ask';
      readonly id: string;
      readonly tool: JournaledTool;
      readonly args: Readonly<Record<string, unknown>>;
      /** The call was started before and was possibly executed. */
      readonly isRepeated: boolean;
    }
  | { readonly do: 'wait'; readonly approval: string }
  /** The call is skipped; `row` is its result. */
  | { readonly do: 'settle'; readonly row: JournalRow }
  | { readonly do: 'fail'; readonly reason: string };

export interface OpenCall {
  readonly call: ToolCall;
  /** Index in the model response, from 0. */
  readonly index: number;
  readonly tools: readonly JournaledTool[];
  readonly state: CallState;
  readonly settings: Pick<ModelRuntime, 'interrupted_calls'>;
}

/** Maximum number of calls per response. */
const MAX_CALLS = 64;
/** Maximum number of starts per call, because it may crash the process each time. */
const MAX_STARTS = 4;
/** Maximum length of the tool names in an error, in characters. */
const MAX_NAMES_LENGTH = 2_000;

export function judgeCall({ call, index, tools, state, settings }: OpenCall): CallDecision {
  const { id, name, input } = call;
  const { startCount, pendingApproval, decision } = state;
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) return settleRefused(id, unknownTool(name, tools));
  if (index >= MAX_CALLS)
    return settleRefused(id, `not called: a response may call at most ${MAX_CALLS} tools`);
  const args = toolArguments(input);
  if (typeof args === 'string') return settleRefused(id, `not called: invalid arguments: ${args}`);
  const isRepeated = startCount > 0;
  const plannedCall = (what: 'make' | 'ask') => ({ do: what, id, tool, args, isRepeated }) as const;
  if (pendingApproval !== undefined && decision === undefined)
    return { do: 'wait', approval: pendingApproval };
  if (decision?.state === 'approved') return plannedCall('make');
  if (decision?.state === 'denied' || decision?.state === 'expired')
    return isRepeated
      ? settleInterrupted(id, denialReason(decision))
      : settleRefused(id, denialReason(decision));
  if (!isRepeated) return plannedCall(tool.verdict === 'ask' ? 'ask' : 'make');
  // The tool itself continues the interrupted call.
  if (tool.hints.goesOn === true) return plannedCall('make');
  if (startCount >= MAX_STARTS)
    return settleInterrupted(id, `it was started ${startCount} times and never completed`);
  const { isReadOnly, isIdempotent } = tool.hints;
  if (isReadOnly || isIdempotent) return plannedCall('make');
  switch (settings.interrupted_calls) {
    case 'repeat':
      return plannedCall('make');
    case 'ask':
      return plannedCall('ask');
    case 'tell':
      return settleInterrupted(id, 'the gateway stopped during the call');
    case 'fail':
      return {
        do: 'fail',
        reason: `the call of ${tool.server}/${tool.tool} was interrupted and may have happened, and interrupted_calls is fail`,
      };
  }
}

function settleRefused(id: string, text: string): CallDecision {
  return settle(id, text, 'refused');
}

function settleInterrupted(id: string, why: string): CallDecision {
  return settle(
    id,
    `Outcome unknown: ${why}. The call may have happened. Check this before you repeat it.`,
    'interrupted',
  );
}

function settle(id: string, text: string, how: 'refused' | 'interrupted'): CallDecision {
  return { do: 'settle', row: { kind: 'result', id, text, isError: true, how, tookMs: 0 } };
}

function denialReason({ state, by, comment }: Extract<JournalRow, { readonly kind: 'decided' }>): string {
  if (state === 'expired') return 'not called: the required approval has expired';
  const who = by === undefined ? '' : ` by ${by}`;
  const why = comment === undefined || comment === '' ? '' : `: ${comment}`;
  return `not called: the required approval was denied${who}${why}`;
}

function unknownTool(name: string, tools: readonly JournaledTool[]): string {
  const names = tools.map((each) => each.name).join(', ');
  const available =
    names === '' ? 'no tools are available' : `available tools: ${names.slice(0, MAX_NAMES_LENGTH)}`;
  return `not called: unknown tool ${JSON.stringify(name.slice(0, 200))}; ${available}`;
}
