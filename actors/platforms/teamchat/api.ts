// HTTP client of the platform's connector API for one bot. Each conversation has a service URL; all services
// accept the bot's token. The token is requested with the app's password, and renewed before it expires or
// after a service refused it.
//
// If the token is refused (401), the message is sent again with a new token. If the token endpoint refuses
// the password, messages are deferred for a while, and no token is requested meanwhile. Errors contain no
// token and no password.

import type { TeamChatConfig } from '../../../config/resources/platforms/teamchat.ts';
import { type ApiRequest, type ApiResponse, HttpApi } from '../../../libs/rest/http-api.ts';
import { deleteOldest } from '../../base/bounds/delete-oldest.ts';
import { requestError } from '../../events/outbox/platform-errors.ts';
import { RefreshOnce, type RefreshResult } from '../connections/refresh-once.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import { NoTokenError, noTokenErrorOf } from './errors.ts';

const SCOPE = 'https://api.botframework.com/.default';
const TIMEOUT_MS = 20_000;
/** Shorter than the timeout of RefreshOnce, whose error would contain no details. */
const TOKEN_TIMEOUT_MS = 12_000;
/** Pause between token requests after password refusals. */
const REFUSED_PAUSE_MS = 2_000;
/** Maximum response size; responses are small. */
const MAX_ANSWER_BYTES = 262_144;
/** Maximum number of cached clients: for each region, and for each tenant with a service URL of its own. */
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

  /** Returns the response of the service, with any status. Rejects with a DeliveryError. */
  async request(serviceUrl: string, request: ApiRequest): Promise<ApiResponse> {
    const token = await this.#getToken(() => this.#tokens.get());
    const response = await this.#send(token, serviceUrl, request);
    if (response.status !== 401) return response;
    return this.#send(await this.#getToken(() => this.#tokens.renew(token)), serviceUrl, request);
  }

  /** Rejects with a NoTokenError. */
  async #getToken(load: () => Promise<BotToken>): Promise<BotToken> {
    const { message = '', until = 0 } = this.#refusal ?? {};
    const retryAfterMs = until - performance.now();
    if (retryAfterMs > 0)
      throw new NoTokenError(message, { isRateLimited: true, isUncontacted: true, retryAfterMs });
    try {
      return await load();
    } catch (error) {
      const fault = tokenErrorOf(error);
      if (fault.isFinal)
        this.#refusal = { message: fault.message, until: performance.now() + REFUSED_PAUSE_MS };
      throw fault;
    }
  }

  #send(token: BotToken, serviceUrl: string, request: ApiRequest): Promise<ApiResponse> {
    return token
      .apiAt(serviceUrl)
      .request(request)
      .catch((error: unknown) => {
        throw requestError(error, 'a message');
      });
  }
}

/** A token, with the HTTP clients of the services that it was sent to. */
class BotToken {
  readonly #text: string;
  readonly #apis = new Map<string, HttpApi>();

  constructor(text: string) {
    this.#text = text;
  }

  apiAt(serviceUrl: string): HttpApi {
    const cached = this.#apis.get(serviceUrl);
    if (cached !== undefined) return cached;
    const api = new HttpApi({
      baseUrl: serviceUrl,
      headers: { authorization: `Bearer ${this.#text}` },
      timeoutMs: TIMEOUT_MS,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      secrets: [this.#text],
    });
    this.#apis.set(serviceUrl, api);
    deleteOldest(this.#apis, MAX_SERVICES);
    return api;
  }
}

async function newToken(
  { app_id, app_password, token_url }: TeamChatCredential,
  signal: AbortSignal,
): Promise<RefreshResult<BotToken>> {
  const { origin, pathname, searchParams } = new URL(token_url);
  const api = new HttpApi({ baseUrl: origin, timeoutMs: TOKEN_TIMEOUT_MS, secrets: [app_password] });
  const form = {
    grant_type: 'client_credentials',
    client_id: app_id,
    client_secret: app_password,
    scope: SCOPE,
  };
  const query = Object.fromEntries(searchParams);
  const response = await api.request({ method: 'POST', path: pathname, query, form, signal });
  const text = textMember(response.json, 'access_token');
  if (!response.isOk || text === undefined || text === '') throw noTokenErrorOf(response);
  return { value: new BotToken(text), expiresInMs: 1000 * Number(memberOf(response.json, 'expires_in')) };
}

/** Converts a token request error. The message was not sent, so its outcome is known. */
function tokenErrorOf(error: unknown): NoTokenError {
  if (error instanceof NoTokenError) return error;
  const { message } = requestError(error, 'a request for a token');
  return new NoTokenError(message, { cause: error, isPlatformDown: true });
}
