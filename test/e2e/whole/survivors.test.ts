// Bytes per call that survive the young generation. Almost none are allowed, because only a full collection
// releases survivors, which once was a quarter of the cost of a call (docs/internals.md, "Cost of a call").
// Counted in bytes, not by the clock: about 40 are expected. An object literal with a spread in the middle
// leaves 100 to 160, a Map that is filled and emptied 1500.

import { readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { runConcurrently } from '../../fixtures/clients/crowd.ts';
import { callOnce, RawSession, until } from '../../fixtures/clients/raw-session.ts';
import {
  type GatewayProcess,
  startGateway,
  temporaryFolder,
} from '../../fixtures/gateway/gateway-process.ts';
import { httpEngines } from '../../fixtures/gateway/http-engines.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const CALLS = 2000;
const AT_ONCE = 16;
const MAX_BYTES = 90;
/** Maximum number of runs. Recompilation or a full collection may spoil a run. */
const RUNS = 6;

interface Survivors {
  /** Bytes in use when the young generation was collected. */
  readonly bytes: number;
  /** Number of full collections. */
  readonly collections: number;
}

it.each(httpEngines)(
  'objects of a call are collected in the young generation, on %s',
  async (engine) => {
    const file = join(temporaryFolder(), 'survivors.json');
    const preload = pathToFileURL(resolve(import.meta.dirname, '../../fixtures/gateway/survivors.mjs')).href;
    const env = { NODE_OPTIONS: `--import ${preload}`, SURVIVORS: file };
    const gateway = await startGateway({ http: engine, servers: { echo: fault('echo') }, env });
    const session = await RawSession.open(gateway.url, '/mcp/echo');
    const left = {
      '/rpc': await fewestBytesLeft(gateway, file, () => callOnce(gateway.url, 'echo', 'echo', { a: 1 })),
      '/mcp/:id': await fewestBytesLeft(gateway, file, () => session.call('echo', { a: 1 })),
    };
    for (const [way, bytes] of Object.entries(left))
      expect(bytes, `${way}, bytes per call`).toBeLessThan(MAX_BYTES);
  },
  300_000,
);

/** Bytes per call that outlive the young generation: the first good run, or the best run. */
async function fewestBytesLeft(
  gateway: GatewayProcess,
  file: string,
  call: () => Promise<{ readonly status: number }>,
): Promise<number> {
  const calls = () =>
    runConcurrently(CALLS, AT_ONCE, async () => {
      expect((await call()).status).toBe(200);
    });
  // The first calls create permanent objects: compiled code, larger tables.
  await calls();
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < RUNS && least >= MAX_BYTES; run += 1) {
    const before = await survivors(gateway, file);
    await calls();
    const after = await survivors(gateway, file);
    if (after.collections === before.collections)
      least = Math.min(least, (after.bytes - before.bytes) / CALLS);
  }
  return least;
}

async function survivors({ pid }: GatewayProcess, file: string): Promise<Survivors> {
  rmSync(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  return until('the survivors', () => {
    try {
      return JSON.parse(readFileSync(file, 'utf8')) as Survivors;
    } catch {
      return undefined;
    }
  });
}
