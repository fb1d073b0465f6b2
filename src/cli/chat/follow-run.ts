// Starts a run and follows its event stream to the end. Reconnects if the connection is lost, and filters the
// events that the gateway then repeats.

import { setTimeout as pause } from 'node:timers/promises';
import type { Target } from '../../../config/resources/triggers/target.ts';
import type { ApprovalEvent, RetryEvent, ToolEvent } from '../../http/api/run-events.ts';
import type { RunRecord, RunResultRecord, StepRecord } from '../../http/api/run-shapes.ts';
import { type ApiClient, ApiProblem } from '../api/client.ts';
import { shellWord } from '../views/shell-word.ts';

export const runPath = (id: string, ...verb: readonly string[]): string =>
  ['runs', encodeURIComponent(id), ...verb].join('/');

export interface RunListener {
  onStart?(run: RunRecord): void;
  /** A new text starts. `text` is the whole text so far. */
  onText?(text: string): void;
  /** Addition to the current text. */
  onDelta?(delta: string): void;
  onTool?(tool: ToolEvent): void;
  onPart?(step: StepRecord): void;
  onApproval?(approval: ApprovalEvent): void;
  onState?(run: RunRecord): void;
  /** A model request has failed and will be retried within the same attempt. */
  onRetry?(retry: RetryEvent): void;
  /** The connection was lost and will be opened again. The run continues. */
  onReconnect?(): void;
}

/** Body of the start request, with its target. */
export interface RunToStart {
  readonly target: Target;
  /** Question or text. Only flows may omit it. */
  readonly input?: string | undefined;
  /** Flow parameters. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  readonly session?: string | undefined;
  readonly user?: string | undefined;
}

const START_TIMEOUT_MS = 30_000;
const RECONNECTS = 5;
const RECONNECT_MS = 500;

/**
 * Starts the run and returns its result. Rejects with an ApiProblem, or with the signal's reason if `signal`
 * is aborted; the run continues then.
 */
export async function followRun(
  client: ApiClient,
  { target, input, parameters, session, user }: RunToStart,
  listener: RunListener,
  signal: AbortSignal,
): Promise<RunResultRecord> {
  let id: string | undefined;
  let end: RunResultRecord | undefined;
  let isReconnected = false;
  let lastState = '';
  const seenEvents = new Set<string>();
  /** Returns true for the first event with this key, and records the key. */
  const isNew = (key: string) => !seenEvents.has(key) && seenEvents.add(key) !== undefined;
  const onState = (run: RunRecord): void => {
    const { state, waiting_for, next_attempt_at } = run;
    const stateKey = [state, waiting_for, next_attempt_at].join(' ');
    if (stateKey !== lastState) listener.onState?.(run);
    lastState = stateKey;
  };
  const onEvent = (name: string, data: unknown): void => {
    if (name === 'run') {
      ({ id } = data as RunRecord);
      if (!isReconnected) listener.onStart?.(data as RunRecord);
    } else if (name === 'end') end = data as RunResultRecord;
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
    } else if (name === 'text' && !isReconnected) {
      const { text, delta, part } = data as { readonly [name: string]: string | undefined };
      // Texts of parts of the run are not printed.
      if (part !== undefined) return;
      if (text !== undefined) listener.onText?.(text);
      else listener.onDelta?.(delta ?? '');
    }
  };
  const body = { input, parameters, session, user };
  const path = `${target.kind}s/${encodeURIComponent(target.name)}/runs`;
  await client.follow('POST', path, START_TIMEOUT_MS, { body, signal }, onEvent);
  for (let count = 0; end === undefined; count += 1) {
    signal.throwIfAborted();
    if (id === undefined || count === RECONNECTS)
      throw new ApiProblem(
        `the connection was lost${id === undefined ? '' : `; the run continues, and "runs show ${shellWord(id)}" shows its result`}`,
        { isTransient: true },
      );
    if (!isReconnected) listener.onReconnect?.();
    isReconnected = true;
    await pause(RECONNECT_MS * 2 ** count, undefined, { signal });
    await client
      .follow('GET', runPath(id, 'events'), START_TIMEOUT_MS, { signal }, onEvent)
      .catch(ignoreTransient);
  }
  return end;
}

/** Throws the error unless a retry may succeed, for example when the gateway has restarted. */
function ignoreTransient(error: unknown): void {
  if (!(error instanceof ApiProblem && error.isTransient)) throw error;
}
