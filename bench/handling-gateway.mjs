// A gateway with one trigger whose agent answers nothing, for the measures of events.

import { strictEqual } from 'node:assert';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startGateway } from './gateway.mjs';
import { secret } from './signed-events.mjs';

/** `spec` is of the trigger; its secret is `${WEBHOOK_SECRET}`. `options` are those of startGateway. */
export async function startHandling(bench, spec, options = {}) {
  const folder = bench.makeFolder();
  const write = (place, resource) => {
    mkdirSync(join(folder, place), { recursive: true });
    writeFileSync(
      join(folder, place, 'resource.yaml'),
      JSON.stringify({ apiVersion: 'example.com/v1', ...resource }),
    );
  };
  write('triggers', { kind: 'Trigger', metadata: { name: 'events' }, spec });
  write('agents', {
    kind: 'Agent',
    metadata: { name: 'nobody' },
    spec: { model: 'scripted:../nobody.json' },
  });
  writeFileSync(join(folder, 'nobody.json'), JSON.stringify([{ answer: '' }]));
  const gateway = await startGateway(bench, {
    ...options,
    folder,
    config: { spec: { triggers: { directory: './triggers' }, agents: { directory: './agents' } } },
    env: { WEBHOOK_SECRET: secret },
  });
  let handled = 0;
  return {
    ...gateway,
    /** Resolves when so many more events have been handled, and none of them failed. */
    async settled(count) {
      handled += count;
      await eventually(async () => {
        const trigger = await (await fetch(`${gateway.url}/triggers/events`)).json();
        strictEqual(trigger.failed, 0);
        // The generator gives up the requests that are under way at its end; they are accepted all the same.
        handled = Math.max(handled, trigger.handled);
        return trigger.handled >= handled;
      });
    },
  };
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
