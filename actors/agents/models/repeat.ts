// Asking again: the same model after a pause, then the next.
//
// RJ1  a model is asked at most once and `retries` times more, and the next only when it cannot answer. What is final of the model
//      is not asked of it again; what is final of the question ends all (ME3).
// RJ2  no pause goes beyond the time that is left, nor beyond what a place may be held for: a longer one is for the next model, or
//      for whoever lets the event wait without a place.
// RJ3  pauses grow, and are shorter by chance, so that many runs do not come again at once; a pause that a provider names is kept.

import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelName } from '../../../config/resources/agents/model-runtime.ts';
import { faultText, handlerError, type ModelFault, ModelFaultError, nameOf } from './model-errors.ts';

const FIRST_PAUSE_MS = 500;
const LONGEST_GROWN_MS = 8_000;
/** Kept within the step; the place and the conversation are held for that long. */
const LONGEST_PAUSE_MS = 30_000;

export interface RepeatOptions {
  readonly models: readonly [ModelName, ...ModelName[]];
  readonly retries: number;
  readonly leftMs: number;
  readonly signal: AbortSignal;
  /** Called where a model has failed for good, and another one is asked. */
  readonly onRefusal?: (model: ModelName, what: string, next: ModelName) => void;
  /** Told of each pause before it begins; of the next model, which is asked at once, with 0. */
  readonly onRetry?: ((reason: string, inMs: number) => void) | undefined;
  /** 0…1. */
  readonly random?: () => number;
  /** What the first pause is. @default 500 */
  readonly firstPauseMs?: number;
}

/** `attempt` rejects with a ModelFaultError. Rejects with a HandlerError, or with the reason of `signal`. */
export async function repeated<T>(
  options: RepeatOptions,
  attempt: (model: ModelName, leftMs: number) => Promise<T>,
): Promise<T> {
  const until = performance.now() + options.leftMs;
  const faults: Failed[] = [];
  for (const [n, model] of options.models.entries()) {
    const fault = await askModel(model, options, until, attempt);
    if ('answer' in fault) return fault.answer;
    faults.push(fault);
    const next = options.models[n + 1];
    if (next === undefined || isOfQuestion(fault) || until - performance.now() <= 0) break;
    if (fault.isFinal) options.onRefusal?.(model, fault.what, next);
    options.onRetry?.(faultText(model, fault.what), 0);
  }
  throw failure(faults);
}

const isOfQuestion = ({ isFinal, canOtherAnswer = false }: ModelFault): boolean => isFinal && !canOtherAnswer;

interface Failed extends ModelFault {
  readonly model: ModelName;
}

async function askModel<T>(
  model: ModelName,
  options: RepeatOptions,
  until: number,
  attempt: (model: ModelName, leftMs: number) => Promise<T>,
): Promise<{ readonly answer: T } | Failed> {
  for (let n = 0; ; n++) {
    const leftMs = until - performance.now();
    if (leftMs <= 0) return { model, what: 'gave no answer in the time that was left', isFinal: false };
    let fault: ModelFault;
    try {
      return { answer: await attempt(model, leftMs) };
    } catch (error) {
      options.signal.throwIfAborted();
      if (!(error instanceof ModelFaultError)) throw error;
      fault = error.fault;
    }
    const pauseMs = Math.max(grown(n, options), fault.retryAfterMs ?? 0);
    const isOver = fault.isFinal || fault.isUsedUp === true || n >= options.retries;
    if (isOver || pauseMs > LONGEST_PAUSE_MS || pauseMs >= until - performance.now())
      return { ...fault, model };
    options.onRetry?.(faultText(model, fault.what), Math.round(pauseMs));
    await sleep(pauseMs, undefined, { signal: options.signal }).catch((error: unknown) => {
      options.signal.throwIfAborted();
      throw error;
    });
  }
}

function grown(n: number, { random = Math.random, firstPauseMs = FIRST_PAUSE_MS }: RepeatOptions): number {
  return Math.min(LONGEST_GROWN_MS, firstPauseMs * 2 ** n) * (0.5 + random() / 2);
}

/**
 * Trying again helps while one of them may answer then. Of those it is too soon only if it is for each; the first that will answer
 * again says when.
 */
function failure(faults: readonly Failed[]): Error {
  const last = faults.at(-1) as Failed;
  const others = faults.slice(0, -1).map(({ model, what }) => `; before it ${nameOf(model)} ${what}`);
  const isFinal = isOfQuestion(last) || faults.every((fault) => fault.isFinal);
  const open = faults.filter((fault) => isFinal || !fault.isFinal);
  const isTooSoon = open.every((fault) => fault.isTooSoon === true);
  const pauses = open.flatMap(({ retryAfterMs }) => (retryAfterMs === undefined ? [] : [retryAfterMs]));
  return handlerError(last.model, {
    what: `${last.what}${others.join('')}`,
    isFinal,
    isTooSoon,
    retryAfterMs: pauses.length === open.length ? Math.min(...pauses) : undefined,
  });
}
