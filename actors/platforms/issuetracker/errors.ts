// HTTP statuses of the tracker, their meaning and kind (final, transient, rate limited). The tracker sends no
// error codes. A header names the rate limit (the vendor's page on rate limiting).

import type { ApiResponse } from '../../../libs/rest/http-api.ts';
import type { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { type PlatformErrors, responseError } from '../../events/outbox/platform-errors.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';

/** Rate limit of writes to one issue. It does not affect other issues of the account. */
export const ISSUE_LIMIT = 'jira-per-issue-on-write';

export const issueTrackerErrors: PlatformErrors = {
  401: { meaning: 'the email address or API token is not accepted', kind: 'final' },
  403: { meaning: "the token's account lacks permission", kind: 'final' },
  404: { meaning: "no such issue or comment, or the token's account cannot see it", kind: 'final' },
  410: { meaning: 'the tracker no longer has this API', kind: 'final' },
  413: { meaning: 'too long for the tracker', kind: 'final' },
  [ISSUE_LIMIT]: { meaning: 'rate limit of the issue', kind: 'rateLimited' },
};

/** Converts an error response to a DeliveryError. */
export function deliveryErrorOf({ status, host, json, headers, retryAfterMs }: ApiResponse): DeliveryError {
  const reason = headers.get('ratelimit-reason')?.trim();
  const isIssueLimit = status === 429 && reason === ISSUE_LIMIT;
  const isKnown = Object.hasOwn(issueTrackerErrors, status);
  return responseError(issueTrackerErrors, {
    status,
    host,
    code: isIssueLimit ? ISSUE_LIMIT : isKnown ? status : undefined,
    text: messagesIn(json),
    retryAfterMs,
  });
}

/** Returns the messages in a response, including messages about single fields; otherwise ''. */
export function messagesIn(response: unknown): string {
  const messages = memberOf(response, 'errorMessages');
  const errors = memberOf(response, 'errors');
  const fields = typeof errors === 'object' && errors !== null ? Object.entries(errors) : [];
  const texts = [
    ...(Array.isArray(messages) ? messages.map(String) : []),
    ...fields.map(([field, text]) => `${field}: ${text}`),
  ];
  return texts.length === 0 ? (textMember(response, 'message') ?? '') : texts.join('; ');
}
