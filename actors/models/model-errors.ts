// What a provider of models refuses or breaks off, as the errors of a handler.
//
// ME1 (A9)  a message has the provider, the model, the status and a word of ours. Nothing that was sent, and nothing that the other
//           side wrote: it may repeat keys and what people said. So an error of the client is no `cause` either.
// ME2       408, 409, 425, 429 and 5xx pass, and so do the network and a stream that is cut; what else a provider says it will
//           say again, and that is final. A quota that is used up (a 429 too) passes for the run, but not within it.

import type { ModelName } from '../../config/resources/agents/model-runtime.ts';
import { HandlerError } from '../handlers/handler.ts';

export const nameOf = ({ provider, model }: ModelName): string => `${provider}:${model}`;

const passing: ReadonlySet<number> = new Set([408, 409, 425, 429]);

export const isPassing = (status: number): boolean => status >= 500 || passing.has(status);

/** Why a request gave no answer. */
export interface ModelFault {
  /** After the name of the model: "answered 429". */
  readonly what: string;
  readonly isFinal: boolean;
  /** The provider takes no more for now. */
  readonly isTooSoon?: boolean;
  readonly retryAfterMs?: number | undefined;
  /** Asking this model again in the same step is of no use. */
  readonly isUsedUp?: boolean;
}

/** Of an answer, or of an error within a stream. */
export function refusal(
  status: number,
  { retryAfterMs, reason }: { retryAfterMs?: number | undefined; reason?: string | undefined } = {},
): ModelFault {
  if (status >= 300 && status <= 399)
    return { what: `answered ${status}: redirects are not followed`, isFinal: true };
  const isFinal = !isPassing(status);
  return {
    what: reason === undefined ? `answered ${status}` : `answered ${status} (${reason})`,
    isFinal,
    isTooSoon: !isFinal && (status === 429 || retryAfterMs !== undefined),
    retryAfterMs: isFinal ? undefined : retryAfterMs,
    isUsedUp: reason === 'insufficient_quota',
  };
}

/** Rejects a request; never leaves actors/models/. */
export class ModelFaultError extends Error {
  readonly fault: ModelFault;
  constructor(fault: ModelFault) {
    super(fault.what);
    this.fault = fault;
  }
}

export function handlerError(
  model: ModelName,
  { what, ...fault }: Omit<ModelFault, 'isUsedUp'>,
): HandlerError {
  return new HandlerError(`the model ${nameOf(model)} ${what}`, fault);
}
