// The API of the team chat's connector for one bot: each conversation has a service of its own, all of which take the bot's token.
// The token is given for the app's password, is one for all messages, and is renewed before its end, or when a service refuses it.
//
// TCA1  a message that is refused because of its token (401) is sent once more, with a new one, and not a third time.
// TCA2  an endpoint that has refused the app's password is left alone for a while, in which messages are put off: each of them would
//       ask it once more.
// TCA3  token and password stand in no error: each is taken out of what comes back to the requests that carry it.

import type { TeamChatConfig } from '../../../config/resources/platforms/teamchat.ts';
import { type ApiAnswer, type ApiRequest, HttpApi } from '../../../libs/rest/http-api.ts';
import { forgetOldest } from '../../base/bounds/forget-oldest.ts';
import { sendingFault } from '../../events/outbox/platform-errors.ts';
import { type Refreshed, RefreshOnce } from '../connections/refresh-once.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import { NoTokenError, noTokenErrorOf } from './errors.ts';

const SCOPE = 'https://api.botframework.com/.default';
const TIMEOUT_MS = 20_000;
/** Shorter than the patience of RefreshOnce, which knows no reason. */
const TOKEN_TIMEOUT_MS = 12_000;
const AFTER_REFUSAL_MS = 2_000;
/** Of an answer, which is small. */
const MAX_ANSWER_BYTES = 262_144;
/** Regions of the platform, and tenants whose services have an address of their own. */
const MAX_SERVICES = 200;

export type TeamChatCredential = Pick<TeamChatConfig, 'app_id' | 'app_password' | 'token_url'>;

export class TeamChatApi {
  readonly #tokens: RefreshOnce<BotToken>;
  #refusal: { readonly message: string; readonly until: number } | undefined;

  constructor(credential: TeamChatCredential) {
    this.#tokens = new RefreshOnce({
      name: `token of teamchat/${credential.app_id}`,
      refresh: (signal) => newToken(credential, signal),
    });
  }

  /** What the service answers, whatever its status. Rejects with a DeliveryError. */
  async request(serviceUrl: string, request: ApiRequest): Promise<ApiAnswer> {
    const token = await this.#token(() => this.#tokens.get());
    const answer = await this.#ask(token, serviceUrl, request);
    if (answer.status !== 401) return answer;
    return this.#ask(await this.#token(() => this.#tokens.renew(token)), serviceUrl, request);
  }

  /** Rejects with a NoTokenError. */
  async #token(asked: () => Promise<BotToken>): Promise<BotToken> {
    const { message = '', until = 0 } = this.#refusal ?? {};
    const retryAfterMs = until - performance.now();
    if (retryAfterMs > 0) throw new NoTokenError(message, { isTooSoon: true, isUnasked: true, retryAfterMs });
    try {
      return await asked();
    } catch (error) {
      const fault = noToken(error);
      if (fault.isFinal)
        this.#refusal = { message: fault.message, until: performance.now() + AFTER_REFUSAL_MS };
      throw fault;
    }
  }

  #ask(token: BotToken, serviceUrl: string, request: ApiRequest): Promise<ApiAnswer> {
    return token
      .apiAt(serviceUrl)
      .request(request)
      .catch((error: unknown) => {
        throw sendingFault(error, 'a message');
      });
  }
}

/** One token, and the services that it was used with. */
class BotToken {
  readonly #text: string;
  readonly #apis = new Map<string, HttpApi>();

  constructor(text: string) {
    this.#text = text;
  }

  apiAt(serviceUrl: string): HttpApi {
    const before = this.#apis.get(serviceUrl);
    if (before !== undefined) return before;
    const api = new HttpApi({
      baseUrl: serviceUrl,
      headers: { authorization: `Bearer ${this.#text}` },
      timeoutMs: TIMEOUT_MS,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      secrets: [this.#text],
    });
    this.#apis.set(serviceUrl, api);
    forgetOldest(this.#apis, MAX_SERVICES);
    return api;
  }
}

async function newToken(
  { app_id, app_password, token_url }: TeamChatCredential,
  signal: AbortSignal,
): Promise<Refreshed<BotToken>> {
  const { origin, pathname, searchParams } = new URL(token_url);
  const api = new HttpApi({ baseUrl: origin, timeoutMs: TOKEN_TIMEOUT_MS, secrets: [app_password] });
  const form = {
    grant_type: 'client_credentials',
    client_id: app_id,
    client_secret: app_password,
    scope: SCOPE,
  };
  const query = Object.fromEntries(searchParams);
  const answer = await api.request({ method: 'POST', path: pathname, query, form, signal });
  const text = textMember(answer.json, 'access_token');
  if (!answer.isOk || text === undefined || text === '') throw noTokenErrorOf(answer);
  return { value: new BotToken(text), expiresInMs: 1000 * Number(memberOf(answer.json, 'expires_in')) };
}

/** The message was not sent: nothing is in doubt. */
function noToken(error: unknown): NoTokenError {
  if (error instanceof NoTokenError) return error;
  const { message } = sendingFault(error, 'a request for a token');
  return new NoTokenError(message, { cause: error, isPlatformDown: true });
}
