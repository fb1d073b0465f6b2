// HTTP client of the platform's Bot API for one bot. Methods are POST requests with a JSON body; a response
// contains `ok: true` and the result, or an error. The URL contains the token, so the client removes it from
// errors (libs/rest/http-api.ts).

import { HttpApi } from '../../../libs/rest/http-api.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import { BotRefusal } from './errors.ts';

export interface BotCredential {
  readonly bot_token: string;
  readonly api_root: string;
}

export interface BotIdentity {
  /** Name of the BotAccount. */
  readonly account: string;
  readonly id: string;
  readonly username: string | undefined;
}

interface BotCallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

/** Maximum response size: a hundred messages with the messages they reply to. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

export class BotApi {
  /** Host name and port, for error messages. */
  readonly host: string;
  readonly #http: HttpApi;
  readonly #prefix: string;

  constructor({ bot_token, api_root }: BotCredential) {
    this.#http = new HttpApi({
      baseUrl: api_root,
      secrets: secretsOf(bot_token),
      maxAnswerBytes: MAX_ANSWER_BYTES,
    });
    this.host = this.#http.host;
    this.#prefix = `/bot${encodeURIComponent(bot_token).replaceAll('%3A', ':')}`;
  }

  /** Returns the `result`. Rejects with a BotRefusal; without a response, with a RequestFault. */
  async call(
    method: string,
    parameters: Readonly<Record<string, unknown>>,
    options: BotCallOptions = {},
  ): Promise<unknown> {
    const path = `${this.#prefix}/${method}`;
    const response = await this.#http.request({ method: 'POST', path, json: parameters, ...options });
    if (memberOf(response.json, 'ok') === true) return memberOf(response.json, 'result');
    throw new BotRefusal(this.host, method, response);
  }

  /** Returns the user name of the bot, without `@`. */
  async username(options: BotCallOptions = {}): Promise<string | undefined> {
    return textMember(await this.call('getMe', {}, options), 'username');
  }
}

/**
 * Returns the token's secret parts. The part after the colon is a secret by itself; the part before it is the
 * public bot id.
 */
function secretsOf(token: string): readonly string[] {
  const secret = token.slice(token.indexOf(':') + 1);
  return secret === token || secret.length < 8 ? [token] : [token, secret];
}
