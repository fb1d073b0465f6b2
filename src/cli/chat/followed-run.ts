// One run as a terminal follows it: from the question to its end, over breaks of the connection. What was told before a
// break is told once more by the gateway, and not by this.

import { setTimeout as pause } from 'node:timers/promises';
import type { Target } from '../../../config/resources/triggers/target.ts';
import type { ApprovalEvent, RetryEvent, ToolEvent } from '../../http/api/run-events.ts';
import type { RunAnswer, RunRecord, StepRecord } from '../../http/api/run-shapes.ts';
import { type ApiClient, ApiProblem } from '../api/api-client.ts';

export const runPath = (id: string, ...verb: readonly string[]): string =>
  ['runs', encodeURIComponent(id), ...verb].join('/');

export interface RunListener {
  onBegun?(run: RunRecord): void;
  /** All of a text that begins anew. */
  onText?(text: string): void;
  /** What is added to it. */
  onMore?(delta: string): void;
  onTool?(tool: ToolEvent): void;
  onPart?(step: StepRecord): void;
  onApproval?(approval: ApprovalEvent): void;
  onState?(run: RunRecord): void;
  /** Within an attempt something has failed, and is asked again. */
  onRetry?(retry: RetryEvent): void;
  /** The connection was cut, and is made again; the run goes on meanwhile. */
  onCut?(): void;
}

export interface Question {
  readonly target: Target;
  /** A flow may do without. */
  readonly input?: string | undefined;
  /** Of a flow. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  readonly session?: string | undefined;
  readonly user?: string | undefined;
}

const BEGIN_MS = 30_000;
const RECONNECTS = 5;
const RECONNECT_MS = 500;

/**
 * Asks, and resolves with the end of the run. Rejects with an ApiProblem, and with the reason of `signal` when that is aborted: the run
 * goes on then.
 */
export async function followRun(
  client: ApiClient,
  { target, input, parameters, session, user }: Question,
  listener: RunListener,
  signal: AbortSignal,
): Promise<RunAnswer> {
  let id: string | undefined;
  let end: RunAnswer | undefined;
  let isAgain = false;
  let stateTold = '';
  const known = new Set<string>();
  const isNew = (key: string) => !known.has(key) && known.add(key) !== undefined;
  const onState = (run: RunRecord): void => {
    const { state, waiting_for, next_attempt_at } = run;
    const now = [state, waiting_for, next_attempt_at].join(' ');
    if (now !== stateTold) listener.onState?.(run);
    stateTold = now;
  };
  const onEvent = (name: string, data: unknown): void => {
    if (name === 'run') {
      ({ id } = data as RunRecord);
      if (!isAgain) listener.onBegun?.(data as RunRecord);
    } else if (name === 'end') end = data as RunAnswer;
    else if (name === 'state') onState(data as RunRecord);
    else if (name === 'retry') listener.onRetry?.(data as RetryEvent);
    else if (name === 'tool') {
      const tool = data as ToolEvent;
      if (isNew(`${tool.part ?? ''} ${tool.call} ${tool.state}`)) listener.onTool?.(tool);
    } else if (name === 'part') {
      const step = data as StepRecord;
      if (isNew(`step ${step.n}`)) listener.onPart?.(step);
    } else if (name === 'approval') {
      const approval = data as ApprovalEvent;
      if (isNew(`${approval.id} ${approval.state}`)) listener.onApproval?.(approval);
    } else if (name === 'text' && !isAgain) {
      const { text, delta, part } = data as { readonly [name: string]: string | undefined };
      // What a part has answered is no text of the run.
      if (part !== undefined) return;
      if (text !== undefined) listener.onText?.(text);
      else listener.onMore?.(delta ?? '');
    }
  };
  const body = { input, parameters, session, user };
  const path = `${target.kind}s/${encodeURIComponent(target.name)}/runs`;
  await client.follow('POST', path, BEGIN_MS, { body, signal }, onEvent);
  for (let count = 0; end === undefined; count += 1) {
    signal.throwIfAborted();
    if (id === undefined || count === RECONNECTS)
      throw new ApiProblem(
        `the connection was cut${id === undefined ? '' : `; the run goes on, and "runs show ${id}" tells how it ends`}`,
        true,
      );
    if (!isAgain) listener.onCut?.();
    isAgain = true;
    await pause(RECONNECT_MS * 2 ** count, undefined, { signal });
    await client.follow('GET', runPath(id, 'events'), BEGIN_MS, { signal }, onEvent).catch(passing);
  }
  return end;
}

/** A gateway that restarts is asked again. */
function passing(error: unknown): void {
  if (!(error instanceof ApiProblem && error.isPassing)) throw error;
}
