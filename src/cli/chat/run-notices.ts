// Prints notices about a run on stderr: delays, retries, approvals. stdout is reserved for the answer.

import { escapeHiddenLine } from '../../../actors/base/errors/hidden-characters.ts';
import type { Target } from '../../../config/resources/triggers/target.ts';
import type { ApprovalEvent, RetryEvent } from '../../http/api/run-events.ts';
import type { RunRecord } from '../../http/api/run-shapes.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { ApiProblem } from '../api/client.ts';
import { CommandLineError } from '../api/target-options.ts';
import { printMessage } from '../views/output.ts';
import { delayLine, RECONNECT_LINE, retryLine } from '../views/runs.ts';
import { shellWord } from '../views/shell-word.ts';

/** Listener methods that print notices. */
export const runNotices = {
  onState(run: RunRecord): void {
    const line = delayLine(run, Date.now());
    if (line !== undefined) printMessage(printable(line));
  },
  onRetry: (retry: RetryEvent): void => printMessage(printable(retryLine(retry))),
  onReconnect: (): void => printMessage(RECONNECT_LINE),
};

/** Prints problems of requests; throws other errors. */
export function printError(error: unknown): void {
  if (!(error instanceof ApiProblem || error instanceof CommandLineError)) throw error;
  printMessage(printable(error.message));
}

/** Returns the line for a pending approval. A local gateway's approvals cannot outlive the command. */
export function approvalWaitLine(
  { id, title = '' }: ApprovalEvent,
  { kind, name }: Target,
  { isLocalGateway }: { readonly isLocalGateway: boolean },
): string {
  const fact = `waiting for approval of ${escapeHiddenLine(title)}`;
  const instead =
    kind === 'agent'
      ? `"agents chat ${name}" with the same files asks on the terminal`
      : `"${kind}s run ${name}" of a running gateway waits for people`;
  return printable(
    isLocalGateway
      ? `${fact}, but this gateway stops with the command: ${instead}`
      : `${fact}: "approvals approve ${shellWord(id)}" or "approvals deny ${shellWord(id)}"`,
  );
}
