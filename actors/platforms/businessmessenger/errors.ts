// Error codes of the platform's cloud API, their meaning and kind (final, transient, rate limited). The code
// decides, not the HTTP status, because one code occurs with several statuses (the vendor's pages on error
// codes and throughput).

import type { ApiResponse } from '../../../libs/rest/http-api.ts';
import type { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { type PlatformErrors, responseError } from '../../events/outbox/platform-errors.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';

/** Code for too many messages to one person. The limit applies to that person, not to the number. */
export const PAIR_LIMIT = 131056;

export const businessMessengerErrors: PlatformErrors = {
  0: { meaning: 'the access token is not accepted', kind: 'final' },
  1: { meaning: 'internal error of the platform', kind: 'transient' },
  2: { meaning: 'the platform is unavailable', kind: 'transient' },
  3: { meaning: 'the token has no access to this', kind: 'final' },
  4: { meaning: 'too many requests by the app', kind: 'rateLimited' },
  10: { meaning: 'the token lacks the permission', kind: 'final' },
  100: { meaning: 'invalid parameter', kind: 'final' },
  190: { meaning: 'the access token is invalid or has expired', kind: 'final' },
  200: { meaning: 'the token lacks the permission', kind: 'final' },
  368: { meaning: 'temporarily blocked for violating policies', kind: 'final' },
  80007: { meaning: 'rate limit of the business account', kind: 'rateLimited' },
  130429: { meaning: 'rate limit of the number', kind: 'rateLimited' },
  130472: { meaning: 'the user is part of an experiment of the platform', kind: 'final' },
  130497: { meaning: 'not available in this country', kind: 'final' },
  131000: { meaning: 'internal error of the platform', kind: 'transient' },
  131005: { meaning: 'access denied', kind: 'final' },
  131008: { meaning: 'required parameter missing', kind: 'final' },
  131009: { meaning: 'invalid parameter value', kind: 'final' },
  131016: { meaning: 'service unavailable', kind: 'transient' },
  131021: { meaning: 'recipient is the sender', kind: 'final' },
  131026: { meaning: 'message undeliverable', kind: 'final' },
  131030: { meaning: 'recipient not on the platform', kind: 'final' },
  131031: { meaning: 'business account locked', kind: 'final' },
  131042: { meaning: 'payment issue of the business account', kind: 'final' },
  131045: { meaning: 'the number is not registered', kind: 'final' },
  131047: { meaning: 're-engagement message required', kind: 'final' },
  131048: { meaning: 'too many messages of the number were reported as spam', kind: 'rateLimited' },
  131049: { meaning: 'withheld by the platform to protect its users', kind: 'final' },
  131051: { meaning: 'message type not supported', kind: 'final' },
  [PAIR_LIMIT]: { meaning: 'rate limit of the number to this recipient', kind: 'rateLimited' },
  131057: { meaning: 'the business account is in maintenance', kind: 'transient' },
  133004: { meaning: 'the server is temporarily unavailable', kind: 'transient' },
  133010: { meaning: 'the number is not registered', kind: 'final' },
};

/** Converts a refusal to a DeliveryError. */
export function deliveryErrorOf({ status, host, json, retryAfterMs }: ApiResponse): DeliveryError {
  const code = memberOf(json, 'error.code');
  return responseError(businessMessengerErrors, {
    status,
    host,
    code: typeof code === 'number' ? code : undefined,
    text: textOf(json),
    retryAfterMs,
  });
}

/** Returns the message, which is short, with the details. */
function textOf(json: unknown): string {
  const texts = [textMember(json, 'error.message'), textMember(json, 'error.error_data.details')];
  return texts.filter((text) => text !== undefined && text !== '').join(': ');
}
