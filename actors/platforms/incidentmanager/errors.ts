// Error codes of the REST API, their meaning and kind (final, transient, rate limited); see the vendor's page
// on errors. The events API has no codes; there the status applies.

import type { ApiResponse } from '../../../libs/rest/http-api.ts';
import { usedUpMs } from '../../../libs/rest/rate-limit.ts';
import type { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { type PlatformErrors, responseError } from '../../events/outbox/platform-errors.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';

export const ALREADY_RESOLVED = 1001;
export const ALREADY_ACKNOWLEDGED = 1002;
export const NOT_FOUND = 2100;

export const incidentManagerErrors: PlatformErrors = {
  [ALREADY_RESOLVED]: { meaning: 'the incident is already resolved', kind: 'final' },
  [ALREADY_ACKNOWLEDGED]: { meaning: 'the incident is already acknowledged', kind: 'final' },
  1003: { meaning: 'invalid status', kind: 'final' },
  1004: { meaning: 'invalid id', kind: 'final' },
  1005: { meaning: 'changed since it was read', kind: 'transient' },
  1008: { meaning: "no user has the trigger's email", kind: 'final' },
  1018: { meaning: 'the user lacks permission', kind: 'final' },
  1019: { meaning: 'the incident was merged into another one', kind: 'final' },
  2000: { meaning: 'internal error of the platform', kind: 'transient' },
  2001: { meaning: 'invalid input', kind: 'final' },
  2002: { meaning: 'arguments caused an error', kind: 'final' },
  2003: { meaning: 'arguments are missing', kind: 'final' },
  2006: { meaning: 'the api_key is not accepted', kind: 'final' },
  2007: { meaning: 'account not found', kind: 'final' },
  2008: { meaning: 'account locked', kind: 'final' },
  2009: { meaning: 'https required', kind: 'final' },
  2010: { meaning: 'access denied', kind: 'final' },
  2011: { meaning: 'the email of a user is required', kind: 'final' },
  2012: { meaning: 'the account has expired', kind: 'final' },
  2013: { meaning: 'user not found', kind: 'final' },
  2014: { meaning: 'the account lacks the ability', kind: 'final' },
  2015: { meaning: 'invalid operation', kind: 'final' },
  2016: { meaning: 'timeout of the platform', kind: 'transient' },
  2018: { meaning: 'access denied: the incident may be resolved', kind: 'final' },
  2019: { meaning: 'product limit reached', kind: 'final' },
  2020: { meaning: 'too many requests', kind: 'rateLimited' },
  [NOT_FOUND]: { meaning: 'not found', kind: 'final' },
  5001: { meaning: 'not found', kind: 'final' },
  6007: { meaning: 'the request could not be completed', kind: 'transient' },
};

/** Converts an error response to a DeliveryError. */
export function deliveryErrorOf(response: ApiResponse): DeliveryError {
  const { status, host, json, headers } = response;
  const code = memberOf(json, 'error.code');
  const fault = responseError(incidentManagerErrors, {
    status,
    host,
    code: typeof code === 'number' ? code : undefined,
    text: textOf(json, isKnown(code) ? `HTTP ${status}` : ''),
    retryAfterMs: response.retryAfterMs ?? (status === 429 ? usedUpMs(headers) : undefined),
  });
  // The change may be complete despite a server error.
  return status >= 500 || status === 408 ? fault.with({ isOutcomeUnknown: true }) : fault;
}

/**
 * Joins the message and the details. In error responses of the events API the `error` object around them is
 * missing.
 */
function textOf(json: unknown, status: string): string {
  const details = memberOf(json, 'error.errors') ?? memberOf(json, 'errors');
  const texts = [
    status,
    textMember(json, 'error.message', 'message'),
    ...(Array.isArray(details) ? details : [details]),
  ];
  return texts.filter((text) => typeof text === 'string' && text !== '').join(': ');
}

/** Returns true for a listed code. For other codes responseError adds the status itself. */
const isKnown = (code: unknown): boolean =>
  typeof code === 'number' && Object.hasOwn(incidentManagerErrors, code);
