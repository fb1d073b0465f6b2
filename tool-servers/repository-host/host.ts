// The host's REST API, as tool calls ask it: what all of them share. Limits, patience and what is asked again: see asking.ts.
//
// The token is in the Authorization header and nowhere else.

import { HttpApi } from '../../libs/rest/http-api.ts';
import manifest from '../../package.json' with { type: 'json' };
import { CallGate } from '../call-gate.ts';
import type { ToolCall } from '../tool.ts';
import { Asking, type HostOptions } from './asking.ts';
import { MAX_ANSWER_BYTES } from './host-fault.ts';
import { RateMeter } from './rate-meter.ts';

const REQUESTS_AT_A_TIME = 10;

export class Host {
  readonly #api: HttpApi;
  readonly #meter: RateMeter;
  /** Whoever waits in it is a call already, and those are bounded. */
  readonly #gate = new CallGate(REQUESTS_AT_A_TIME, Number.POSITIVE_INFINITY);
  readonly options: HostOptions;

  constructor(options: HostOptions) {
    const { access, timeoutMs } = options;
    this.options = options;
    this.#api = new HttpApi({
      baseUrl: access.apiUrl,
      headers: {
        accept: 'application/vnd.github+json',
        'user-agent': `actor-gateway-repository-host/${manifest.version}`,
        // All this was written for.
        'x-github-api-version': '2022-11-28',
        ...(access.token !== undefined && { authorization: `token ${access.token}` }),
      },
      timeoutMs,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      redirects: 'same-origin',
      secrets: access.token === undefined ? [] : [access.token],
    });
    this.#meter = new RateMeter({ hasToken: access.token !== undefined });
  }

  /** What one tool call asks, with its own patience and deadline. */
  during(call: ToolCall): Asking {
    return new Asking(this.#api, { meter: this.#meter, gate: this.#gate }, this.options, call);
  }
}
