// What the platform says no with, and what it means: `{"ok":false,"error_code":429,"description":"…","parameters":{…}}`. Its
// codes are those of HTTP; the description alone says more, and stands in notes and logs.

import type { ApiAnswer } from '../../../libs/rest/http-api.ts';
import type { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { type PlatformErrors, platformFault, sendingFault } from '../../events/outbox/platform-errors.ts';
import { ConnectionError } from '../connections/connector.ts';
import { memberOf, numberMember, textMember } from '../payloads/payload-member.ts';

export const botMessengerErrors: PlatformErrors = {
  400: { meaning: 'this can never be carried out', is: 'final' },
  401: { meaning: 'the token is not accepted', is: 'final' },
  403: { meaning: 'the bot may not write there', is: 'final' },
  404: { meaning: 'the token belongs to no bot', is: 'final' },
  409: { meaning: 'another asks for the updates of this bot, or a webhook is set', is: 'passing' },
  413: { meaning: 'too large', is: 'final' },
  429: { meaning: 'too many requests', is: 'tooSoon' },
};

/** The platform, or a proxy before it, has not done what was asked. */
export class BotRefusal extends Error {
  /** The platform's, or the status of HTTP where something else has answered. */
  readonly status: number;
  /** In the platform's words; undefined where something else has answered. */
  readonly host: string;
  readonly description: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** What the group that was meant has become. */
  readonly migratedTo: string | undefined;

  constructor(host: string, method: string, { status, json, retryAfterMs }: ApiAnswer) {
    const description = textMember(json, 'description');
    const code = numberMember(json, 'error_code') ?? status;
    const fault = platformFault(botMessengerErrors, {
      status: code,
      code: description && code,
      text: description,
    });
    super(`${host} refused ${method}: ${fault.message}`);
    this.host = host;
    this.status = code;
    this.description = description;
    const seconds = numberMember(json, 'parameters.retry_after');
    this.retryAfterMs = seconds === undefined ? retryAfterMs : seconds * 1000;
    const migratedTo = memberOf(json, 'parameters.migrate_to_chat_id');
    this.migratedTo = Number.isSafeInteger(migratedTo) ? String(migratedTo) : undefined;
  }

  override get name(): string {
    return 'BotRefusal';
  }
}

/** Why a message was not sent; `what` it was. */
export function deliveryErrorOf(error: unknown, what: string): DeliveryError {
  if (!(error instanceof BotRefusal)) return sendingFault(error, what);
  const { status, host, description, retryAfterMs } = error;
  const code = description === undefined ? undefined : status;
  return platformFault(botMessengerErrors, { status, host, code, text: description, retryAfterMs });
}

/** Why there is no connection, or not what was asked of it. */
export function connectionErrorOf(error: unknown): unknown {
  if (!(error instanceof BotRefusal)) return error;
  const { message, status, retryAfterMs } = error;
  // Nobody refuses with a status below 400: a page of somebody else stands there.
  const isPassing = status >= 500 || status === 429 || status === 408 || status < 400;
  const kind = status === 409 ? 'conflict' : isPassing ? 'transient' : 'refused';
  return new ConnectionError(message, { kind, retryAfterMs });
}
