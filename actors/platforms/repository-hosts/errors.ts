// Converts error responses of the host's API into a DeliveryError. The message contains the host and the
// status, but no text or header of the response, which may repeat the token.

import type { ApiResponse } from '../../../libs/rest/http-api.ts';
import { limitOf } from '../../../libs/rest/rate-limit.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';

/** Statuses of proxies that stopped waiting; the host may still complete the write. */
const TIMED_OUT: readonly number[] = [500, 502, 504];

/** `what` names the request to `host` in the message. `isWriting` is true for a write. */
export function deliveryErrorOf(
  response: ApiResponse,
  { host, what, isWriting }: { readonly host: string; readonly what: string; readonly isWriting: boolean },
): DeliveryError {
  const { status } = response;
  const isOutcomeUnknown = isWriting && TIMED_OUT.includes(status);
  const message = `${what}: ${host} answered ${status}`;
  const isPlatformDown = status >= 500;
  // If the response names a retry delay, the host did not execute the request, regardless of the status.
  const retryAfterMs = limitOf(response)?.waitMs ?? response.retryAfterMs;
  if (retryAfterMs !== undefined)
    return new DeliveryError(message, {
      platformCode: status,
      isRateLimited: true,
      retryAfterMs,
      isOutcomeUnknown,
      isPlatformDown,
    });
  // 401 and 403 are permanent. A token that has no access gets 404.
  const isFinal = !isPlatformDown && status !== 408;
  return new DeliveryError(message, { platformCode: status, isFinal, isOutcomeUnknown, isPlatformDown });
}
