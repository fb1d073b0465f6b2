// Client of the host API, shared by all tool calls. call-requests.ts handles limits, waits and retries. The
// token is sent in the Authorization header only.

import { HttpApi } from '../../libs/rest/http-api.ts';
import manifest from '../../package.json' with { type: 'json' };
import { CallGate } from '../call-gate.ts';
import type { ServerToolCall } from '../tool.ts';
import { CallRequests, type HostOptions } from './call-requests.ts';
import { MAX_RESPONSE_BYTES } from './host-error.ts';
import { RateMeter } from './rate-meter.ts';

const MAX_CONCURRENT_REQUESTS = 10;

export class Host {
  readonly #api: HttpApi;
  readonly #meter: RateMeter;
  /** Unbounded queue, because the number of calls is limited. */
  readonly #gate = new CallGate(MAX_CONCURRENT_REQUESTS, Number.POSITIVE_INFINITY);
  readonly options: HostOptions;

  constructor(options: HostOptions) {
    const { access, timeoutMs } = options;
    this.options = options;
    this.#api = new HttpApi({
      baseUrl: access.apiUrl,
      headers: {
        accept: 'application/vnd.github+json',
        'user-agent': `actor-gateway-repository-host/${manifest.version}`,
        // API version of the used routes.
        'x-github-api-version': '2022-11-28',
        ...(access.token !== undefined && { authorization: `token ${access.token}` }),
      },
      timeoutMs,
      maxAnswerBytes: MAX_RESPONSE_BYTES,
      redirects: 'same-origin',
      secrets: access.token === undefined ? [] : [access.token],
    });
    this.#meter = new RateMeter({ hasToken: access.token !== undefined });
  }

  /** Returns the API access for a tool call, with a separate wait budget and deadline. */
  requestsFor(call: ServerToolCall): CallRequests {
    return new CallRequests(this.#api, { meter: this.#meter, gate: this.#gate }, this.options, call);
  }
}
