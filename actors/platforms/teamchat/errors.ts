// What the statuses of the team chat's connector mean, and whether another attempt may mend it; and those of the endpoint that gives
// tokens. The body says more: `{"error":{"code":"…","message":"…"}}`, or `{"error":"…","error_description":"…"}`.

import type { ApiAnswer } from '../../../libs/rest/http-api.ts';
import { DeliveryError, type DeliveryErrorChanges } from '../../events/outbox/delivery-error.ts';
import { type PlatformErrors, platformFault } from '../../events/outbox/platform-errors.ts';
import { textMember } from '../payloads/payload-member.ts';

export const teamChatErrors: PlatformErrors = {
  400: { meaning: 'the platform does not understand the message', is: 'final' },
  401: { meaning: 'invalid or expired token', is: 'final' },
  403: { meaning: 'tenant not allowed, or the bot may not write there', is: 'final' },
  404: { meaning: 'invalid conversation', is: 'final' },
  412: { meaning: 'something else was written there at the same moment', is: 'passing' },
  413: { meaning: 'too large', is: 'final' },
  429: { meaning: 'rate limited', is: 'tooSoon' },
  500: { meaning: 'fault of the platform', is: 'passing' },
  502: { meaning: 'service URL issue', is: 'passing' },
  503: { meaning: 'the platform is away', is: 'passing' },
  504: { meaning: 'the platform was too slow', is: 'passing' },
};

const tokenErrors: PlatformErrors = {
  400: { meaning: 'the token endpoint refuses app_id, tenant_id or app_password', is: 'final' },
  401: { meaning: 'the token endpoint refuses app_password', is: 'final' },
  404: { meaning: 'there is no such token endpoint', is: 'final' },
  429: { meaning: 'too many requests for tokens', is: 'tooSoon' },
};

/** Why a message was not taken. */
export function deliveryErrorOf({ status, host, json, retryAfterMs }: ApiAnswer): DeliveryError {
  return platformFault(teamChatErrors, {
    status,
    host,
    // Of a fault of the platform's own nobody knows what it had done before.
    code: status < 300 || status >= 500 ? undefined : status,
    text: textOf(textMember(json, 'error.code'), textMember(json, 'error.message', 'message')),
    retryAfterMs,
  });
}

/** The same of an edit: a message that is not there any more can be posted. */
export function editErrorOf(answer: ApiAnswer): DeliveryError {
  const fault = deliveryErrorOf(answer);
  if (answer.status !== 404) return fault;
  return fault.with({ isTargetGone: true });
}

/** There is no token, so that no message of the app can be sent. */
export class NoTokenError extends DeliveryError {
  override with(changes: DeliveryErrorChanges): NoTokenError {
    return new NoTokenError(this.message, { ...this, ...changes, cause: this });
  }
}

/** Why there is no token. */
export function noTokenErrorOf({ status, host, json, retryAfterMs }: ApiAnswer): NoTokenError {
  const fault = platformFault(tokenErrors, {
    status,
    host,
    code: status < 300 || status >= 500 ? undefined : status,
    text: textOf(textMember(json, 'error'), textMember(json, 'error_description')),
    retryAfterMs,
  });
  // The message itself was not sent, whatever became of the request for a token.
  return new NoTokenError(`no token: ${fault.message}`, { ...fault, isOutcomeUnknown: false });
}

function textOf(...texts: readonly (string | undefined)[]): string {
  return texts.filter((text) => text !== undefined && text !== '').join(': ');
}
