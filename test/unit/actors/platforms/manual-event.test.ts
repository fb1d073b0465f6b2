// Manual runs of triggers: permitted runs, and event content.

import { describe, expect, test } from 'vitest';
import { manualAdapter } from '../../../../actors/platforms/manual/adapter.ts';
import { manualEvent } from '../../../../actors/platforms/manual/event.ts';
import type { ManualInput } from '../../../../actors/platforms/manual/input.ts';
import type { ManualTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { TestSourceHost } from '../../../fixtures/automation/source-host.ts';
import { manualTrigger } from '../../../fixtures/automation/triggers.ts';

const trace = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00`;

function event(run: Partial<ManualInput>, config: Partial<ManualTrigger['config']> = {}) {
  const whole = { command: '', input: {}, text: '', isConfirmed: false, ...run };
  return manualEvent(manualTrigger('ops', config), whole, {
    id: 'r-1',
    trace,
    principal: { kind: 'token', name: 'alice' },
  });
}
const read = (run: Partial<ManualInput>) =>
  manualAdapter.read({ ...event(run), seq: 1, at: 0, attempt: 1, crashes: 0 });

test('a manual run is an event of its trigger', () => {
  expect(event({ command: 'deploy' })).toMatchObject({
    id: 'manual:r-1',
    key: 'conversation/manual/ops',
    trace,
  });
});

test('the event of a manual run is read with its command and its text', () => {
  const run = { command: '/deploy production', input: { version: '2' }, text: 'in a hurry', user: 'ann' };
  expect(read(run)).toMatchObject({
    platform: 'manual',
    triggers: ['ops'],
    names: [],
    text: 'deploy production\nin a hurry',
    commandRest: 'production',
    user: 'ann',
    parameters: { version: '2' },
  });
  expect(read({}).text).toBeUndefined();
  expect(read({ text: 'hello' }).text).toBe('hello');
  expect(read({ text: 'deploy production' }).commandRest).toBeUndefined();
  expect(read({ command: 'deploy', text: 'production' }).commandRest).toBe('');
});

describe('allowed_commands', () => {
  const config = { allowed_commands: ['deploy', 'restart'] };
  test.each(['deploy', '/deploy', 'deploy production', ' restart '])('accepts %j', (command) => {
    expect(event({ command }, config).id).toBe('manual:r-1');
  });
  test.each(['', 'deployx', 'destroy', 'Deploy'])('rejects %j', (command) => {
    expect(() => event({ command, text: 'deploy' }, config)).toThrow(/allowed_commands are deploy, restart/);
  });
});

test('a manual run that requires confirmation is rejected without one', () => {
  const config = { require_confirmation: true };
  expect(() => event({ command: 'deploy' }, config)).toThrow(/confirm/);
  expect(event({ command: 'deploy', isConfirmed: true }, config).id).toBe('manual:r-1');
});

test('opening a manual trigger has no effect', async () => {
  const open = await manualAdapter.open(manualTrigger('ops'), new TestSourceHost());
  await open.close();
});
