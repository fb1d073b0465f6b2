// What the run of an agent does next, from its journal alone: whoever carries it out (actors/agents/model-agent/) writes a row for whatever has
// happened and asks again. A run that goes on after a crash reads its rows and comes to the same.
//
// PN1  the same rows give the same next thing; nothing that has a row is done again.
// PN2  a call whose result is there is never made again. One that was begun and has none may have happened: it is made again, under
//      its key, only where its server says that this does no harm, or `interrupted_calls` does; and so often at most.
// PN3  a call that has to be approved is made after that only, and once for each time it was.
// PN4  a run ends: there are so many answers, calls of one answer and repetitions of a call, and no more.
// PN5  in the last answer that it may have, the model has no tools that it could call.

import type { ModelRuntime } from '../../config/resources/agents/model-runtime.ts';
import { type CallJudgement, callsSoFar, judgeCall } from './call-judgement.ts';
import { figuresOf, uncounted, usedUp } from './figures.ts';
import type { JournalRow, ModelAnswerRow } from './journal.ts';

export type RunSettings = Pick<
  ModelRuntime,
  'max_iterations' | 'max_tokens' | 'budget' | 'interrupted_calls' | 'output_schema'
>;

/** A call that is to be made, or asked about. */
export type PlannedCall = Extract<CallJudgement, { readonly do: 'make' | 'ask' }>;

export type NextStep =
  /** There is no journal yet. */
  | { readonly do: 'begin' }
  | { readonly do: 'ask'; readonly iteration: number; readonly hasTools: boolean }
  /** Rows that follow from those that are there. */
  | { readonly do: 'note'; readonly rows: readonly JournalRow[] }
  | { readonly do: 'call'; readonly calls: readonly PlannedCall[] }
  /** People are to be asked about these. */
  | { readonly do: 'people'; readonly calls: readonly PlannedCall[] }
  /** Nothing goes on before one of these approvals is decided. */
  | { readonly do: 'wait'; readonly approvals: readonly string[] }
  | { readonly do: 'end'; readonly text: string; readonly data?: unknown }
  /** Trying again cannot help. */
  | { readonly do: 'fail'; readonly reason: string };

/** An answer by `output_schema` as a value, or what is wrong with it. */
export type ReadAnswer = (text: string) => { readonly data: unknown } | { readonly misfit: string };

type Row<K extends JournalRow['kind']> = Extract<JournalRow, { readonly kind: K }>;

/** Answers that do not fit and are asked for again. */
const MAX_UNFIT = 2;

export function nextStep(
  rows: readonly JournalRow[],
  settings: RunSettings,
  readAnswer: ReadAnswer,
): NextStep {
  const begun = rows.find((row): row is Row<'begun'> => row.kind === 'begun');
  if (begun === undefined) return { do: 'begin' };
  const ended = rows.find((row): row is Row<'ended'> => row.kind === 'ended');
  if (ended !== undefined) return { do: 'end', text: ended.text, data: ended.data };
  const answer = rows.findLast((row): row is ModelAnswerRow => row.kind === 'answer');
  if (answer === undefined) return asking(rows, 1, settings);
  if (answer.calls.length === 0) return afterWords(rows, answer, settings, readAnswer);
  const results = new Set(rows.map((row) => (row.kind === 'result' ? row.id : undefined)));
  const isOpen = answer.calls.some(({ id }) => !results.has(id));
  if (!isOpen) return asking(rows, answer.iteration + 1, settings);
  if (answer.iteration >= settings.max_iterations) return tooMany(settings, 'its model wants to call tools');
  const of = callsSoFar(rows);
  const judgements = answer.calls.flatMap((call, index) =>
    results.has(call.id)
      ? []
      : [judgeCall({ call, index, tools: begun.tools, soFar: of(call.id), settings })],
  );
  return calling(rows, judgements, settings);
}

function asking(rows: readonly JournalRow[], iteration: number, settings: RunSettings): NextStep {
  const { max_iterations, budget } = settings;
  if (iteration > max_iterations) return tooMany(settings, 'it has no answer yet');
  const over = usedUp(budget, figuresOf(rows, 0), 0) ?? uncounted(budget, rows);
  if (over !== undefined) return { do: 'fail', reason: over };
  return { do: 'ask', iteration, hasTools: iteration < max_iterations };
}

/** Those that need nobody come first: what is known does not wait for people. */
function calling(
  rows: readonly JournalRow[],
  judgements: readonly CallJudgement[],
  { budget }: RunSettings,
): NextStep {
  const fatal = judgements.find((each) => each.do === 'fail');
  if (fatal !== undefined) return fatal;
  const noted = judgements.flatMap((each) => (each.do === 'settle' ? [each.row] : []));
  if (noted.length > 0) return { do: 'note', rows: noted };
  const planned = judgements.filter((each): each is PlannedCall => each.do === 'make' || each.do === 'ask');
  const isNew = ({ isRepeated }: PlannedCall) => !isRepeated;
  const moreCalls = planned.filter(isNew).length;
  const over = usedUp(budget, figuresOf(rows, 0), moreCalls) ?? uncounted(budget, rows);
  if (over !== undefined && planned.length > 0) return { do: 'fail', reason: over };
  const made = planned.filter((each) => each.do === 'make');
  if (made.length > 0) return { do: 'call', calls: made };
  if (planned.length > 0) return { do: 'people', calls: planned };
  return { do: 'wait', approvals: judgements.flatMap((each) => (each.do === 'wait' ? [each.approval] : [])) };
}

function afterWords(
  rows: readonly JournalRow[],
  { iteration, text, finish, model }: ModelAnswerRow,
  settings: RunSettings,
  readAnswer: ReadAnswer,
): NextStep {
  const unfit = rows.filter((row): row is Row<'unfit'> => row.kind === 'unfit');
  if (unfit.at(-1)?.iteration === iteration) return asking(rows, iteration + 1, settings);
  if (text.trim() === '' && finish === 'filtered')
    return { do: 'fail', reason: `the provider of ${model} has withheld its answer` };
  if (text.trim() === '' && finish === 'length')
    return {
      do: 'fail',
      reason: `${model} has come to the end of max_tokens (${settings.max_tokens ?? 'its own'}) before it had answered`,
    };
  if (settings.output_schema === undefined) return { do: 'end', text };
  const given = readAnswer(text);
  if ('data' in given) return { do: 'end', text: JSON.stringify(given.data), data: given.data };
  const reason = `its answer does not fit output_schema: ${given.misfit}`;
  if (unfit.length >= MAX_UNFIT) return { do: 'fail', reason };
  if (iteration >= settings.max_iterations) return tooMany(settings, reason);
  return { do: 'note', rows: [{ kind: 'unfit', iteration, reason: given.misfit }] };
}

const tooMany = ({ max_iterations }: RunSettings, why: string): NextStep => ({
  do: 'fail',
  reason: `max_iterations (${max_iterations}) are over, and ${why}`,
});
