import { expect, it } from 'vitest';
import { FleetHandler } from '../../../../../actors/agents/fleets/handler.ts';
import { HandlerError } from '../../../../../actors/agents/handlers/handler.ts';
import type { Fleet } from '../../../../../config/resources/fleets/fleet.ts';
import { aJob } from '../../../../fixtures/automation/jobs.ts';
import { KillableRun } from '../../../../fixtures/automation/killable-run.ts';

const member = (name: string) => ({
  name,
  agent: name,
  description: undefined,
  weight: 1_000,
  isManager: false,
  tier: 1,
});

const fleet: Fleet = {
  name: 'f',
  file: '/f.yaml',
  hash: '',
  description: undefined,
  definition: '{}',
  timeout_seconds: 60,
  concurrency: 8,
  on_failure: 'fail',
  members: [member('good'), member('broken')],
  coordination: { mode: 'peer', by: 'merge' },
  budget: { tokens: undefined, tool_calls: undefined, cost: undefined },
};

it('a retried fleet starts only the members without an answer', async () => {
  const requests: string[] = [];
  let isBroken = true;
  const handler = new FleetHandler(fleet, {
    handlerOf: ({ name }) => ({
      run: async () => {
        requests.push(name);
        if (name === 'broken' && isBroken) throw new HandlerError('no', { isFinal: true });
        return { text: `${name} says yes` };
      },
    }),
    readDefinition: async () => fleet,
  });
  const run = new KillableRun();
  await expect(run.attempt(handler, aJob())).rejects.toThrow('fleet f: broken: no');
  isBroken = false;
  expect(await run.attempt(handler, aJob())).toMatchObject({
    data: { good: 'good says yes', broken: 'broken says yes' },
  });
  expect(requests).toEqual(['good', 'broken', 'broken']);
});
