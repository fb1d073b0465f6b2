// SIGHUP to a gateway in a terminal: it reloads while the terminal is open, and stops when the window is
// closed. As a service, without a terminal, it only reloads (servers/reload.test.ts).

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventually } from '../../fixtures/clients/api-client.ts';
import { isAlive } from '../../fixtures/clients/raw-session.ts';
import { Terminal } from '../../fixtures/clients/terminal.ts';
import { temporaryFolder, writeConfiguration } from '../../fixtures/gateway/gateway-process.ts';

test('a gateway in a terminal reloads on SIGHUP, and stops in order when the terminal is closed', async () => {
  const folder = temporaryFolder();
  const state = join(folder, 'state');
  const config = writeConfiguration(folder, { settings: { state_dir: state } });
  const terminal = new Terminal(['--config', config]);
  await eventually('the start', () => terminal.text.includes('gateway is ready'));
  const { pid } = terminal;
  process.kill(pid, 'SIGHUP');
  await eventually('the reload', () => terminal.text.includes('catalog reloaded'));
  const lock = () => readFileSync(join(state, 'gateway.lock.1'), 'utf8');
  expect(lock()).toContain(String(pid));
  terminal.close();
  await eventually('the end of the gateway', () => !isAlive(pid));
  // A gateway that is killed does not release its folder.
  expect(lock()).not.toContain(String(pid));
});
