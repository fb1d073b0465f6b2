// What went wrong with a request to the host's API, as a DeliveryError: whether it is worth trying again, and when.
// Nothing of the answer's text and no header goes into the message, only the host and the status: what a server writes may
// repeat what it was sent, the token included.

import { retryAfterMs } from '../../handlers/retry-after.ts';
import { DeliveryError } from '../../outbound/delivery-error.ts';
import { memberOf } from '../payload-member.ts';

/** The host asks for this pause where a refusal for too many requests names none. */
const SECONDARY_LIMIT_MS = 60_000;

/** `what` was asked of `host`; `error` is what the request was rejected with. */
export function apiFault(error: unknown, host: string, what: string): DeliveryError {
  if (error instanceof DeliveryError) return error;
  const headers = memberOf(error, 'response.headers');
  if (headers === undefined)
    return new DeliveryError(`${host} could not be reached for ${what}: ${reasonOf(error)}`);
  const status = Number(memberOf(error, 'status'));
  const message = `${host} answered ${status} to ${what}`;
  const tooSoonForMs = refusedForMs(error);
  if (tooSoonForMs !== undefined)
    return new DeliveryError(message, { isTooSoon: true, retryAfterMs: tooSoonForMs });
  const retryAfterMs = status === 503 ? askedPause(headers) : undefined;
  // 401 and 403 do not mend by themselves; 404 is also what a token without the right sees.
  return new DeliveryError(message, { isFinal: status < 500 && status !== 408, retryAfterMs });
}

/** For how long the host takes nothing more from this token, where that is what its answer says. */
export function refusedForMs(error: unknown): number | undefined {
  const status = Number(memberOf(error, 'status'));
  const headers = memberOf(error, 'response.headers');
  if (headers === undefined || (status !== 403 && status !== 429)) return undefined;
  const asked = askedPause(headers);
  if (asked !== undefined) return asked;
  if (headerOf(headers, 'x-ratelimit-remaining') === '0') {
    const reset = Number(headerOf(headers, 'x-ratelimit-reset'));
    if (Number.isFinite(reset) && reset > 0) return Math.max(1_000, reset * 1000 - timeAt(headers) + 1_000);
  }
  const isTooMany = status === 429 || /\bsecondary rate\b/i.test(String(memberOf(error, 'message')));
  return isTooMany ? SECONDARY_LIMIT_MS : undefined;
}

function askedPause(headers: unknown): number | undefined {
  return retryAfterMs(headerOf(headers, 'retry-after'), timeAt(headers));
}

/** When the host answered, by its own clock where it says so: what it means by a time does not depend on ours. Epoch ms. */
function timeAt(headers: unknown): number {
  const time = Date.parse(headerOf(headers, 'date') ?? '');
  return Number.isFinite(time) ? time : Date.now();
}

function headerOf(headers: unknown, name: string): string | undefined {
  const value = memberOf(headers, name);
  return value === undefined ? undefined : String(value);
}

/** A word of the system's, `ECONNREFUSED`, or the kind of error; never its text. */
function reasonOf(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = (cause as { readonly code?: unknown }).code;
    if (typeof code === 'string') return code;
    if (cause.name === 'TimeoutError') return 'no answer in time';
    if (cause.name === 'AbortError') return 'given up';
  }
  return 'the connection failed';
}
