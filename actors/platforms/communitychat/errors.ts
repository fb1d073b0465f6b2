// Error codes of the platform, their meaning and kind (final, transient, rate limited). The response to an
// invalid form contains an error tree; notes contain the first error.

import type { ApiResponse } from '../../../libs/rest/http-api.ts';
import type { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { type PlatformErrors, responseError } from '../../events/outbox/platform-errors.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import { retryDelayOf } from './rate-buckets.ts';

/** Code for edits of missing messages. */
export const UNKNOWN_MESSAGE = 10008;
/** Code for replies before the acknowledgement, or later than 15 minutes after the interaction. */
export const UNKNOWN_WEBHOOK = 10015;

/** Code of the daily limit of new commands. */
const DAILY_LIMIT = 30034;
const DAILY_LIMIT_MS = 3_600_000;

/** HTTP status of an unknown token; its error code is 0. */
const UNAUTHORIZED = 401;

export const communityChatErrors: PlatformErrors = {
  [UNAUTHORIZED]: { meaning: 'the bot token is not accepted', kind: 'final' },
  10003: { meaning: 'unknown channel', kind: 'final' },
  10004: { meaning: 'unknown server', kind: 'final' },
  [UNKNOWN_MESSAGE]: { meaning: 'unknown message', kind: 'final' },
  [UNKNOWN_WEBHOOK]: { meaning: 'unknown interaction, or it is older than 15 minutes', kind: 'final' },
  10062: { meaning: 'unknown interaction (timeout expired)', kind: 'final' },
  20028: { meaning: 'too many requests for the channel', kind: 'rateLimited' },
  [DAILY_LIMIT]: { meaning: 'daily limit of new commands reached', kind: 'rateLimited' },
  40001: { meaning: 'unauthorized: the bot token is not accepted', kind: 'final' },
  40005: { meaning: 'too large', kind: 'final' },
  40060: { meaning: 'interaction already acknowledged', kind: 'final' },
  40062: { meaning: 'too many requests', kind: 'rateLimited' },
  40333: { meaning: 'the request was refused by a proxy of the platform', kind: 'final' },
  50001: { meaning: 'missing access: the bot is not a member', kind: 'final' },
  50006: { meaning: 'the message is empty', kind: 'final' },
  50013: { meaning: 'missing permissions', kind: 'final' },
  50027: { meaning: 'the interaction is older than 15 minutes', kind: 'final' },
  50035: { meaning: 'invalid form body', kind: 'final' },
  130000: { meaning: 'the platform is overloaded', kind: 'transient' },
};

/** Maximum depth of the error tree. */
const MAX_DEPTH = 20;

/** Converts a refusal to a DeliveryError. `secret` is removed from the text. */
export function deliveryErrorOf(response: ApiResponse, secret?: string): DeliveryError {
  const { status, host, json } = response;
  const code = memberOf(json, 'code');
  const text = [textMember(json, 'message'), firstError(memberOf(json, 'errors'))]
    .filter((each) => each !== undefined && each !== '')
    .join(': ');
  return responseError(communityChatErrors, {
    status,
    host,
    // Code 0 has no meaning, so the status applies.
    code: typeof code === 'number' && code !== 0 ? code : status === UNAUTHORIZED ? status : undefined,
    text: secret === undefined ? text : text.replaceAll(secret, '…'),
    retryAfterMs: retryDelayOf(response) ?? (code === DAILY_LIMIT ? DAILY_LIMIT_MS : undefined),
  });
}

/**
 * Returns the first error of the tree: `embeds.0.title: Must be 256 or fewer in length.
 * (BASE_TYPE_MAX_LENGTH)`.
 */
function firstError(errors: unknown, path = '', depth = 0): string | undefined {
  if (typeof errors !== 'object' || errors === null || depth > MAX_DEPTH) return undefined;
  const own = memberOf(errors, '_errors.0');
  if (own !== undefined) {
    const code = textMember(own, 'code');
    const text = [textMember(own, 'message'), code && `(${code})`].filter(Boolean).join(' ');
    return path === '' ? text : `${path}: ${text}`;
  }
  for (const [name, inner] of Object.entries(errors)) {
    const fault = firstError(inner, path === '' ? name : `${path}.${name}`, depth + 1);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
