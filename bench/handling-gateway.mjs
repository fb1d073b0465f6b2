// A gateway with one trigger, whose agent `nobody` answers nothing, for the measures of events.

import { strictEqual } from 'node:assert';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startGateway } from './gateway.mjs';
import { secret } from './signed-events.mjs';

/**
 * `spec` is of the trigger; its secret is `${WEBHOOK_SECRET}`. `script` is of `nobody`, `agents` are specs of further ones by name,
 * `options` those of startGateway.
 */
export async function startHandling(
  bench,
  spec,
  { agents = {}, script = [{ answer: '' }], ...options } = {},
) {
  const { folder = bench.makeFolder() } = options;
  const write = (kind, name, of) => {
    const place = join(folder, `${kind.toLowerCase()}s`);
    mkdirSync(place, { recursive: true });
    const resource = { apiVersion: 'example.com/v1', kind, metadata: { name }, spec: of };
    writeFileSync(join(place, `${name}.yaml`), JSON.stringify(resource));
  };
  write('Trigger', 'events', spec);
  const all = { nobody: { model: 'scripted:../nobody.json' }, ...agents };
  for (const [name, of] of Object.entries(all)) write('Agent', name, of);
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
    /** Resolves when so many more events have been handled, and none of them failed. */
    async settled(count) {
      handled += count;
      await eventually(async () => {
        const trigger = await triggerOf(gateway.url);
        // The generator gives up the requests that are under way at its end; they are accepted all the same.
        handled = Math.max(handled, trigger.handled);
        return trigger.handled >= handled;
      });
    },
  };
}

/** The record of the trigger, by the list: its own page looks at its deliveries too, which is work for the store. */
export async function triggerOf(url) {
  const { triggers } = await (await fetch(`${url}/triggers`)).json();
  const trigger = triggers.find(({ name }) => name === 'events');
  strictEqual(trigger.failed, 0);
  return trigger;
}

const SETTLE_MS = 120_000;

/** Asks again and again until it is so. */
export async function eventually(isSo) {
  const deadline = performance.now() + SETTLE_MS;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error('the events were not handled in time');
    await sleep(5);
  }
}
