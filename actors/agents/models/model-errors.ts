// Failures of model providers as handler errors.
//
// ME1  A message contains the provider, the model, the status, a text of the gateway, the code of the error,
//      the path of the refused member and the name of the refused tool, but no other part of the request or
//      response, which can repeat keys and conversations (A9, ARCHITECTURE.md). For the same reason, an error
//      of the client library is never the `cause`.
// ME3  A final fault concerns either the model (key, name, address, context window) or the request. If it
//      concerns the model, the next model may answer; if it concerns the request, no model is tried. An
//      unclear fault concerns the request.
//
// Statuses 408, 409, 425, 429 and 5xx, malformed tool calls of the model, network errors and truncated
// streams are temporary; other errors are final. An exhausted quota (also 429) is not retried within the
// attempt, but a later attempt of the run may succeed.

import type { ModelName } from '../../../config/resources/agents/model-runtime.ts';
import { HandlerError } from '../handlers/handler.ts';
import { reasonsOfModel } from './error-reasons.ts';

export const nameOf = ({ provider, model }: ModelName): string => `${provider}:${model}`;

const transientStatuses: ReadonlySet<number> = new Set([408, 409, 425, 429]);

export const isTransient = (status: number): boolean => status >= 500 || transientStatuses.has(status);

/** Statuses that concern the model: invalid key, missing permission, unpaid account, unknown model. */
const statusesOfModel: ReadonlySet<number> = new Set([401, 402, 403, 404, 410]);
/** Statuses that concern the content of the request. */
const statusesOfRequest: ReadonlySet<number> = new Set([400, 413, 415, 422]);
/** Hints for statuses, used if no reason is known. */
const meanings: ReadonlyMap<number, string> = new Map([
  [401, 'is the key of its provider right?'],
  [402, 'is the account of its provider paid for?'],
  [403, 'may the key of its provider use this model?'],
  [
    404,
    'is there a model of that name, and does the base_url of its provider end where its API begins, mostly with /v1?',
  ],
]);

/** Hints for reasons that do not explain themselves. */
const meaningsOfReasons: ReadonlyMap<string, string> = new Map([
  [
    'no_db_connection',
    'is the key of its provider right? LiteLLM without a database accepts only its master key',
  ],
]);

/** Reasons that are temporary with any status: the model wrote a call that its provider could not parse. */
const transientReasons: ReadonlySet<unknown> = new Set(['tool_use_failed']);

const WITHOUT_KEY = 'the request had no key; a provider with its own base_url needs its own api_key';

interface RefusalDetails {
  readonly retryAfterMs?: number | undefined;
  readonly reason?: string | undefined;
  readonly code?: string | undefined;
  /** Path of the refused member in the request. */
  readonly field?: string | undefined;
  readonly concernsImages?: boolean;
  /** Tool whose definition was refused. */
  readonly tool?: string | undefined;
  /** True if the request had a key. */
  readonly hasKey?: boolean;
}

/** Describes why a model request failed. */
export interface ModelFault {
  /** Text after the name of the model: "answered 429". */
  readonly description: string;
  readonly isFinal: boolean;
  /** True if a final fault concerns only this model (ME3), so a fallback may answer. */
  readonly mayFallbackAnswer?: boolean;
  /** True if the provider currently accepts no requests. */
  readonly isRateLimited?: boolean;
  readonly retryAfterMs?: number | undefined;
  /**
   * True if this model cannot answer within the attempt, but possibly later: its quota is exhausted, or its
   * client library cannot be loaded.
   */
  readonly isUnusableNow?: boolean;
  /** Tool whose definition was refused; the provider may accept the request without it. */
  readonly refusedTool?: string | undefined;
  /** True if the provider may accept the request if images are omitted. */
  readonly mayRefuseImages?: boolean;
}

/** Converts a status, or an error within a stream. */
export function faultOfStatus(
  status: number,
  { retryAfterMs, reason, code, field, tool, concernsImages = false, hasKey = true }: RefusalDetails = {},
): ModelFault {
  if (status >= 300 && status <= 399)
    return {
      description: `answered ${status}: redirects are not followed; is base_url the address of its API?`,
      isFinal: true,
      mayFallbackAnswer: true,
    };
  const isFinal = !isTransient(status) && !transientReasons.has(reason);
  const meaning = status === 401 && !hasKey ? WITHOUT_KEY : meanings.get(status);
  const advice =
    reason !== undefined
      ? meaningsOfReasons.get(reason)
      : isFinal && tool !== undefined
        ? `it refuses the name or the inputSchema of the tool ${tool}`
        : meaning;
  const isRefused = isFinal && statusesOfRequest.has(status);
  const details = (isRefused ? [reason ?? code, field] : [reason]).filter((detail) => detail !== undefined);
  const statusText = `answered ${status}${details.length === 0 ? '' : ` (${details.join(', ')})`}`;
  return {
    description: advice === undefined ? statusText : `${statusText}: ${advice}`,
    isFinal,
    mayFallbackAnswer: statusesOfModel.has(status) || (reason !== undefined && reasonsOfModel.has(reason)),
    isRateLimited: !isFinal && (status === 429 || retryAfterMs !== undefined),
    retryAfterMs: isFinal ? undefined : retryAfterMs,
    isUnusableNow: reason === 'insufficient_quota',
    refusedTool: isFinal && reason === undefined ? tool : undefined,
    mayRefuseImages: concernsImages || (isFinal && reason === undefined && statusesOfRequest.has(status)),
  };
}

/** Error with a fault; used only inside actors/agents/models/. */
export class ModelFaultError extends Error {
  readonly fault: ModelFault;
  constructor(fault: ModelFault) {
    super(fault.description);
    this.fault = fault;
  }
}

export function handlerError(
  model: ModelName,
  { description, ...fault }: Pick<ModelFault, 'description' | 'isFinal' | 'isRateLimited' | 'retryAfterMs'>,
): HandlerError {
  return new HandlerError(faultText(model, description), fault);
}

export const faultText = (model: ModelName, description: string): string =>
  `the model ${nameOf(model)} ${description}`;
