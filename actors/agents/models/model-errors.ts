// What a provider of models refuses or breaks off, as the errors of a handler.
//
// ME1 (A9)  a message has the provider, the model, the status and a word of ours. Nothing that was sent, and nothing that the other
//           side wrote: it may repeat keys and what people said. So an error of the client is no `cause` either.
// ME2       408, 409, 425, 429 and 5xx pass, and so do the network and a stream that is cut; what else a provider says it will
//           say again, and that is final. A quota that is used up (a 429 too) passes for the run, but not within it.
// ME3       what is final is so of the model (a key, a name, an address, a window that is too small), and another one may answer; or
//           of what it was sent, which is then sent to nobody else. Where neither is known it is the latter.

import type { ModelName } from '../../../config/resources/agents/model-runtime.ts';
import { HandlerError } from '../handlers/handler.ts';

export const nameOf = ({ provider, model }: ModelName): string => `${provider}:${model}`;

const passing: ReadonlySet<number> = new Set([408, 409, 425, 429]);

export const isPassing = (status: number): boolean => status >= 500 || passing.has(status);

/** Its key, what that may do, what is paid for, its name. */
const ofModel: ReadonlySet<number> = new Set([401, 402, 403, 404, 410]);
/** Of readErrorAnswer, whatever the status: some say all of this with 400. */
const reasonsOfModel: ReadonlySet<string> = new Set([
  'context_length_exceeded',
  'insufficient_quota',
  'invalid_api_key',
  'model_not_found',
  'not_found_error',
]);

/** What to look at where a provider says no more than that. */
const meanings: ReadonlyMap<number, string> = new Map([
  [401, 'is the key of its provider right?'],
  [402, 'is the account of its provider paid for?'],
  [403, 'may the key of its provider use this model?'],
  [
    404,
    'is there a model of that name, and does the base_url of its provider end where its API begins, mostly with /v1?',
  ],
]);

const WITHOUT_KEY =
  'it was asked without a key; a provider that has a base_url of its own needs an api_key of its own';

interface RefusalDetails {
  readonly retryAfterMs?: number | undefined;
  readonly reason?: string | undefined;
  /** Whether it was asked with one. */
  readonly hasKey?: boolean;
}

/** Why a request gave no answer. */
export interface ModelFault {
  /** After the name of the model: "answered 429". */
  readonly what: string;
  readonly isFinal: boolean;
  /** It is final for this model alone. */
  readonly canOtherAnswer?: boolean;
  /** The provider takes no more for now. */
  readonly isTooSoon?: boolean;
  readonly retryAfterMs?: number | undefined;
  /** Asking this model again in the same step is of no use. */
  readonly isUsedUp?: boolean;
}

/** Of an answer, or of an error within a stream. */
export function refusal(
  status: number,
  { retryAfterMs, reason, hasKey = true }: RefusalDetails = {},
): ModelFault {
  if (status >= 300 && status <= 399)
    return {
      what: `answered ${status}: redirects are not followed; is base_url the address of its API?`,
      isFinal: true,
      canOtherAnswer: true,
    };
  const isFinal = !isPassing(status);
  const meaning = status === 401 && !hasKey ? WITHOUT_KEY : meanings.get(status);
  const advice = reason === undefined ? meaning : undefined;
  const said = reason === undefined ? `answered ${status}` : `answered ${status} (${reason})`;
  return {
    what: advice === undefined ? said : `${said}: ${advice}`,
    isFinal,
    canOtherAnswer: ofModel.has(status) || (reason !== undefined && reasonsOfModel.has(reason)),
    isTooSoon: !isFinal && (status === 429 || retryAfterMs !== undefined),
    retryAfterMs: isFinal ? undefined : retryAfterMs,
    isUsedUp: reason === 'insufficient_quota',
  };
}

/** Rejects a request; never leaves actors/agents/models/. */
export class ModelFaultError extends Error {
  readonly fault: ModelFault;
  constructor(fault: ModelFault) {
    super(fault.what);
    this.fault = fault;
  }
}

export function handlerError(
  model: ModelName,
  { what, ...fault }: Omit<ModelFault, 'isUsedUp' | 'canOtherAnswer'>,
): HandlerError {
  return new HandlerError(faultText(model, what), fault);
}

export const faultText = (model: ModelName, what: string): string => `the model ${nameOf(model)} ${what}`;
