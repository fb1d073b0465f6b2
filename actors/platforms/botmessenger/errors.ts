// Error codes of the platform, their meaning and kind (final, transient, rate limited). A refusal is
// `{"ok":false,"error_code":429,"description":"…","parameters":{…}}`. The codes are HTTP statuses; notes and
// logs also contain the description.

import type { ApiResponse } from '../../../libs/rest/http-api.ts';
import type { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { type PlatformErrors, requestError, responseError } from '../../events/outbox/platform-errors.ts';
import { ConnectionError } from '../connections/connector.ts';
import { memberOf, numberMember, textMember } from '../payloads/payload-member.ts';

export const botMessengerErrors: PlatformErrors = {
  400: { meaning: 'invalid request', kind: 'final' },
  401: { meaning: 'the token is not accepted', kind: 'final' },
  403: { meaning: 'the bot is not allowed to write there', kind: 'final' },
  404: { meaning: 'no bot has this token', kind: 'final' },
  409: { meaning: 'another client polls this bot, or a webhook is set', kind: 'transient' },
  413: { meaning: 'too large', kind: 'final' },
  429: { meaning: 'too many requests', kind: 'rateLimited' },
};

/** The platform, or a proxy in front of it, refused a request. */
export class BotRefusal extends Error {
  /** Error code of the platform, or the HTTP status if a proxy responded. */
  readonly status: number;
  readonly host: string;
  /** Description from the platform; undefined if a proxy responded. */
  readonly description: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** New chat id, if the group was migrated to a supergroup. */
  readonly migratedTo: string | undefined;

  constructor(host: string, method: string, { status, json, retryAfterMs }: ApiResponse) {
    const description = textMember(json, 'description');
    const code = numberMember(json, 'error_code') ?? status;
    const fault = responseError(botMessengerErrors, {
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

/** Converts a request error to a DeliveryError. `request` names the request in the message. */
export function deliveryErrorOf(error: unknown, request: string): DeliveryError {
  if (!(error instanceof BotRefusal)) return requestError(error, request);
  const { status, host, description, retryAfterMs } = error;
  const code = description === undefined ? undefined : status;
  return responseError(botMessengerErrors, { status, host, code, text: description, retryAfterMs });
}

/** Converts a refusal to a ConnectionError, and returns other errors unchanged. */
export function connectionErrorOf(error: unknown): unknown {
  if (!(error instanceof BotRefusal)) return error;
  const { message, status, retryAfterMs } = error;
  // A status below 400 is a page from a proxy; the platform refuses with 400 or more.
  const isTransient = status >= 500 || status === 429 || status === 408 || status < 400;
  const kind = status === 409 ? 'conflict' : isTransient ? 'transient' : 'refused';
  return new ConnectionError(message, { kind, retryAfterMs });
}
