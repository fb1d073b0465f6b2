// HTTP client of the platform's web API. Methods are POST requests with a form body, because only some
// methods accept JSON; lists and objects are JSON in a form field. A response contains `ok: true` or an error
// code.

import { HttpApi } from '../../../libs/rest/http-api.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import { WorkspaceRefusal } from './errors.ts';

export interface WorkspaceCredential {
  /** Token of the bot or of the app. */
  readonly token: string;
  readonly api_root: string;
}

export interface WorkspaceCallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

export type Parameters = Readonly<Record<string, unknown>>;

/** Identity of the bot, as the platform returns it for the token. */
export interface WorkspaceIdentity {
  /** Id of the workspace or organization. */
  readonly team: string;
  readonly user: string;
  /** Undefined for some kinds of tokens. */
  readonly bot: string | undefined;
}

/** Timeout of identity requests, in milliseconds. */
const IDENTITY_MS = 5_000;

/** Maximum response size: a page of channels, or of messages with their content. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

export class WorkspaceApi {
  /** Host name and port, for error messages. */
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

  /** Returns the JSON response. Rejects with a WorkspaceRefusal; without a response, with a RequestFault. */
  async call(
    method: string,
    parameters: Parameters = {},
    options: WorkspaceCallOptions = {},
  ): Promise<unknown> {
    const response = await this.#http.request({
      method: 'POST',
      path: `/${method}`,
      form: formOf(parameters),
      ...options,
    });
    if (response.isOk && memberOf(response.json, 'ok') === true) return response.json;
    throw new WorkspaceRefusal(this.host, method, response);
  }

  /** Returns the token's owner; undefined if the response does not contain it. */
  async identity(options: WorkspaceCallOptions = {}): Promise<WorkspaceIdentity | undefined> {
    const response = await this.call('auth.test', {}, { timeoutMs: IDENTITY_MS, ...options });
    const user = textMember(response, 'user_id');
    const team = textMember(response, 'team_id') ?? textMember(response, 'enterprise_id');
    if (user === undefined || team === undefined) return undefined;
    return { team, user, bot: textMember(response, 'bot_id') };
  }
}

/** Omits undefined parameters. */
function formOf(parameters: Parameters): Readonly<Record<string, string>> {
  const entries = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries.map(([name, value]) => [name, textOf(value)]));
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
