// Follows a run to its end for `agents run` and similar commands. Stops earlier if the run needs an approval,
// at the timeout, and on Ctrl-C. stderr shows the progress; the caller prints the answer.

import { nodePath } from '../../../machines/flow-run/graph.ts';
import type { ApprovalEvent, ToolEvent } from '../../http/api/run-events.ts';
import type { StepRecord } from '../../http/api/run-shapes.ts';
import { isTerminal, paintFor } from '../../terminal/paint.ts';
import { printable } from '../../terminal/terminal-text.ts';
import type { ApiClient } from '../api/client.ts';
import { printMessage } from '../views/output.ts';
import { partLine } from '../views/parts.ts';
import { detachedLine, UNFINISHED_LINE } from '../views/runs.ts';
import { CancellableRun, handleSignals } from './cancellable-run.ts';
import { followRun, type RunToStart } from './follow-run.ts';
import { approvalWaitLine, printError, runNotices } from './run-notices.ts';

/** Exit code if the run needs an approval, which this command cannot give. */
export const WAITING_EXIT_CODE = 3;

/**
 * Returns the completed run. If it stops earlier, returns the last state and prints on stderr how to
 * continue.
 */
export async function awaitRun(
  client: ApiClient,
  runToStart: RunToStart,
  timeoutMs: number,
  isLocalGateway: boolean,
): Promise<object> {
  const run = new CancellableRun(client, printError);
  const timer = setTimeout(run.detach, timeoutMs);
  const stopHandling = handleSignals({ onInterrupt: run.interrupt, onTerminate: run.detach });
  /** Pending approvals by id. */
  const pendingApprovals = new Map<string, ApprovalEvent>();
  const showProgress = progressPrinter();
  const printPart = partPrinter(runToStart, showProgress);
  let last: object = {};
  try {
    const end = await followRun(
      client,
      runToStart,
      {
        ...runNotices,
        onTool: (tool) => showProgress(toolLine(tool)),
        onPart: printPart,
        onStart: (startedRun) => {
          run.setId(startedRun.id);
          last = startedRun;
        },
        onApproval: (approval) => {
          if (approval.state === 'pending') pendingApprovals.set(approval.id, approval);
          else pendingApprovals.delete(approval.id);
        },
        onState: (state) => {
          runNotices.onState(state);
          last = state;
          // Flow timers have the same state, but no pending approval.
          if (state.waiting_for === 'approval' && pendingApprovals.size > 0) run.detach();
        },
      },
      run.detachSignal,
    );
    if (end.state !== 'done')
      printMessage(
        `${printable(end.id)} is ${end.state}${end.note === null ? '' : `: ${printable(end.note)}`}`,
      );
    return end;
  } catch (error) {
    if (!run.detachSignal.aborted) throw error;
    for (const approval of pendingApprovals.values())
      printMessage(approvalWaitLine(approval, runToStart.target, { isLocalGateway }));
    if (run.isDetached && !isLocalGateway) printMessage(printable(detachedLine(run.id ?? '')));
    if (run.isDetached && isLocalGateway && pendingApprovals.size === 0) printMessage(UNFINISHED_LINE);
    return { ...last, approvals: [...pendingApprovals.keys()] };
  } finally {
    clearTimeout(timer);
    stopHandling();
  }
}

/** Returns a function that prints progress lines on a terminal, and does nothing otherwise. */
function progressPrinter(): (line: string) => void {
  const { stderr, env } = process;
  if (!isTerminal(stderr, env)) return () => {};
  const paint = paintFor(stderr, env);
  return (line) => printMessage(paint('faint', printable(line)));
}

const toolLine = ({ part, name = '', state }: ToolEvent) =>
  `${part === undefined ? '' : `${part}: `}${name} ${state}`;

function partPrinter(
  { target }: RunToStart,
  showProgress: (line: string) => void,
): (step: StepRecord) => void {
  /** Kind of the previous step, by part of the run. */
  const lastKinds = new Map<string, string>();
  return (step) => {
    const { part = '', kind } = step;
    const before = lastKinds.get(part);
    lastKinds.set(part, kind);
    // A step `left` reports that a flow node is complete, and `again` reports a delay.
    const isRedundant =
      (kind === 'ended' && target.kind === 'flow' && nodePath(part) !== undefined) ||
      (kind === 'parked' && before === 'again');
    const line = isRedundant ? undefined : partLine(step);
    if (line !== undefined) showProgress(line);
  };
}
