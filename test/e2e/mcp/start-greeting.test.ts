// Greeting at the start: existing servers and triggers, and commands that work as printed.

import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import {
  eventually,
  httpAgent,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../../..');
const asNpmStart = { npm_lifecycle_event: 'start' };
const open = {
  type: 'HTTP',
  config: { path: '/hooks/open', insecure_allow_unverified: true },
  default_agent: 'echo',
};
const signed = {
  type: 'HTTP',
  config: { path: '/hooks/orders', webhook_secret: SECRET },
  default_agent: 'echo',
};
const repo = { type: 'RepoHost', config: { webhook_secret: SECRET }, default_agent: 'echo' };
const nightly = { type: 'Schedule', config: { cron: '0 3 * * *' }, default_agent: 'echo' };
const manual = { type: 'Manual', config: {}, default_agent: 'echo' };

/** Runs the commands of the banner, and returns their outputs. Async: this process serves the agent. */
function runCommands(text: string): Promise<string[]> {
  const [, commands = ''] = text.split('Try:\n');
  const lines = commands.split('\n').filter((line) => line.startsWith('  '));
  return Promise.all(
    lines.map(async (command) => (await run('sh', ['-c', command.trim()], { cwd: root })).stdout),
  );
}

test('a gateway without MCP servers prints its agents and the URLs of its triggers at the start', async () => {
  const program = await startAgent();
  const gateway = await startAutomation({
    env: asNpmStart,
    resources: [
      trigger('nightly', nightly),
      trigger('open', open),
      trigger('orders', signed),
      trigger('repo', repo),
      trigger('ship', manual),
      httpAgent('echo', program.url),
    ],
  });
  const greeting = await eventually(() => {
    // Includes the JSON log.
    const lines = gateway.text().split('\n');
    const text = lines.filter((line) => !line.startsWith('{')).join('\n');
    expect(text).toMatch(/Try:[\s\S]*\n$/);
    return text;
  });
  const { url } = gateway;
  expect(greeting).toMatch(/ at http:\S+ \(\S+\), 5 triggers, 1 agent:\n/);
  expect(greeting).toContain('  nightly  Schedule  0 3 * * * (UTC)\n');
  expect(greeting).toContain(`  open     HTTP      POST ${url}/hooks/open\n`);
  expect(greeting).toContain(`  orders   HTTP      POST ${url}/hooks/orders\n`);
  expect(greeting).toContain(`  repo     RepoHost  POST ${url}/webhook/repohost\n`);
  expect(greeting).toContain('  ship     Manual    manual: triggers run ship\n');
  expect(greeting).toContain('  echo     Agent     http\n');
  expect(greeting).not.toMatch(/server|\/rpc/);
  expect(greeting).not.toContain(SECRET);
  const [list = '', answer, event = ''] = await runCommands(greeting);
  expect(list.trimEnd().split('\n')).toHaveLength(6);
  expect(answer).toContain('hello');
  expect(JSON.parse(event)).toMatchObject({ status: 'accepted' });
});
