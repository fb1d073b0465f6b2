// What the codes of the business messenger's cloud API mean, and whether another attempt may mend it. The codes decide: the
// same one comes under several statuses (the vendor's pages on error codes and on throughput).

import type { ApiAnswer } from '../../../libs/rest/http-api.ts';
import type { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { type PlatformErrors, platformFault } from '../../events/outbox/platform-errors.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';

/** Two messages to one person came too close to each other: about that person, not about the number. */
export const PAIR_LIMIT = 131056;

export const businessMessengerErrors: PlatformErrors = {
  0: { meaning: 'the access token is not accepted', is: 'final' },
  1: { meaning: 'fault of the platform', is: 'passing' },
  2: { meaning: 'the platform is away', is: 'passing' },
  3: { meaning: 'the token may not use this', is: 'final' },
  4: { meaning: 'too many requests of the app', is: 'tooSoon' },
  10: { meaning: 'the token lacks the permission', is: 'final' },
  100: { meaning: 'invalid parameter', is: 'final' },
  190: { meaning: 'the access token is invalid or has expired', is: 'final' },
  200: { meaning: 'the token lacks the permission', is: 'final' },
  368: { meaning: 'temporarily blocked for violating policies', is: 'final' },
  80007: { meaning: 'rate limit of the business account', is: 'tooSoon' },
  130429: { meaning: 'rate limit of the number', is: 'tooSoon' },
  130472: { meaning: 'the user is part of an experiment of the platform', is: 'final' },
  130497: { meaning: 'not possible to this country', is: 'final' },
  131000: { meaning: 'something went wrong on the platform', is: 'passing' },
  131005: { meaning: 'access denied', is: 'final' },
  131008: { meaning: 'required parameter missing', is: 'final' },
  131009: { meaning: 'value of a parameter not valid', is: 'final' },
  131016: { meaning: 'service unavailable', is: 'passing' },
  131021: { meaning: 'recipient is the sender', is: 'final' },
  131026: { meaning: 'message undeliverable', is: 'final' },
  131030: { meaning: 'recipient not on the platform', is: 'final' },
  131031: { meaning: 'business account locked', is: 'final' },
  131042: { meaning: 'payment issue of the business account', is: 'final' },
  131045: { meaning: 'number is not registered', is: 'final' },
  131047: { meaning: 're-engagement message required', is: 'final' },
  131048: { meaning: 'too many messages of the number were reported as spam', is: 'tooSoon' },
  131049: { meaning: 'kept back by the platform for the good of its users', is: 'final' },
  131051: { meaning: 'message type not supported', is: 'final' },
  [PAIR_LIMIT]: { meaning: 'rate limit of the number to this recipient', is: 'tooSoon' },
  131057: { meaning: 'business account in maintenance', is: 'passing' },
  133004: { meaning: 'server temporarily unavailable', is: 'passing' },
  133010: { meaning: 'number is not registered', is: 'final' },
};

/** Why a message was not taken. */
export function deliveryErrorOf({ status, host, json, retryAfterMs }: ApiAnswer): DeliveryError {
  const code = memberOf(json, 'error.code');
  return platformFault(businessMessengerErrors, {
    status,
    host,
    code: typeof code === 'number' ? code : undefined,
    text: textOf(json),
    retryAfterMs,
  });
}

/** Its message is short, and the details say why. */
function textOf(json: unknown): string {
  const texts = [textMember(json, 'error.message'), textMember(json, 'error.error_data.details')];
  return texts.filter((text) => text !== undefined && text !== '').join(': ');
}
