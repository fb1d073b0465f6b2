// Gate for commands that need an approval. The event is parked until the decision; a denial becomes the
// answer, also if the target was removed. The handler starts only after the approval of exactly this command
// is durable. A run requests the approval of its command once, despite retries, kills and parks.

import type { ApprovalRules } from '../../../config/resources/approval-rules.ts';
import type { Match } from '../../../machines/matching.ts';
import { outcomeText } from '../../agents/approvals/message.ts';
import { isExactly } from '../../agents/approvals/record.ts';
import {
  type ApprovalOutcome,
  type ApprovalRequest,
  approvalWake,
  type RunApprovals,
} from '../../agents/approvals/run-approvals.ts';
import type { Parked } from '../../agents/handlers/parked.ts';
import type { StoredRow } from '../../agents/runs/stored-rows.ts';
import type { Assignment, WorkOutcome } from '../../events/inbox/work.ts';
import type { RunNote } from '../../store/run.ts';
import { fullText } from './job.ts';
import { asideRows, messageOutcome, type RoutedEvent } from './messages.ts';
import { parkedOutcome } from './run-context.ts';

export interface CommandGateOptions {
  readonly assignment: Assignment;
  readonly routedEvent: RoutedEvent;
  readonly match: Match;
  readonly rules: ApprovalRules;
  readonly parameters: Readonly<Record<string, string>>;
  /** Target of the command. */
  readonly agent: string;
  /** True if the target exists. */
  readonly mayRun: boolean;
  readonly approvals: RunApprovals;
  /** Journal of the event so far. */
  readonly journal: readonly StoredRow[];
  /** Time until answers become useless, in milliseconds; undefined: no limit. */
  readonly remainingMs: number | undefined;
}

/** The assignment for the handler, or the outcome if the handler must not run. */
export type GateVerdict = { readonly assignment: Assignment } | { readonly outcome: WorkOutcome };

/** Checks, requests or reads the approval. Rejects with errors of `RunApprovals.ask` and of the store. */
export async function passGate(options: CommandGateOptions): Promise<GateVerdict> {
  const { assignment, routedEvent, approvals, journal } = options;
  const request = requestOf(options);
  const { approval, isJournaled } = lastRequest(journal);
  const outcome = approval === undefined ? undefined : await approvals.outcome(approval);
  // Approvals for different requests or targets, e.g. before file changes, do not count.
  const isThis = outcome !== undefined && outcome.agent === options.agent && isExactly(outcome, request);
  if (approval === undefined || !isThis) return { outcome: await requestApproval(options, request) };
  switch (outcome.state) {
    case 'cancelled':
      return { outcome: await requestApproval(options, request) };
    case 'pending':
      return { outcome: parkOutcome(options, { wakeInMs: outcome.expiresInMs, note: WAITS }) };
    case 'approved': {
      if (isJournaled || !options.mayRun) return { assignment };
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
      const reply = messageOutcome(routedEvent, text, { status: 'warning', mentions: 'none' });
      return { outcome: { ...reply, kind: 'done', note: `not approved: ${state}`, steps } };
    }
  }
}

/** Returns the last row of the journal, for handlers that write no journal. */
export function endedRow(text: string): string {
  return JSON.stringify({ kind: 'ended', text: text.slice(0, MAX_ANSWER).toWellFormed() });
}

/** Characters; the delivery record uses the same limit for answers. */
const MAX_ANSWER = 65_536;
const MAX_TITLE = 300;
const WAITS = 'waiting for approval';

function requestOf({ routedEvent, match, rules, parameters }: CommandGateOptions): ApprovalRequest {
  const { command: name = '', rest } = match;
  const commandWord = `${name.startsWith('/') ? '' : '/'}${name}`;
  const { names, commandRest = '' } = routedEvent.inbound;
  // Some platforms keep the command in the text, possibly with a bot name: `/deploy@the_bot`.
  const restWithoutName = names.length > 0 && isFirstWord(name, rest) ? rest.replace(/^\S+\s*/, '') : rest;
  const parameterText = commandRest === '' ? restWithoutName : commandRest;
  const title = `${commandWord} ${parameterText}`.slice(0, MAX_TITLE).trim().toWellFormed();
  const command = { name, parameters, input: fullText(routedEvent.inbound) };
  return { kind: 'command', title, command, rules };
}

function isFirstWord(name: string, text: string): boolean {
  const [first = ''] = /^\S+/.exec(text) ?? [];
  const plain = (word: string) => word.replace(/^\//, '').replace(/@\w+$/, '').toLowerCase();
  return plain(first) === plain(name);
}

async function requestApproval(options: CommandGateOptions, request: ApprovalRequest): Promise<WorkOutcome> {
  const { routedEvent, match } = options;
  const { id, effects, expiresInMs, approverText } = await options.approvals.ask(request);
  const note = `${WAITS} by ${approverText}`;
  const run: RunNote = { kind: 'command', name: match.command ?? '', figures: NO_FIGURES };
  // Without an approval channel, the request itself is in this conversation.
  const isElsewhere = options.rules.approval_channel !== undefined;
  const message = `Waiting for approval by ${approverText}. The answer will appear here.`;
  const emit = [
    ...(effects.emit ?? []),
    ...(isElsewhere ? asideRows(routedEvent, message, `asked/${id}`) : []),
  ];
  const steps = [JSON.stringify({ kind: 'asked', approval: id })];
  return parkOutcome(options, {
    wakeInMs: expiresInMs,
    note,
    effects: { emit, asks: effects.asks, steps, run },
  });
}

/** A command's approval uses no model. */
const NO_FIGURES = JSON.stringify({
  iterations: 0,
  tool_calls: 0,
  input_tokens: 0,
  output_tokens: 0,
  worked_ms: 0,
});

function parkOutcome(
  { assignment, routedEvent, remainingMs }: CommandGateOptions,
  how: Omit<Parked, 'parkedOn'>,
): WorkOutcome {
  const { event } = assignment;
  return parkedOutcome(event, routedEvent.trigger, { ...how, parkedOn: approvalWake(event.id) }, remainingMs);
}

interface GateRow {
  readonly kind: string;
  readonly approval?: string;
  readonly call?: string;
}

/** Returns the last approval requested for the command; a request with `call` is for a tool call. */
function lastRequest(journal: readonly StoredRow[]): {
  readonly approval: string | undefined;
  /** True if the journal contains the decision. */
  readonly isJournaled: boolean;
} {
  const rows = journal.map(({ row }) => row as unknown as GateRow);
  const approval = rows.findLast(({ kind, call }) => kind === 'asked' && call === undefined)?.approval;
  const isJournaled = rows.some((row) => row.kind === 'decided' && row.approval === approval);
  return { approval, isJournaled };
}

function decidedRow(approval: string, { state, by, comment }: ApprovalOutcome): string {
  return JSON.stringify({ kind: 'decided', approval, state, by, comment });
}
