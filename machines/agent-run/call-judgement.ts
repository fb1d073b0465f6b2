// Judges tools by the agent's policy when the run begins, and later each call without result: make it, request approval, or
// answer it here.
//
// PY1  `deny` overrides all other lists, and tools in `ask` are never called without approval.

import type { ModelRuntime } from '../../config/resources/agents/model-runtime.ts';
import type { JournaledTool, JournalRow, ToolCall, ToolHints } from './journal.ts';
import { toolArguments } from './tool-arguments.ts';

/** Compiled list of a policy. */
export interface PolicyRule {
  /** Returns true if a pattern matches the tool. */
  matches(server: string, tool: string): boolean;
  /** The list contains `destructive` or `readonly`, the hints of servers. */
  readonly hasDestructive: boolean;
  readonly hasReadonly: boolean;
}

interface JudgedTool {
  readonly server: string;
  readonly tool: string;
  readonly hints: ToolHints;
}

/** Judges a tool by name and hints, as listed at the start of the run. */
export function verdictOn(
  tool: JudgedTool,
  { deny, ask }: { readonly deny: PolicyRule; readonly ask: PolicyRule },
): 'deny' | 'ask' | 'allow' {
  if (isMeant(deny, tool)) return 'deny';
  return isMeant(ask, tool) ? 'ask' : 'allow';
}

function isMeant({ matches, hasDestructive, hasReadonly }: PolicyRule, { server, tool, hints }: JudgedTool) {
  const { isDestructive, isReadOnly } = hints;
  return (hasDestructive && isDestructive) || (hasReadonly && isReadOnly) || matches(server, tool);
}

type Decided = Extract<JournalRow, { readonly kind: 'decided' }>;

/** State of a call before the result: starts, approval request, decision. */
export interface CallSoFar {
  /** Number of starts; above 0 the call may have happened. */
  readonly begun: number;
  /** Approval requested since the last start. */
  readonly asked: string | undefined;
  /** Decision on the approval. */
  readonly decided: Decided | undefined;
}

const NOTHING: CallSoFar = { begun: 0, asked: undefined, decided: undefined };

/** Open calls by id; calls without rows are missing. */
export function callsSoFar(rows: readonly JournalRow[]): (id: string) => CallSoFar {
  const calls = new Map<string, CallSoFar>();
  const callOf = new Map<string, string>();
  const of = (id: string) => calls.get(id) ?? NOTHING;
  for (const row of rows) {
    if (row.kind === 'called') calls.set(row.id, { ...NOTHING, begun: of(row.id).begun + 1 });
    else if (row.kind === 'asked' && row.call !== undefined) {
      callOf.set(row.approval, row.call);
      calls.set(row.call, { ...of(row.call), asked: row.approval, decided: undefined });
    } else if (row.kind === 'decided') {
      const id = callOf.get(row.approval);
      // A permission is valid for the last request, and for one call.
      if (id !== undefined && of(id).asked === row.approval) calls.set(id, { ...of(id), decided: row });
    }
  }
  return of;
}

export type CallJudgement =
  | {
      readonly do: 'make' | 'ask';
      readonly id: string;
      readonly tool: JournaledTool;
      readonly args: Readonly<Record<string, unknown>>;
      /** It was begun before, and may have happened. */
      readonly isRepeated: boolean;
    }
  | { readonly do: 'wait'; readonly approval: string }
  /** Its result, without anything done. */
  | { readonly do: 'settle'; readonly row: JournalRow }
  | { readonly do: 'fail'; readonly reason: string };

export interface OpenCall {
  readonly call: ToolCall;
  /** In its answer, from 0. */
  readonly index: number;
  readonly tools: readonly JournaledTool[];
  readonly soFar: CallSoFar;
  readonly settings: Pick<ModelRuntime, 'interrupted_calls'>;
}

/** Of one answer. */
const MAX_CALLS = 64;
/** How often a call is begun at most: what ends the process each time is not tried for ever. */
const MAX_BEGUN = 4;
const MAX_NAMES = 2_000;

export function judgeCall({ call, index, tools, soFar, settings }: OpenCall): CallJudgement {
  const { id, name, input } = call;
  const { begun, asked, decided } = soFar;
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) return refused(id, unknownTool(name, tools));
  if (index >= MAX_CALLS) return refused(id, `not called: an answer may call ${MAX_CALLS} tools at once`);
  const args = toolArguments(input);
  if (typeof args === 'string') return refused(id, `not called: its arguments cannot be used, since ${args}`);
  const isRepeated = begun > 0;
  const planned = (what: 'make' | 'ask') => ({ do: what, id, tool, args, isRepeated }) as const;
  if (asked !== undefined && decided === undefined) return { do: 'wait', approval: asked };
  if (decided?.state === 'approved') return planned('make');
  if (decided?.state === 'denied' || decided?.state === 'expired')
    return isRepeated ? interrupted(id, saidNo(decided)) : refused(id, saidNo(decided));
  if (!isRepeated) return planned(tool.verdict === 'ask' ? 'ask' : 'make');
  if (tool.hints.goesOn === true) return planned('make');
  if (begun >= MAX_BEGUN) return interrupted(id, `it was begun ${begun} times and never ended`);
  const { isReadOnly, isIdempotent } = tool.hints;
  if (isReadOnly || isIdempotent) return planned('make');
  switch (settings.interrupted_calls) {
    case 'repeat':
      return planned('make');
    case 'ask':
      return planned('ask');
    case 'tell':
      return interrupted(id, 'the gateway was stopped meanwhile');
    case 'fail':
      return {
        do: 'fail',
        reason: `the call of ${tool.server}/${tool.tool} was interrupted and may have happened, and interrupted_calls is fail`,
      };
  }
}

function refused(id: string, text: string): CallJudgement {
  return settled(id, text, 'refused');
}

function interrupted(id: string, why: string): CallJudgement {
  return settled(
    id,
    `No result is known: ${why}. The call may have happened. Find out before you repeat it.`,
    'interrupted',
  );
}

function settled(id: string, text: string, how: 'refused' | 'interrupted'): CallJudgement {
  return { do: 'settle', row: { kind: 'result', id, text, isError: true, how, tookMs: 0 } };
}

function saidNo({ state, by, comment }: Extract<JournalRow, { readonly kind: 'decided' }>): string {
  if (state === 'expired') return 'not called: it had to be approved, and nobody has decided in time';
  const who = by === undefined ? '' : ` by ${by}`;
  const why = comment === undefined || comment === '' ? '' : `: ${comment}`;
  return `not called: it had to be approved, and was denied${who}${why}`;
}

function unknownTool(name: string, tools: readonly JournaledTool[]): string {
  const names = tools.map((each) => each.name).join(', ');
  const there = names === '' ? 'there are no tools' : `there are: ${names.slice(0, MAX_NAMES)}`;
  return `not called: there is no tool ${JSON.stringify(name.slice(0, 200))}; ${there}`;
}
