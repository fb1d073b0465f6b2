// What stderr is told of a run whose answer is all that stdout has: why it takes its time, and why it waits.

import type { Target } from '../../../config/resources/triggers/target.ts';
import type { ApprovalEvent, RetryEvent } from '../../http/api/run-events.ts';
import type { RunRecord } from '../../http/api/run-shapes.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { ApiProblem } from '../api/api-client.ts';
import { UsageError } from '../api/target-options.ts';
import { complain } from '../views/output.ts';
import { CUT_LINE, putOffLine, retryLine } from '../views/run-views.ts';

/** Of a listener to a run. */
export const troubles = {
  onState(run: RunRecord): void {
    const line = putOffLine(run, Date.now());
    if (line !== undefined) complain(printable(line));
  },
  onRetry: (retry: RetryEvent): void => complain(printable(retryLine(retry))),
  onCut: (): void => complain(CUT_LINE),
};

/** Throws what is a fault of ours. */
export function complainOf(error: unknown): void {
  if (!(error instanceof ApiProblem || error instanceof UsageError)) throw error;
  complain(printable(error.message));
}

/** A gateway of one's own ends with the command, and nobody finds it afterwards. */
export function waitingLine(
  { id, title = '' }: ApprovalEvent,
  { kind, name }: Target,
  endsWithIt: boolean,
): string {
  const what = `it waits for approval of ${title}`;
  const instead =
    kind === 'agent'
      ? `"agents chat ${name}" with the same files asks in the terminal`
      : `"${kind}s run ${name}" of a running gateway waits for people`;
  return printable(
    endsWithIt
      ? `${what}, and ends with this command: ${instead}`
      : `${what}: "approvals approve ${id}" or "approvals deny ${id}"`,
  );
}
