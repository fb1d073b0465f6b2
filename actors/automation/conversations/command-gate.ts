// The gate before the handler of a command that has to be approved. The event parks until people have decided; a denial is the answer.
//
// GAT1  a handler is never asked before the approval of exactly this call is durable.
// GAT2  what was approved is not asked for again in that run, whatever attempts, kills and parks there are.
// GAT3  what was denied is answered so, also where nobody is left who could run it.

import type { ApprovalRules } from '../../../config/resources/approval-rules.ts';
import type { Match } from '../../../machines/matching.ts';
import { outcomeText } from '../../agents/approvals/approval-message.ts';
import { isExactly } from '../../agents/approvals/approval-record.ts';
import {
  type ApprovalOutcome,
  type ApprovalRequest,
  approvalWake,
  type RunApprovals,
} from '../../agents/approvals/run-approvals.ts';
import type { Parked } from '../../agents/handlers/parked.ts';
import type { Assignment, Outcome } from '../../events/inbox/work.ts';
import type { RunNote } from '../../store/run.ts';
import { wordsOf } from './conversation-job.ts';
import { asideRows, said, type Taken } from './replies.ts';
import { parkedOutcome } from './run-context.ts';

export interface GateOptions {
  readonly assignment: Assignment;
  readonly taken: Taken;
  readonly match: Match;
  readonly rules: ApprovalRules;
  readonly parameters: Readonly<Record<string, string>>;
  /** Who would run it. */
  readonly agent: string;
  /** Whether that one is there. */
  readonly mayRun: boolean;
  readonly approvals: RunApprovals;
  /** Of the event so far. */
  readonly journal: readonly string[];
  /** Nobody wants an answer after so many milliseconds; undefined: any time. */
  readonly mostMs: number | undefined;
}

/** The handler may be asked, with what the journal has now; or what becomes of the event instead. */
export type GateVerdict = { readonly assignment: Assignment } | { readonly outcome: Outcome };

/** Rejects as `RunApprovals.ask` and the store do. */
export async function passGate(options: GateOptions): Promise<GateVerdict> {
  const { assignment, taken, approvals, journal } = options;
  const request = requestOf(options);
  const { approval, isNoted } = lastAsked(journal);
  const outcome = approval === undefined ? undefined : await approvals.outcome(approval);
  // What was asked for something or somebody else, as by files of before, says nothing of this.
  const isThis = outcome !== undefined && outcome.agent === options.agent && isExactly(outcome, request);
  if (approval === undefined || !isThis) return { outcome: await ask(options, request) };
  switch (outcome.state) {
    case 'cancelled':
      return { outcome: await ask(options, request) };
    case 'pending':
      return { outcome: parked(options, { wakeInMs: outcome.expiresInMs, note: WAITS }) };
    case 'approved': {
      if (isNoted || !options.mayRun) return { assignment };
      const steps = [decidedRow(approval, outcome)];
      await assignment.checkpoint(undefined, { steps });
      const { event } = assignment;
      return { assignment: { ...assignment, event: { ...event, steps: (event.steps ?? 0) + steps.length } } };
    }
    case 'denied':
    case 'expired': {
      const { state, by, comment } = outcome;
      const text = outcomeText({ state, decision: { by, comment, via: 'api' } });
      const steps = [decidedRow(approval, outcome), endedRow(text)];
      const told = said(taken, text, { status: 'warning', mentions: 'none' });
      return { outcome: { ...told, kind: 'done', note: `it was not approved: ${state}`, steps } };
    }
  }
}

/** Of the journal of a command whose handler keeps none. */
export function endedRow(text: string): string {
  return JSON.stringify({ kind: 'ended', text: text.slice(0, MAX_KEPT).toWellFormed() });
}

/** Characters; the record of the delivery has as much of its answer as is kept of any. */
const MAX_KEPT = 65_536;
const MAX_TITLE = 300;
const WAITS = 'it waits for approval';

function requestOf({ taken, match, rules, parameters }: GateOptions): ApprovalRequest {
  const { command: name = '', rest } = match;
  const word = `${name.startsWith('/') ? '' : '/'}${name}`;
  const { names, commandRest = '' } = taken.inbound;
  // Some platforms leave the command in the text where they name it, and perhaps with a bot behind it: `/deploy@the_bot`.
  const behindName = names.length > 0 && isSaidFirst(name, rest) ? rest.replace(/^\S+\s*/, '') : rest;
  const behind = commandRest === '' ? behindName : commandRest;
  const title = `${word} ${behind}`.slice(0, MAX_TITLE).trim().toWellFormed();
  const command = { name, parameters, input: wordsOf(taken.inbound) };
  return { kind: 'command', title, command, who: rules };
}

function isSaidFirst(name: string, text: string): boolean {
  const [first = ''] = /^\S+/.exec(text) ?? [];
  const plain = (word: string) => word.replace(/^\//, '').replace(/@\w+$/, '').toLowerCase();
  return plain(first) === plain(name);
}

async function ask(options: GateOptions, request: ApprovalRequest): Promise<Outcome> {
  const { taken, match } = options;
  const { id, effects, expiresInMs, whom } = await options.approvals.ask(request);
  const note = `${WAITS} of ${whom}`;
  const run: RunNote = { kind: 'command', name: match.command ?? '', figures: NO_FIGURES };
  // Where there is no channel for that they were asked here.
  const isTold = options.rules.approval_channel !== undefined;
  const words = `This waits for approval of ${whom}. The answer will come here.`;
  const emit = [...(effects.emit ?? []), ...(isTold ? asideRows(taken, words, `asked/${id}`) : [])];
  const steps = [JSON.stringify({ kind: 'asked', approval: id })];
  return parked(options, { wakeInMs: expiresInMs, note, effects: { emit, asks: effects.asks, steps, run } });
}

const NO_FIGURES = JSON.stringify({
  ...{ iterations: 0, tool_calls: 0, input_tokens: 0, output_tokens: 0, worked_ms: 0 },
});

function parked({ assignment, taken, mostMs }: GateOptions, how: Omit<Parked, 'parkedOn'>): Outcome {
  const { event } = assignment;
  return parkedOutcome(event, taken.trigger, { ...how, parkedOn: approvalWake(event.id) }, mostMs);
}

interface GateRow {
  readonly kind: string;
  readonly approval?: string;
  readonly call?: string;
}

/** Of what a handler has asked for its calls nothing is meant. */
function lastAsked(journal: readonly string[]): {
  readonly approval: string | undefined;
  readonly isNoted: boolean;
} {
  const rows = journal.map((text) => JSON.parse(text) as GateRow);
  const approval = rows.findLast(({ kind, call }) => kind === 'asked' && call === undefined)?.approval;
  const isNoted = rows.some((row) => row.kind === 'decided' && row.approval === approval);
  return { approval, isNoted };
}

function decidedRow(approval: string, { state, by, comment }: ApprovalOutcome): string {
  return JSON.stringify({ kind: 'decided', approval, state, by, comment });
}
