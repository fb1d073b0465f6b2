// Plans the next step of an agent run from the journal. The executor (actors/agents/model-agent/) writes a
// row for each event and requests the next step. After a crash the same rows yield the same step; recorded
// steps and completed calls are not repeated. A started but incomplete call was possibly executed. It is
// repeated, with the same key and a limited number of times, only if the server declares this harmless or
// `interrupted_calls` allows it. A call that needs approval is made once per approval. Every run completes:
// iterations, calls per response and repetitions are limited. In the last iteration the model gets no tools.

import type { ModelRuntime } from '../../config/resources/agents/model-runtime.ts';
import { type CallDecision, callStates, judgeCall } from './call-decision.ts';
import type { CutReason, JournalRow, ModelAnswerRow } from './journal.ts';
import { exhaustedLimit, figuresOf, unenforceableLimit } from './usage.ts';

export type RunSettings = Pick<
  ModelRuntime,
  'max_iterations' | 'max_tokens' | 'budget' | 'interrupted_calls' | 'output_schema'
>;

/** A call to start or to approve. */
export type PlannedCall = Extract<CallDecision, { readonly do: 'make' | 'ask' }>;

export type NextStep =
  /** The journal is empty. */
  | { readonly do: 'begin' }
  /** Request a response of the model. */
  | { readonly do: 'ask'; readonly iteration: number; readonly hasTools: boolean }
  /** Append rows that are derived from existing rows. */
  | { readonly do: 'note'; readonly rows: readonly JournalRow[] }
  | { readonly do: 'call'; readonly calls: readonly PlannedCall[] }
  /** Request approval for these calls. */
  | { readonly do: 'people'; readonly calls: readonly PlannedCall[] }
  /** The run continues when any of these approvals is decided. */
  | { readonly do: 'wait'; readonly approvals: readonly string[] }
  | {
      readonly do: 'end';
      readonly text: string;
      readonly data?: unknown;
      readonly cut?: CutReason | undefined;
    }
  /** A retry cannot help. */
  | { readonly do: 'fail'; readonly reason: string };

/** Parses a response by `output_schema`, or describes the mismatch. */
export type ReadAnswer = (text: string) => { readonly data: unknown } | { readonly misfit: string };

type RowOf<K extends JournalRow['kind']> = Extract<JournalRow, { readonly kind: K }>;

/** Maximum number of mismatching responses that are retried. */
const MAX_UNFIT = 2;

export function nextStep(
  rows: readonly JournalRow[],
  settings: RunSettings,
  readAnswer: ReadAnswer,
): NextStep {
  const beginRow = rows.find((row): row is RowOf<'begun'> => row.kind === 'begun');
  if (beginRow === undefined) return { do: 'begin' };
  const endRow = rows.find((row): row is RowOf<'ended'> => row.kind === 'ended');
  if (endRow !== undefined) return { do: 'end', text: endRow.text, data: endRow.data, cut: endRow.cut };
  const answer = rows.findLast((row): row is ModelAnswerRow => row.kind === 'answer');
  if (answer === undefined) return askModel(rows, 1, settings);
  if (answer.calls.length === 0) return afterText(rows, answer, settings, readAnswer);
  const results = new Set(rows.map((row) => (row.kind === 'result' ? row.id : undefined)));
  const isOpen = answer.calls.some(({ id }) => !results.has(id));
  if (!isOpen) return askModel(rows, answer.iteration + 1, settings);
  if (answer.iteration >= settings.max_iterations)
    return tooMany(settings, 'the model requests more tool calls');
  const stateOf = callStates(rows);
  const judgements = answer.calls.flatMap((call, index) =>
    results.has(call.id)
      ? []
      : [judgeCall({ call, index, tools: beginRow.tools, state: stateOf(call.id), settings })],
  );
  return planCalls(rows, judgements, settings);
}

function askModel(rows: readonly JournalRow[], iteration: number, settings: RunSettings): NextStep {
  const { max_iterations, budget } = settings;
  if (iteration > max_iterations) return tooMany(settings, 'the run has no answer yet');
  const exceeded = exhaustedLimit(budget, figuresOf(rows, 0), 0) ?? unenforceableLimit(budget, rows);
  if (exceeded !== undefined) return { do: 'fail', reason: exceeded };
  return { do: 'ask', iteration, hasTools: iteration < max_iterations };
}

/** Plans open calls. Calls that need no approval start first, so that approvers do not delay them. */
function planCalls(
  rows: readonly JournalRow[],
  judgements: readonly CallDecision[],
  { budget }: RunSettings,
): NextStep {
  const fatal = judgements.find((each) => each.do === 'fail');
  if (fatal !== undefined) return fatal;
  const settledRows = judgements.flatMap((each) => (each.do === 'settle' ? [each.row] : []));
  if (settledRows.length > 0) return { do: 'note', rows: settledRows };
  const planned = judgements.filter((each): each is PlannedCall => each.do === 'make' || each.do === 'ask');
  const isNew = ({ isRepeated }: PlannedCall) => !isRepeated;
  const moreCalls = planned.filter(isNew).length;
  const exceeded = exhaustedLimit(budget, figuresOf(rows, 0), moreCalls) ?? unenforceableLimit(budget, rows);
  if (exceeded !== undefined && planned.length > 0) return { do: 'fail', reason: exceeded };
  const callable = planned.filter((each) => each.do === 'make');
  if (callable.length > 0) return { do: 'call', calls: callable };
  if (planned.length > 0) return { do: 'people', calls: planned };
  return { do: 'wait', approvals: judgements.flatMap((each) => (each.do === 'wait' ? [each.approval] : [])) };
}

function afterText(
  rows: readonly JournalRow[],
  { iteration, text, finish, model }: ModelAnswerRow,
  settings: RunSettings,
  readAnswer: ReadAnswer,
): NextStep {
  const unfit = rows.filter((row): row is RowOf<'unfit'> => row.kind === 'unfit');
  if (unfit.at(-1)?.iteration === iteration) return askModel(rows, iteration + 1, settings);
  if (text.trim() === '') {
    if (finish === 'filtered')
      return { do: 'fail', reason: `the provider of ${model} filtered the response` };
    if (finish === 'length')
      return {
        do: 'fail',
        reason: `${model} reached max_tokens (${settings.max_tokens ?? 'model default'}) before it answered`,
      };
    return afterEmpty(unfit.at(-1), iteration, model, settings);
  }
  if (settings.output_schema === undefined) return endWith(text, finish);
  const parsed = readAnswer(text);
  if ('data' in parsed) return { do: 'end', text: JSON.stringify(parsed.data), data: parsed.data };
  const reason = `the answer does not match output_schema: ${parsed.misfit}`;
  if (unfit.length >= MAX_UNFIT) return { do: 'fail', reason };
  if (iteration >= settings.max_iterations) return tooMany(settings, reason);
  return { do: 'note', rows: [{ kind: 'unfit', iteration, reason: parsed.misfit }] };
}

/** Requests another answer. */
function afterEmpty(
  previous: RowOf<'unfit'> | undefined,
  iteration: number,
  model: string,
  settings: RunSettings,
): NextStep {
  const reason = 'the answer is empty';
  if (previous?.isEmpty === true && previous.iteration === iteration - 1)
    return { do: 'fail', reason: `${model} answered twice without text and without tool calls` };
  if (iteration >= settings.max_iterations) return tooMany(settings, reason);
  return { do: 'note', rows: [{ kind: 'unfit', iteration, reason, isEmpty: true }] };
}

const cutMarks: Readonly<Record<CutReason, string>> = {
  length: '[The answer is incomplete: the model reached its length limit.]',
  filtered: "[The answer is incomplete: the provider's content filter stopped it.]",
};

/** Ends the run; the text of a cut answer has a note for its readers. */
function endWith(text: string, finish: ModelAnswerRow['finish']): NextStep {
  if (finish !== 'length' && finish !== 'filtered') return { do: 'end', text };
  return { do: 'end', text: `${text.trimEnd()}\n\n${cutMarks[finish]}`, cut: finish };
}

const tooMany = ({ max_iterations }: RunSettings, why: string): NextStep => ({
  do: 'fail',
  reason: `max_iterations (${max_iterations}) is used up, and ${why}`,
});
