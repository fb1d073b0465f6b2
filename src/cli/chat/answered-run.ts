// A run whose answer is all that stdout has: followed to its end, or until it waits for people or nobody waits for it any longer. What it
// does meanwhile stands on stderr.

import { nodePath } from '../../../machines/flow-run/graph.ts';
import type { ApprovalEvent, ToolEvent } from '../../http/api/run-events.ts';
import type { StepRecord } from '../../http/api/run-shapes.ts';
import { isTerminal, paintFor } from '../../terminal/paint.ts';
import { printable } from '../../terminal/terminal-text.ts';
import type { ApiClient } from '../api/api-client.ts';
import { complain } from '../views/output.ts';
import { partLine } from '../views/part-views.ts';
import { leftLine, UNENDED_LINE } from '../views/run-views.ts';
import { AskedRun, heedSignals } from './asked-run.ts';
import { followRun, type Question } from './followed-run.ts';
import { complainOf, troubles, waitingLine } from './troubles.ts';

/** The end of the run, or how it stands when it was left: then what is to be done is told on stderr. */
export async function answerOf(
  client: ApiClient,
  question: Question,
  timeoutMs: number,
  endsWithIt: boolean,
): Promise<object> {
  const run = new AskedRun(client, complainOf);
  const timer = setTimeout(run.leave, timeoutMs);
  const heedNoMore = heedSignals(run.interrupt, run.leave);
  /** By id: what nobody has decided yet. */
  const asked = new Map<string, ApprovalEvent>();
  const tell = teller();
  const parts = partTeller(question, tell);
  let last: object = {};
  try {
    const end = await followRun(
      client,
      question,
      {
        ...troubles,
        onTool: (tool) => tell(toolLine(tool)),
        onPart: parts,
        onBegun: (begun) => {
          run.begun(begun.id);
          last = begun;
        },
        onApproval: (approval) => {
          if (approval.state === 'pending') asked.set(approval.id, approval);
          else asked.delete(approval.id);
        },
        onState: (state) => {
          troubles.onState(state);
          last = state;
          // A flow may wait for a time under the same name.
          if (state.waiting_for === 'approval' && asked.size > 0) run.leave();
        },
      },
      run.left,
    );
    if (end.state !== 'done')
      complain(`${printable(end.id)} is ${end.state}${end.note === null ? '' : `: ${printable(end.note)}`}`);
    return end;
  } catch (error) {
    if (!run.left.aborted) throw error;
    for (const approval of asked.values()) complain(waitingLine(approval, question.target, endsWithIt));
    if (run.goesOn && !endsWithIt) complain(printable(leftLine(run.id ?? '')));
    if (run.goesOn && endsWithIt && asked.size === 0) complain(UNENDED_LINE);
    return { ...last, approvals: [...asked.keys()] };
  } finally {
    clearTimeout(timer);
    heedNoMore();
  }
}

/** Says on a terminal what is going on. */
function teller(): (line: string) => void {
  const { stderr, env } = process;
  if (!isTerminal(stderr, env)) return () => {};
  const paint = paintFor(stderr, env);
  return (line) => complain(paint('faint', printable(line)));
}

const toolLine = ({ part, name = '', state }: ToolEvent) =>
  `${part === undefined ? '' : `${part}: `}${name} ${state}`;

function partTeller({ target }: Question, tell: (line: string) => void): (step: StepRecord) => void {
  /** By part: what was said of it last. */
  const told = new Map<string, string>();
  return (step) => {
    const { part = '', kind } = step;
    const before = told.get(part);
    told.set(part, kind);
    // The node says it itself, by `left`; and of one that is tried again is known that it waits.
    const isSaid =
      (kind === 'ended' && target.kind === 'flow' && nodePath(part) !== undefined) ||
      (kind === 'parked' && before === 'again');
    const line = isSaid ? undefined : partLine(step);
    if (line !== undefined) tell(line);
  };
}
