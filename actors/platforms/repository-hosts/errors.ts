// What went wrong with a request to the host's API, as a DeliveryError: whether it is worth trying again, and when.
// Nothing of the answer's text and no header goes into the message, only the host and the status: what a server writes may
// repeat what it was sent, the token included.

import type { ApiAnswer } from '../../../libs/rest/http-api.ts';
import { limitOf } from '../../../libs/rest/rate-limit.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';

/** What is in between answers so when it has waited too long, or has lost its way: the host may go on, and write. */
const GIVEN_UP: readonly number[] = [500, 502, 504];

/** `answer` is how `host` refused `what`, which was to write something if `isWriting`. */
export function deliveryErrorOf(
  answer: ApiAnswer,
  { host, what, isWriting }: { readonly host: string; readonly what: string; readonly isWriting: boolean },
): DeliveryError {
  const { status } = answer;
  const isOutcomeUnknown = isWriting && GIVEN_UP.includes(status);
  const message = `${host} answered ${status} to ${what}`;
  const isPlatformDown = status >= 500;
  // Whoever asks for a pause has done nothing, whatever the status says.
  const retryAfterMs = limitOf(answer)?.waitMs ?? answer.retryAfterMs;
  if (retryAfterMs !== undefined)
    return new DeliveryError(message, {
      platformCode: status,
      isTooSoon: true,
      retryAfterMs,
      isOutcomeUnknown,
      isPlatformDown,
    });
  // 401 and 403 do not mend by themselves; 404 is also what a token without the right sees.
  const isFinal = !isPlatformDown && status !== 408;
  return new DeliveryError(message, { platformCode: status, isFinal, isOutcomeUnknown, isPlatformDown });
}
