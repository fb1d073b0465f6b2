// HTTP client of the platform's API: replies to interactions with their tokens, and messages to channels and
// command menus with the bot token. The client does not retry; the outbox does.

import { type ApiRequest, HttpApi } from '../../../libs/rest/http-api.ts';
import { path } from '../../../libs/rest/path.ts';
import manifest from '../../../package.json' with { type: 'json' };
import type { SendPause } from '../../events/outbox/limits.ts';
import { requestError } from '../../events/outbox/platform-errors.ts';
import { textMember } from '../payloads/payload-member.ts';
import { GLOBAL } from './command-menu.ts';
import { deliveryErrorOf } from './errors.ts';
import { RateBuckets, type RateRoute } from './rate-buckets.ts';

const TIMEOUT_MS = 20_000;
/** Maximum response size: a message, or a hundred commands. */
const MAX_ANSWER_BYTES = 4_194_304;
/** User agent in the format that the platform requires. */
const AGENT = `DiscordBot (https://www.npmjs.com/package/${manifest.name}, ${manifest.version})`;

export interface CommunityCredential {
  readonly application_id: string;
  readonly bot_token: string;
  readonly api_root: string;
}

export class CommunityChatApi {
  /** Base URL of the API. */
  readonly address: string;
  readonly #http: HttpApi;
  readonly #application: string;
  readonly #bot: Readonly<Record<string, string>>;
  readonly #buckets = new RateBuckets();

  constructor({ application_id, bot_token, api_root }: CommunityCredential) {
    this.address = api_root;
    this.#application = application_id;
    this.#bot = { authorization: `Bot ${bot_token}` };
    this.#http = new HttpApi({
      baseUrl: api_root,
      headers: { 'user-agent': AGENT },
      timeoutMs: TIMEOUT_MS,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      secrets: [bot_token],
    });
  }

  /** Returns the rate limits of the platform that are exceeded now. */
  exceededLimits(): readonly SendPause[] {
    return this.#buckets.exceededLimits();
  }

  /**
   * Replaces the deferred reply to an interaction. Returns the id of the message. Rejects with a
   * DeliveryError.
   */
  reply(token: string, json: object, signal: AbortSignal): Promise<string> {
    const request = {
      method: 'PATCH',
      path: path`/webhooks/${this.#application}/${token}/messages/@original`,
    };
    return this.#send('PATCH /webhooks/messages', token, { ...request, json, signal });
  }

  /** Adds a message to an answered interaction. */
  followUp(token: string, json: object, signal: AbortSignal): Promise<string> {
    const request = { method: 'POST', path: path`/webhooks/${this.#application}/${token}` };
    return this.#send('POST /webhooks', token, { ...request, json, signal });
  }

  /** Posts a message to a channel without an interaction. */
  post(channel: string, json: object, signal: AbortSignal): Promise<string> {
    const request = { method: 'POST', path: path`/channels/${channel}/messages`, headers: this.#bot };
    const route = { kind: 'POST /channels/messages', major: channel, isOfBot: true };
    return this.#call(route, { ...request, json, signal }).then(idOf);
  }

  edit(channel: string, message: string, json: object, signal: AbortSignal): Promise<string> {
    const request = { method: 'PATCH', path: path`/channels/${channel}/messages/${message}` };
    const route = { kind: 'PATCH /channels/messages', major: channel, isOfBot: true };
    return this.#call(route, { ...request, headers: this.#bot, json, signal }).then(idOf);
  }

  /** Replaces the command menu, globally (GLOBAL) or on one server. */
  async putCommands(scope: string, json: readonly object[], signal: AbortSignal): Promise<void> {
    const scopePath = scope === GLOBAL ? '' : path`/guilds/${scope}`;
    const request = {
      method: 'PUT',
      path: `${path`/applications/${this.#application}`}${scopePath}/commands`,
    };
    const route = { kind: 'PUT /applications/commands', major: scope, isOfBot: true };
    await this.#call(
      route,
      { ...request, headers: this.#bot, json, signal },
      undefined,
      'a menu of commands',
    );
  }

  /** Sends a message with an interaction token. The URL contains the token, which is removed from errors. */
  #send(kind: string, token: string, request: ApiRequest): Promise<string> {
    return this.#call({ kind, major: token, isOfBot: false }, request, token).then(idOf);
  }

  async #call(
    route: RateRoute,
    request: ApiRequest,
    secret?: string,
    operation = 'a message',
  ): Promise<unknown> {
    const response = await this.#buckets
      .run(route, () => this.#http.request(request))
      .catch((error: unknown) => {
        throw requestError(error, operation);
      });
    const { isOk, json, headers } = response;
    // An HTML page from a proxy means that nothing was sent. Any other success counts as sent, even with an
    // unreadable body, because the message must not be sent twice.
    const isPage = /^\s*text\/html\b/i.test(headers.get('content-type') ?? '');
    if (isOk && !isPage) return json;
    throw deliveryErrorOf(response, secret);
  }
}

const idOf = (json: unknown) => textMember(json, 'id') ?? '';
