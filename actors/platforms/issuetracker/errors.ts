// What the tracker means by a refusal, and whether another attempt may mend it. It has no codes of its own: its statuses decide, but for
// what it says of its limits in a header (the vendor's page on rate limiting).

import type { ApiAnswer } from '../../../libs/rest/http-api.ts';
import type { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { type PlatformErrors, platformFault } from '../../events/outbox/platform-errors.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';

/** Too much was written to one issue: about that issue, not about the account. */
export const ISSUE_LIMIT = 'jira-per-issue-on-write';

export const issueTrackerErrors: PlatformErrors = {
  401: { meaning: 'the e-mail address and the token of the API are not accepted', is: 'final' },
  403: { meaning: 'the account of the token may not do that', is: 'final' },
  404: { meaning: 'no such issue or comment, or the account of the token may not see it', is: 'final' },
  410: { meaning: 'no such address at the tracker any more', is: 'final' },
  413: { meaning: 'longer than the tracker takes', is: 'final' },
  [ISSUE_LIMIT]: { meaning: 'rate limit of the issue', is: 'tooSoon' },
};

/** Why the tracker did not do it. */
export function deliveryErrorOf({ status, host, json, headers, retryAfterMs }: ApiAnswer): DeliveryError {
  const reason = headers.get('ratelimit-reason')?.trim();
  const isIssueLimit = status === 429 && reason === ISSUE_LIMIT;
  const isKnown = Object.hasOwn(issueTrackerErrors, status);
  return platformFault(issueTrackerErrors, {
    status,
    host,
    code: isIssueLimit ? ISSUE_LIMIT : isKnown ? status : undefined,
    text: wordsIn(json),
    retryAfterMs,
  });
}

/** Its words, and those about single fields; empty for an answer of anybody else. */
export function wordsIn(answer: unknown): string {
  const messages = memberOf(answer, 'errorMessages');
  const errors = memberOf(answer, 'errors');
  const fields = typeof errors === 'object' && errors !== null ? Object.entries(errors) : [];
  const words = [
    ...(Array.isArray(messages) ? messages.map(String) : []),
    ...fields.map(([field, text]) => `${field}: ${text}`),
  ];
  return words.length === 0 ? (textMember(answer, 'message') ?? '') : words.join('; ');
}
