// What the codes of the community chat's API mean, and whether another attempt may mend it. A refusal of a form says in a tree of
// errors which member is wrong; the first of them stands in the note.

import type { ApiAnswer } from '../../../libs/rest/http-api.ts';
import type { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { type PlatformErrors, platformFault } from '../../events/outbox/platform-errors.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import { pauseAskedBy } from './rate-buckets.ts';

/** The message that was to be changed. */
export const UNKNOWN_MESSAGE = 10008;
/** There is no answer yet that could be changed, or the 15 minutes are over. */
export const UNKNOWN_WEBHOOK = 10015;

/** New commands of a day. */
const USED_UP = 30034;
const USED_UP_MS = 3_600_000;

/** Of HTTP: a token that is nobody's is refused with the code 0. */
const UNAUTHORIZED = 401;

export const communityChatErrors: PlatformErrors = {
  [UNAUTHORIZED]: { meaning: 'the bot token is not accepted', is: 'final' },
  10003: { meaning: 'unknown channel', is: 'final' },
  10004: { meaning: 'unknown server', is: 'final' },
  [UNKNOWN_MESSAGE]: { meaning: 'unknown message', is: 'final' },
  [UNKNOWN_WEBHOOK]: { meaning: 'unknown interaction, or its time is over', is: 'final' },
  10062: { meaning: 'unknown interaction (timeout expired)', is: 'final' },
  20028: { meaning: 'too many requests for the channel', is: 'tooSoon' },
  [USED_UP]: { meaning: 'as many commands were registered today as may be', is: 'tooSoon' },
  40001: { meaning: 'unauthorized: the bot token is not accepted', is: 'final' },
  40005: { meaning: 'too large', is: 'final' },
  40060: { meaning: 'interaction already acknowledged', is: 'final' },
  40062: { meaning: 'too many requests', is: 'tooSoon' },
  40333: { meaning: 'the request was refused on its way', is: 'final' },
  50001: { meaning: 'missing access: the bot is not there', is: 'final' },
  50006: { meaning: 'an empty message', is: 'final' },
  50013: { meaning: 'missing permissions', is: 'final' },
  50027: { meaning: 'the 15 minutes of the interaction are over', is: 'final' },
  50035: { meaning: 'invalid form body', is: 'final' },
  130000: { meaning: 'the platform is overloaded', is: 'passing' },
};

/** How deep a form is looked into. */
const MAX_DEPTH = 20;

/** `secret` stands in the address; should the platform repeat it nobody sees it. */
export function deliveryErrorOf(answer: ApiAnswer, secret?: string): DeliveryError {
  const { status, host, json } = answer;
  const code = memberOf(json, 'code');
  const text = [textMember(json, 'message'), innerFault(memberOf(json, 'errors'))]
    .filter((each) => each !== undefined && each !== '')
    .join(': ');
  return platformFault(communityChatErrors, {
    status,
    host,
    // 0 is no code of its own: the status says what it is.
    code: typeof code === 'number' && code !== 0 ? code : status === UNAUTHORIZED ? status : undefined,
    text: secret === undefined ? text : text.replaceAll(secret, '…'),
    retryAfterMs: pauseAskedBy(answer) ?? (code === USED_UP ? USED_UP_MS : undefined),
  });
}

/** `embeds.0.title: Must be 256 or fewer in length. (BASE_TYPE_MAX_LENGTH)`, the first of the tree. */
function innerFault(errors: unknown, path = '', depth = 0): string | undefined {
  if (typeof errors !== 'object' || errors === null || depth > MAX_DEPTH) return undefined;
  const own = memberOf(errors, '_errors.0');
  if (own !== undefined) {
    const code = textMember(own, 'code');
    const words = [textMember(own, 'message'), code && `(${code})`].filter(Boolean).join(' ');
    return path === '' ? words : `${path}: ${words}`;
  }
  for (const [name, inner] of Object.entries(errors)) {
    const found = innerFault(inner, path === '' ? name : `${path}.${name}`, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}
