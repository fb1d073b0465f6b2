// The host's REST API: Octokit with its plugins. `retry` repeats reading after faults of the host, `throttling` lets ten
// requests run at a time. Limits and the pace of writing are not the plugins' affair: see asking.ts.
//
// The token is in the Authorization header and nowhere else.

import { randomUUID } from 'node:crypto';
import { Octokit } from '@octokit/core';
import { retry } from '@octokit/plugin-retry';
import { throttling } from '@octokit/plugin-throttling';
import manifest from '../../package.json' with { type: 'json' };
import type { ToolCall } from '../tool.ts';
import { Asking, type HostOptions } from './asking.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { finalWithin } from './host-fault.ts';
import { RateMeter } from './rate-meter.ts';
import { cleanerOf } from './redaction.ts';

/** After 1 and 4 seconds. */
const READ_RETRIES = 2;

export class Host {
  readonly #octokit: InstanceType<typeof Client>;
  readonly #fetch: typeof fetch;
  readonly #meter: RateMeter;
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
      throttle: {
        // The plugin's queues are the process's own; this host shares them with nobody.
        id: randomUUID(),
        // The meter paces: its waits can be told and cancelled, and the first searches of a minute go at once.
        search: unpaced as never,
        write: unpaced as never,
        notifications: unpaced as never,
        // Waits are this program's own, so that they can be bounded, told and cancelled.
        onRateLimit: () => false,
        onSecondaryRateLimit: () => false,
      },
    });
  }

  /** What one tool call asks, with its own patience and deadline. */
  during(call: ToolCall): Asking {
    return new Asking(this.#octokit, this.#fetch, this.#meter, this.options, call);
  }
}

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** What the throttling plugin uses of a group, letting everything through. */
const unpaced = { key: () => ({ schedule: (_options: object, run: () => unknown) => run() }) };

/** What no second attempt mends comes out as it is, so that it is not taken for a fault of the host and tried again. */
function finalErrors(octokit: Octokit): object {
  octokit.hook.error('request', (error) => {
    throw finalWithin(error) ?? error;
  });
  return {};
}

const Client = Octokit.plugin(finalErrors, retry, throttling);
