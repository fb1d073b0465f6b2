// Repeats model requests: first with the same model and a pause, then with the next model. Each model gets
// one request and `retries` repetitions. A fault that is final for the model is not repeated; a fault that is
// final for the request stops all requests (ME3, model-errors.ts). Pauses grow with random jitter and respect
// the pause requested by the provider. If a pause would exceed the remaining time or LONGEST_PAUSE_MS, the
// next model is used, or the event is retried later.

import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelName } from '../../../config/resources/agents/model-runtime.ts';
import { faultText, handlerError, type ModelFault, ModelFaultError, nameOf } from './model-errors.ts';

const FIRST_PAUSE_MS = 500;
const LONGEST_BACKOFF_MS = 8_000;
/** Longest pause within a step, because the event uses a slot and blocks its conversation meanwhile. */
const LONGEST_PAUSE_MS = 30_000;

export interface RepeatOptions {
  readonly models: readonly [ModelName, ...ModelName[]];
  /** Number of repetitions per model. */
  readonly retries: number;
  readonly remainingMs: number;
  readonly signal: AbortSignal;
  /** Called when a model fails permanently and the next one is used. */
  readonly onRefusal?: (model: ModelName, description: string, next: ModelName) => void;
  /** Called before each pause, and with 0 before the next model is used. */
  readonly onRetry?: ((reason: string, inMs: number) => void) | undefined;
  /** Returns a number from 0 to 1. */
  readonly random?: () => number;
  /** First pause, in milliseconds. @default 500 */
  readonly firstPauseMs?: number;
}

/**
 * Returns the first answer of `attempt`, which rejects with a ModelFaultError. Rejects with a HandlerError,
 * or with the reason of `signal`.
 */
export async function repeatRequest<T>(
  options: RepeatOptions,
  attempt: (model: ModelName, remainingMs: number) => Promise<T>,
): Promise<T> {
  const until = performance.now() + options.remainingMs;
  const faults: ModelFailure[] = [];
  for (const [n, model] of options.models.entries()) {
    const result = await askModel(model, options, until, attempt);
    if ('answer' in result) return result.answer;
    faults.push(result);
    const next = options.models[n + 1];
    if (next === undefined || isRequestFault(result) || until - performance.now() <= 0) break;
    if (result.isFinal) options.onRefusal?.(model, result.description, next);
    options.onRetry?.(faultText(model, result.description), 0);
  }
  throw combinedError(faults);
}

const isRequestFault = ({ isFinal, mayFallbackAnswer = false }: ModelFault): boolean =>
  isFinal && !mayFallbackAnswer;

interface ModelFailure extends ModelFault {
  readonly model: ModelName;
}

async function askModel<T>(
  model: ModelName,
  options: RepeatOptions,
  until: number,
  attempt: (model: ModelName, remainingMs: number) => Promise<T>,
): Promise<{ readonly answer: T } | ModelFailure> {
  for (let n = 0; ; n++) {
    const remainingMs = until - performance.now();
    if (remainingMs <= 0)
      return { model, description: 'did not answer within the remaining time', isFinal: false };
    let fault: ModelFault;
    try {
      return { answer: await attempt(model, remainingMs) };
    } catch (error) {
      options.signal.throwIfAborted();
      if (!(error instanceof ModelFaultError)) throw error;
      fault = error.fault;
    }
    const pauseMs = Math.max(backoffMs(n, options), fault.retryAfterMs ?? 0);
    const isOver = fault.isFinal || fault.isUnusableNow === true || n >= options.retries;
    if (isOver || pauseMs > LONGEST_PAUSE_MS || pauseMs >= until - performance.now())
      return { ...fault, model };
    options.onRetry?.(faultText(model, fault.description), Math.round(pauseMs));
    await sleep(pauseMs, undefined, { signal: options.signal }).catch((error: unknown) => {
      options.signal.throwIfAborted();
      throw error;
    });
  }
}

function backoffMs(
  n: number,
  { random = Math.random, firstPauseMs = FIRST_PAUSE_MS }: RepeatOptions,
): number {
  return Math.min(LONGEST_BACKOFF_MS, firstPauseMs * 2 ** n) * (0.5 + random() / 2);
}

/**
 * Combines the faults. The error is final only if no model may answer later, and `isRateLimited` only if
 * every model is rate limited; the shortest pause counts.
 */
function combinedError(faults: readonly ModelFailure[]): Error {
  const last = faults.at(-1) as ModelFailure;
  const others = faults
    .slice(0, -1)
    .map(({ model, description }) => `; before it ${nameOf(model)} ${description}`);
  const isFinal = isRequestFault(last) || faults.every((fault) => fault.isFinal);
  const relevant = isFinal ? faults : faults.filter((fault) => !fault.isFinal);
  const isRateLimited = relevant.every((fault) => fault.isRateLimited === true);
  const pauses = relevant.flatMap(({ retryAfterMs }) => (retryAfterMs === undefined ? [] : [retryAfterMs]));
  return handlerError(last.model, {
    description: `${last.description}${others.join('')}`,
    isFinal,
    isRateLimited,
    retryAfterMs: pauses.length === relevant.length ? Math.min(...pauses) : undefined,
  });
}
