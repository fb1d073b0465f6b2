// Calls to several kinds of upstreams (tool servers), through the gateway and directly: an echo server of the
// SDK, an echo server over HTTP, and a raw echo server, which uses no SDK.

import { interleave } from '../interleave.mjs';
import { bareHttpRelay, direct, gatewayInFrontOf, httpEcho, rawEcho, sdkEcho } from '../targets.mjs';

export const name = 'upstreams';
export const title = 'Other upstreams';
export const about = `The same calls at 16 connections, through the gateway at \`/rpc\` and directly, to two upstreams: an echo of the
official SDK (1.x) over stdio, and a remote echo that returns plain JSON over HTTP (uWebSockets.js).

- Direct calls over stdio come from a client that writes to the server's stdin, with 16 calls in flight.
- The bare HTTP relay is a small program of uWebSockets.js and undici's \`dispatch\` before the remote echo: the
  minimum for such a relay.`;

const relay = 'bare HTTP relay, HTTP echo';
export const goals = [
  { row: 'gateway, HTTP echo', column: 'calls/s', against: relay, factor: 0.65, sense: 'at least' },
];

export async function* run(bench) {
  const remote = await httpEcho(bench, 'HTTP echo itself');
  const targets = await Promise.all([
    gatewayInFrontOf(bench, 'gateway, raw echo', rawEcho),
    direct(bench, 'raw echo itself', rawEcho),
    gatewayInFrontOf(bench, 'gateway, SDK echo', sdkEcho),
    direct(bench, 'SDK echo itself', sdkEcho),
    gatewayInFrontOf(bench, 'gateway, HTTP echo', { url: remote.url }),
    bareHttpRelay(bench, relay, remote.url),
    remote,
  ]);
  yield* interleave(bench, targets, [16], async ({ load }, connections) => {
    const { callsPerSecond, p50Ms, p99Ms } = await load({ connections, seconds: bench.seconds });
    return [
      { column: 'calls/s', value: callsPerSecond, unit: 'calls/s' },
      { column: 'p50', value: p50Ms, unit: 'ms' },
      { column: 'p99', value: p99Ms, unit: 'ms' },
    ];
  });
}
