// What the codes of the incident manager's REST API mean, and whether another attempt may mend it (the vendor's page on errors).
// Its events API has no codes: there the status decides.

import type { ApiAnswer } from '../../../libs/rest/http-api.ts';
import { usedUpMs } from '../../../libs/rest/rate-limit.ts';
import type { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { type PlatformErrors, platformFault } from '../../events/outbox/platform-errors.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';

export const ALREADY_RESOLVED = 1001;
export const ALREADY_ACKNOWLEDGED = 1002;

export const incidentManagerErrors: PlatformErrors = {
  [ALREADY_RESOLVED]: { meaning: 'the incident is resolved already', is: 'final' },
  [ALREADY_ACKNOWLEDGED]: { meaning: 'the incident is acknowledged already', is: 'final' },
  1003: { meaning: 'invalid status', is: 'final' },
  1004: { meaning: 'invalid id', is: 'final' },
  1005: { meaning: 'changed since it was read', is: 'passing' },
  1008: { meaning: 'there is no user with the email of the trigger', is: 'final' },
  1018: { meaning: 'the user may not do that', is: 'final' },
  1019: { meaning: 'the incident was merged into another one', is: 'final' },
  2000: { meaning: 'fault of the platform', is: 'passing' },
  2001: { meaning: 'invalid input', is: 'final' },
  2002: { meaning: 'arguments caused an error', is: 'final' },
  2003: { meaning: 'arguments are missing', is: 'final' },
  2006: { meaning: 'the api_key is not accepted', is: 'final' },
  2007: { meaning: 'account not found', is: 'final' },
  2008: { meaning: 'account locked', is: 'final' },
  2009: { meaning: 'only by https', is: 'final' },
  2010: { meaning: 'access denied', is: 'final' },
  2011: { meaning: 'the email of a user is needed', is: 'final' },
  2012: { meaning: 'the account is expired', is: 'final' },
  2013: { meaning: 'user not found', is: 'final' },
  2014: { meaning: 'the account lacks the ability', is: 'final' },
  2015: { meaning: 'invalid operation', is: 'final' },
  2016: { meaning: 'it took the platform too long', is: 'passing' },
  2018: { meaning: 'access denied: the incident may be resolved', is: 'final' },
  2019: { meaning: 'limit of the product reached', is: 'final' },
  2020: { meaning: 'too many requests', is: 'tooSoon' },
  2100: { meaning: 'not found', is: 'final' },
  5001: { meaning: 'not found', is: 'final' },
  6007: { meaning: 'the request could not be completed', is: 'passing' },
};

/** Why a request was refused. */
export function deliveryErrorOf(answer: ApiAnswer): DeliveryError {
  const { status, host, json, headers } = answer;
  const code = memberOf(json, 'error.code');
  const fault = platformFault(incidentManagerErrors, {
    status,
    host,
    code: typeof code === 'number' ? code : undefined,
    text: textOf(json, isKnown(code) ? `HTTP ${status}` : ''),
    retryAfterMs: answer.retryAfterMs ?? (status === 429 ? usedUpMs(headers) : undefined),
  });
  // Its own faults, too, may come after the work was done.
  return status >= 500 || status === 408 ? fault.with({ isOutcomeUnknown: true }) : fault;
}

/** A message, and what exactly is wrong. Events have both without an `error` around them. */
function textOf(json: unknown, status: string): string {
  const details = memberOf(json, 'error.errors') ?? memberOf(json, 'errors');
  const texts = [
    status,
    textMember(json, 'error.message', 'message'),
    ...(Array.isArray(details) ? details : [details]),
  ];
  return texts.filter((text) => typeof text === 'string' && text !== '').join(': ');
}

/** Of the others the status is told as it is. */
const isKnown = (code: unknown): boolean =>
  typeof code === 'number' && Object.hasOwn(incidentManagerErrors, code);
