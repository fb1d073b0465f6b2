// HTTP statuses of the connector API and of the token endpoint, their meaning and kind (final, transient,
// rate limited). The body has details: `{"error":{"code":"…","message":"…"}}`, or
// `{"error":"…","error_description":"…"}`.

import type { ApiResponse } from '../../../libs/rest/http-api.ts';
import { DeliveryError, type DeliveryErrorChanges } from '../../events/outbox/delivery-error.ts';
import { type PlatformErrors, responseError } from '../../events/outbox/platform-errors.ts';
import { textMember } from '../payloads/payload-member.ts';

export const teamChatErrors: PlatformErrors = {
  400: { meaning: 'invalid message', kind: 'final' },
  401: { meaning: 'invalid or expired token', kind: 'final' },
  403: { meaning: 'the tenant or the bot is not allowed to write there', kind: 'final' },
  404: { meaning: 'invalid conversation', kind: 'final' },
  412: { meaning: 'conflict with another message', kind: 'transient' },
  413: { meaning: 'too large', kind: 'final' },
  429: { meaning: 'rate limited', kind: 'rateLimited' },
  500: { meaning: 'internal error of the platform', kind: 'transient' },
  502: { meaning: 'service URL issue', kind: 'transient' },
  503: { meaning: 'the platform is unavailable', kind: 'transient' },
  504: { meaning: 'timeout of the platform', kind: 'transient' },
};

const tokenErrors: PlatformErrors = {
  400: { meaning: 'the token endpoint refuses app_id, tenant_id or app_password', kind: 'final' },
  401: { meaning: 'the token endpoint refuses app_password', kind: 'final' },
  404: { meaning: 'the token endpoint does not exist', kind: 'final' },
  429: { meaning: 'too many token requests', kind: 'rateLimited' },
};

/** Converts a refusal to a DeliveryError. */
export function deliveryErrorOf({ status, host, json, retryAfterMs }: ApiResponse): DeliveryError {
  return responseError(teamChatErrors, {
    status,
    host,
    // After an internal error of the platform, the outcome is unknown.
    code: status < 300 || status >= 500 ? undefined : status,
    text: textOf(textMember(json, 'error.code'), textMember(json, 'error.message', 'message')),
    retryAfterMs,
  });
}

/** Converts a refused edit. If the message is missing, a new one can be posted. */
export function editErrorOf(response: ApiResponse): DeliveryError {
  const fault = deliveryErrorOf(response);
  if (response.status !== 404) return fault;
  return fault.with({ isTargetMissing: true });
}

/** There is no token, so no message of the app can be sent. */
export class NoTokenError extends DeliveryError {
  override with(changes: DeliveryErrorChanges): NoTokenError {
    return new NoTokenError(this.message, { ...this, ...changes, cause: this });
  }
}

/** Converts a refusal of the token endpoint. */
export function noTokenErrorOf({ status, host, json, retryAfterMs }: ApiResponse): NoTokenError {
  const fault = responseError(tokenErrors, {
    status,
    host,
    code: status < 300 || status >= 500 ? undefined : status,
    text: textOf(textMember(json, 'error'), textMember(json, 'error_description')),
    retryAfterMs,
  });
  // Even if the outcome of the token request is unknown, the message was not sent.
  return new NoTokenError(`no token: ${fault.message}`, { ...fault, isOutcomeUnknown: false });
}

function textOf(...texts: readonly (string | undefined)[]): string {
  return texts.filter((text) => text !== undefined && text !== '').join(': ');
}
