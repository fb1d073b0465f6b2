// The platform's web API under one token: a method is a POST of a form, and what comes back says `ok`, or why not. All methods take
// forms, and only some of them JSON; lists and objects stand in a field as JSON.

import { HttpApi } from '../../../libs/rest/http-api.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import { WorkspaceRefusal } from './errors.ts';

export interface WorkspaceCredential {
  /** Of the bot, or of the app. */
  readonly token: string;
  readonly api_root: string;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

export type Parameters = Readonly<Record<string, unknown>>;

/** Who a bot is, and where, as its token says it. */
export interface BotIdentity {
  /** The workspace, or the organization. */
  readonly team: string;
  readonly user: string;
  /** Not all tokens have one. */
  readonly bot: string | undefined;
}

/** Nothing waits for it for long. */
const IDENTITY_MS = 5_000;

/** A page of channels, or of messages with what is in them. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

export class WorkspaceApi {
  /** Name and port, for messages. */
  readonly host: string;
  readonly #http: HttpApi;

  constructor({ token, api_root }: WorkspaceCredential) {
    this.#http = new HttpApi({
      baseUrl: api_root,
      headers: { authorization: `Bearer ${token}` },
      secrets: [token],
      maxAnswerBytes: MAX_ANSWER_BYTES,
    });
    this.host = this.#http.host;
  }

  /** The whole answer. Rejects with a WorkspaceRefusal, or with a RequestFault where there was no answer. */
  async call(method: string, parameters: Parameters = {}, options: CallOptions = {}): Promise<unknown> {
    const answer = await this.#http.request({
      method: 'POST',
      path: `/${method}`,
      form: formOf(parameters),
      ...options,
    });
    if (answer.isOk && memberOf(answer.json, 'ok') === true) return answer.json;
    throw new WorkspaceRefusal(this.host, method, answer);
  }

  /** Whose the token is; undefined for an answer that does not say so. */
  async identity(options: CallOptions = {}): Promise<BotIdentity | undefined> {
    const said = await this.call('auth.test', {}, { timeoutMs: IDENTITY_MS, ...options });
    const user = textMember(said, 'user_id');
    const team = textMember(said, 'team_id') ?? textMember(said, 'enterprise_id');
    if (user === undefined || team === undefined) return undefined;
    return { team, user, bot: textMember(said, 'bot_id') };
  }
}

/** Without members that are undefined. */
function formOf(parameters: Parameters): Readonly<Record<string, string>> {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, textOf(value)]));
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
