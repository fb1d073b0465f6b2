// Starts a gateway for the measures of events, with a trigger `events` and an agent `nobody`. The agent is a
// script that returns an empty answer, so that the measures contain no work of an agent.

import { strictEqual } from 'node:assert';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startGateway } from './gateway.mjs';
import { secret } from './signed-events.mjs';

/**
 * Starts the gateway. `spec` is the spec of the trigger, with the secret `${WEBHOOK_SECRET}`. `script`
 * contains the answers of `nobody`. `agents` are specs of further agents by name. `options` are passed to
 * startGateway.
 */
export async function startHandling(
  bench,
  spec,
  { agents = {}, script = [{ answer: '' }], ...options } = {},
) {
  const { folder = bench.makeFolder() } = options;
  const writeResource = (kind, name, resourceSpec) => {
    const directory = join(folder, `${kind.toLowerCase()}s`);
    mkdirSync(directory, { recursive: true });
    const resource = { apiVersion: 'example.com/v1', kind, metadata: { name }, spec: resourceSpec };
    writeFileSync(join(directory, `${name}.yaml`), JSON.stringify(resource));
  };
  writeResource('Trigger', 'events', spec);
  const allAgents = { nobody: { model: 'scripted:../nobody.json' }, ...agents };
  for (const [name, agentSpec] of Object.entries(allAgents)) writeResource('Agent', name, agentSpec);
  writeFileSync(join(folder, 'nobody.json'), JSON.stringify(script));
  const gateway = await startGateway(bench, {
    ...options,
    folder,
    config: {
      ...options.config,
      spec: { triggers: { directory: './triggers' }, agents: { directory: './agents' } },
    },
    env: { WEBHOOK_SECRET: secret },
  });
  let handled = 0;
  return {
    ...gateway,
    /** Resolves when `count` further events are handled. Throws if an event failed. */
    async whenHandled(count) {
      handled += count;
      await eventually(async () => {
        const trigger = await triggerOf(gateway.url);
        // The load generator aborts the last requests without counting them; the gateway also handles them.
        handled = Math.max(handled, trigger.handled);
        return trigger.handled >= handled;
      });
    },
  };
}

/** Returns the record of the trigger. It is read from the list: GET /triggers/events also reads the store. */
export async function triggerOf(url) {
  const { triggers } = await (await fetch(`${url}/triggers`)).json();
  const trigger = triggers.find(({ name }) => name === 'events');
  strictEqual(trigger.failed, 0);
  return trigger;
}

/** Time limit of `eventually`. */
const SETTLE_MS = 120_000;

/** Polls until `condition` is true. */
export async function eventually(condition) {
  const deadline = performance.now() + SETTLE_MS;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error('the events were not handled in time');
    await sleep(5);
  }
}
