// The host's REST API: Octokit with its plugin `retry`, which repeats reading after faults of the host. Limits and the pace of
// writing are no plugin's affair: see asking.ts. Nor is it that ten requests run at a time: `throttling` goes by a clock that can
// be set, and one that is set back has everything wait for as long.
//
// The token is in the Authorization header and nowhere else.

import { Octokit } from '@octokit/core';
import { retry } from '@octokit/plugin-retry';
import manifest from '../../package.json' with { type: 'json' };
import { CallGate } from '../call-gate.ts';
import type { ToolCall } from '../tool.ts';
import { Asking, type HostOptions } from './asking.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { finalWithin } from './host-fault.ts';
import { RateMeter } from './rate-meter.ts';
import { cleanerOf } from './redaction.ts';

const REQUESTS_AT_A_TIME = 10;
/** After 1 and 4 seconds. */
const READ_RETRIES = 2;

export class Host {
  readonly #octokit: InstanceType<typeof Client>;
  readonly #fetch: typeof fetch;
  readonly #meter: RateMeter;
  /** Whoever waits in it is a call already, and those are bounded. */
  readonly #gate = new CallGate(REQUESTS_AT_A_TIME, Number.POSITIVE_INFINITY);
  readonly options: HostOptions;

  constructor(options: HostOptions) {
    const { access, timeoutMs } = options;
    this.options = options;
    this.#fetch = boundedFetch(timeoutMs, cleanerOf(access.token));
    this.#meter = new RateMeter({ hasToken: access.token !== undefined });
    this.#octokit = new Client({
      baseUrl: access.apiUrl,
      auth: access.token,
      userAgent: `actor-gateway-repository-host/${manifest.version}`,
      log: silent,
      request: { log: silent },
      // Not with each request: the plugin would then repeat what is in `doNotRetry` too.
      retry: { retries: READ_RETRIES, doNotRetry: Array.from({ length: 100 }, (_, index) => 400 + index) },
    });
  }

  /** What one tool call asks, with its own patience and deadline. */
  during(call: ToolCall): Asking {
    return new Asking(
      this.#octokit,
      this.#fetch,
      { meter: this.#meter, gate: this.#gate },
      this.options,
      call,
    );
  }
}

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** What no second attempt mends comes out as it is, so that it is not taken for a fault of the host and tried again. */
function finalErrors(octokit: Octokit): object {
  octokit.hook.error('request', (error) => {
    throw finalWithin(error) ?? error;
  });
  return {};
}

const Client = Octokit.plugin(finalErrors, retry);
