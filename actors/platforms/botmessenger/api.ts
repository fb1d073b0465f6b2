// The platform's Bot API for one bot: a method is a POST of JSON, and what comes back says `ok`, or why not. The token is a part
// of every address; so it is taken out of everything that comes back (HC4 of libs/rest/http-api.ts).

import { HttpApi } from '../../../libs/rest/http-api.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import { BotRefusal } from './errors.ts';

export interface BotCredential {
  readonly bot_token: string;
  readonly api_root: string;
}

export interface BotIdentity {
  /** By which it is known here. */
  readonly account: string;
  readonly id: string;
  readonly username: string | undefined;
}

interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

/** A batch of a hundred messages, each with the one that it answers. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

export class BotApi {
  /** Name and port, for messages. */
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

  /** The `result`. Rejects with a BotRefusal, or with a RequestFault where there was no answer. */
  async call(
    method: string,
    parameters: Readonly<Record<string, unknown>>,
    options: CallOptions = {},
  ): Promise<unknown> {
    const path = `${this.#prefix}/${method}`;
    const answer = await this.#http.request({ method: 'POST', path, json: parameters, ...options });
    if (memberOf(answer.json, 'ok') === true) return memberOf(answer.json, 'result');
    throw new BotRefusal(this.host, method, answer);
  }

  /** What the bot is called, without `@`. */
  async username(options: CallOptions = {}): Promise<string | undefined> {
    return textMember(await this.call('getMe', {}, options), 'username');
  }
}

/** The part after the colon is secret by itself; what is before it is the bot's id, which everybody may know. */
function secretsOf(token: string): readonly string[] {
  const secret = token.slice(token.indexOf(':') + 1);
  return secret === token || secret.length < 8 ? [token] : [token, secret];
}
