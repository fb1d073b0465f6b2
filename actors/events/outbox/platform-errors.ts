// Converts error responses of platforms to a DeliveryError. Each adapter has a table of the platform's error
// codes; for other codes the HTTP status decides. The error text has the form `131047 re-engagement message
// required: <text of the platform>`, so that people can search for code and meaning.

import { RequestFault } from '../../../libs/rest/request-fault.ts';
import { removeControlSequences } from '../../base/errors/control-sequences.ts';
import { DeliveryError } from './delivery-error.ts';

export interface PlatformError {
  readonly meaning: string;
  /**
   * `final`: a retry cannot help. `transient`: a retry may help. `rateLimited`: the platform ignored the
   * request; it is sent later, without counting an attempt.
   */
  readonly kind: 'final' | 'transient' | 'rateLimited';
}

/** Errors by platform code. */
export type PlatformErrors = Readonly<Record<string, PlatformError>>;

/** Platform error response. */
export interface PlatformRefusal {
  /** HTTP status. */
  readonly status: number;
  /** Error code of the platform, if any. */
  readonly code?: number | string | undefined;
  /** Error text of the platform; it is truncated and shown in notes, so it must not repeat the request. */
  readonly text?: string | undefined;
  /**
   * Host of the request. The note names it if the response seems to come from a proxy, not from the platform.
   */
  readonly host?: string | undefined;
  /** Pause that the platform requested. */
  readonly retryAfterMs?: number | undefined;
}

const MAX_TEXT = 300;

/** Returns the error for an unsuccessful response. */
export function responseError(errors: PlatformErrors, refusal: PlatformRefusal): DeliveryError {
  const { status, code, text = '', host = '', retryAfterMs } = refusal;
  const platformCode = code ?? status;
  const entry = code === undefined ? undefined : entryOf(errors, String(code));
  // A response without code and text may come from a proxy; the note then names the host.
  const isTextless = code === undefined && displayText(text) === '';
  const isFromProxy = isSuccess(status) || (isTextless && host !== '');
  const originNote = isFromProxy ? 'not a response of the platform' : '';
  const fallbackMeaning = code === undefined ? originNote : `(HTTP ${status})`;
  const from = isTextless && host !== '' ? ` (from ${host})` : '';
  const kind = entry?.kind ?? kindOf(status, retryAfterMs);
  return new DeliveryError(platformNote(errors, platformCode, text, fallbackMeaning) + from, {
    platformCode,
    isFinal: kind === 'final',
    isRateLimited: kind !== 'final' && (kind === 'rateLimited' || retryAfterMs !== undefined),
    retryAfterMs,
    // Without a known code, a proxy may have responded while the platform handled the request.
    isOutcomeUnknown: entry === undefined && (isSuccess(status) || [500, 502, 504].includes(status)),
    isPlatformDown: kind === 'transient' && (status >= 500 || (isSuccess(status) && code === undefined)),
  });
}

/** Returns the error text. `fallbackMeaning` is the meaning of a code without table entry. */
export function platformNote(
  errors: PlatformErrors,
  code: number | string,
  platformText = '',
  fallbackMeaning = '',
): string {
  const meaning = entryOf(errors, String(code))?.meaning ?? fallbackMeaning;
  const text = displayText(platformText);
  const head = meaning === '' ? String(code) : `${code} ${meaning}`;
  return text === '' ? head : `${head}: ${text}`;
}

function kindOf(status: number, retryAfterMs: number | undefined): PlatformError['kind'] {
  if (status === 429) return 'rateLimited';
  if (isSuccess(status) || status >= 500 || status === 408 || status === 425) return 'transient';
  return retryAfterMs === undefined ? 'final' : 'rateLimited';
}

/** Returns true for a success status. An invalid response with this status usually comes from a proxy. */
const isSuccess = (status: number) => status < 300;

/** Returns the text on one line, without terminal control sequences. */
function displayText(text: string): string {
  return removeControlSequences(text.slice(0, 4 * MAX_TEXT))
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_TEXT);
}

/**
 * Returns the error for a request without a usable response: none, a redirect, or one above the size limit.
 * `requestName` is part of the error text. Other errors than RequestFault may contain secrets; their text is
 * not shown.
 */
export function requestError(error: unknown, requestName: string): DeliveryError {
  if (error instanceof DeliveryError) return error;
  if (!(error instanceof RequestFault))
    return new DeliveryError(`request failed (${requestName})`, { cause: error });
  const { kind, message, mayHaveArrived } = error;
  return new DeliveryError(`${message} (${requestName})`, {
    isFinal: kind === 'redirected' || kind === 'too-large',
    isOutcomeUnknown: mayHaveArrived,
    isPlatformDown: ['unreachable', 'insecure', 'broken', 'timeout'].includes(kind),
  });
}

function entryOf(errors: PlatformErrors, code: string): PlatformError | undefined {
  return Object.hasOwn(errors, code) ? errors[code] : undefined;
}
