// The community chat's API, as far as it is needed: answers to interactions under their own tokens, messages to channels and menus
// of commands under the bot's.
//
// Nothing is sent twice from here, and nothing waits: whether and when to come again is for the outbox.

import { type ApiRequest, HttpApi } from '../../../libs/rest/http-api.ts';
import { path } from '../../../libs/rest/path.ts';
import manifest from '../../../package.json' with { type: 'json' };
import type { HeldBack } from '../../events/outbox/limits.ts';
import { sendingFault } from '../../events/outbox/platform-errors.ts';
import { textMember } from '../payloads/payload-member.ts';
import { GLOBAL } from './command-menu.ts';
import { deliveryErrorOf } from './errors.ts';
import { RateBuckets, type Route } from './rate-buckets.ts';

const TIMEOUT_MS = 20_000;
/** Of an answer: a message, or a hundred commands. */
const MAX_ANSWER_BYTES = 4_194_304;
/** The form that the platform asks for. */
const AGENT = `DiscordBot (https://www.npmjs.com/package/${manifest.name}, ${manifest.version})`;

export interface CommunityCredential {
  readonly application_id: string;
  readonly bot_token: string;
  readonly api_root: string;
}

export class CommunityChatApi {
  /** Where it is. */
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

  /** What the platform takes nothing of now. */
  held(): readonly HeldBack[] {
    return this.#buckets.held();
  }

  /** Puts it in the place of the answer that was announced. Gives the id of the message. Rejects with a DeliveryError, as below. */
  answer(token: string, json: object, signal: AbortSignal): Promise<string> {
    const request = {
      method: 'PATCH',
      path: path`/webhooks/${this.#application}/${token}/messages/@original`,
    };
    return this.#message('PATCH /webhooks/messages', token, { ...request, json, signal });
  }

  /** Says more about an interaction that has been answered. */
  followUp(token: string, json: object, signal: AbortSignal): Promise<string> {
    const request = { method: 'POST', path: path`/webhooks/${this.#application}/${token}` };
    return this.#message('POST /webhooks', token, { ...request, json, signal });
  }

  /** A message to a channel, which answers nothing. */
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

  /** Has the platform show these commands and no others, everywhere (GLOBAL) or on one server. */
  async putCommands(scope: string, json: readonly object[], signal: AbortSignal): Promise<void> {
    const place = scope === GLOBAL ? '' : path`/guilds/${scope}`;
    const request = { method: 'PUT', path: `${path`/applications/${this.#application}`}${place}/commands` };
    const route = { kind: 'PUT /applications/commands', major: scope, isOfBot: true };
    await this.#call(
      route,
      { ...request, headers: this.#bot, json, signal },
      undefined,
      'a menu of commands',
    );
  }

  /** The token is in the address. */
  #message(kind: string, token: string, request: ApiRequest): Promise<string> {
    return this.#call({ kind, major: token, isOfBot: false }, request, token).then(idOf);
  }

  async #call(route: Route, request: ApiRequest, secret?: string, what = 'a message'): Promise<unknown> {
    const answer = await this.#buckets
      .run(route, () => this.#http.request(request))
      .catch((error: unknown) => {
        throw sendingFault(error, what);
      });
    const { isOk, json, headers } = answer;
    // A page that somebody else answers with is no message sent. Whatever else is taken is not sent again, also where nothing can be
    // read of it.
    const isPage = /^\s*text\/html\b/i.test(headers.get('content-type') ?? '');
    if (isOk && !isPage) return json;
    throw deliveryErrorOf(answer, secret);
  }
}

const idOf = (json: unknown) => textMember(json, 'id') ?? '';
