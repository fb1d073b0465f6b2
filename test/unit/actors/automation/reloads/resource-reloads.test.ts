import { expect, test } from 'vitest';
import { ResourceReloads } from '../../../../../actors/automation/reloads/resource-reloads.ts';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import type { LoadedResources } from '../../../../../config/resources/load-resources.ts';

const resources: LoadedResources = {
  triggers: [],
  agents: [],
  fleets: [],
  flows: [],
  problems: [],
  secrets: [],
};

test('a folder change during a reload is processed after the reload is completely applied', async () => {
  const steps: string[] = [];
  const step = async (name: string) => {
    steps.push(name);
    return resources;
  };
  const reloads = new ResourceReloads({
    log: silentLog,
    load: () => step('read a change'),
    current: () => resources,
    apply: () => {
      steps.push('apply');
      return { added: [], changed: [], removed: [], unchanged: [] };
    },
  });
  let finish = (_answer: string): void => {};
  const rest = new Promise<string>((resolve) => {
    finish = resolve;
  });
  const reload = reloads.reload(
    () => step('read'),
    () => rest.finally(() => steps.push('apply the rest')),
  );
  const change = reloads.onChanged();
  await new Promise((resolve) => setImmediate(resolve));
  expect(steps).toEqual(['read', 'apply']);
  finish('the answer');
  expect(await reload).toBe('the answer');
  await change;
  expect(steps).toEqual(['read', 'apply', 'apply the rest', 'read a change', 'apply']);
});
