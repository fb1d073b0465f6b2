// Texts of agents, servers and senders in the terminal: no control sequence is executed.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../fixtures/clients/api-client.ts';
import { Terminal } from '../../fixtures/clients/terminal.ts';
import { startGateway, temporaryFolder, writeConfiguration } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';

const foreign = 'seen\u001b]0;owned\u0007\u001b[2J\u009b31m\u202e \u001b]52;c;b3duZWQ=\u001b\\ too';
// biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for them
const controlCharacters = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/u;

const counters = { in_flight: 0, waiting: 0, requests: 1, failed: 1, restarts: 1, uptime_seconds: 1 };
const latency_ms = { p50: 1, p95: 1, p99: 1 };
const server = {
  ...counters,
  id: foreign,
  state: 'failed',
  runtime: 'stdio',
  isolation: 'shared',
  enabled: true,
  is_parked: false,
  started_at: foreign,
  last_used_at: foreign,
  next_retry_at: null,
  eras: [foreign],
  tools: [],
  pids: [],
  last_error: { code: foreign, message: foreign, at: foreign },
  stderr: [foreign, 'second line'],
  lists: {},
  connections: [{ pid: 1, session: foreign, is_open: true, in_flight: 0, protocol_version: foreign }],
};
const delivery = {
  id: foreign,
  state: 'done',
  trigger: foreign,
  conversation: foreign,
  received_at: foreign,
  principal: foreign,
  ended_at: foreign,
  duration_seconds: 1,
  attempts: 1,
  next_attempt_at: null,
  note: foreign,
  trace: foreign,
  failures: [{ attempt: 1, at: foreign, note: foreign }],
  answer: foreign,
  receipt: foreign,
  body: { bytes: 1, text: `${foreign}\n${foreign}` },
};
const trigger = {
  name: 'x',
  type: 'Manual',
  state: 'open',
  paused: false,
  handled: 1,
  failed: 1,
  last_error: foreign,
  commands: [{ command: foreign, parameters: [] }],
  default_agent: foreign,
  requires_confirmation: false,
};
const answers: Readonly<Record<string, object>> = {
  '/servers': { servers: [server] },
  '/servers/s': server,
  '/stats': {
    uptime_seconds: 1,
    alarms: [{ code: foreign, severity: foreign, since: foreign, count: 1, message: foreign }],
    requests: counters,
    sessions: 0,
    listens: 0,
    servers: { s: { ...counters, state: 'failed', latency_ms } },
  },
  '/triggers': { triggers: [trigger] },
  '/triggers/x': trigger,
  '/triggers/x/run': { id: foreign, state: 'done', answer: `${foreign}\nsecond`, note: null },
  '/agents': { agents: [{ name: foreign, runtime: foreign, model: foreign, description: foreign }] },
  '/deliveries': { deliveries: [delivery], next_before: null },
  '/deliveries/d': delivery,
};

const gateway = createServer((request, response) => {
  const body = answers[(request.url ?? '').replace(/\?.*/, '')] ?? { error: 'Not found', message: foreign };
  response.writeHead('error' in body ? 404 : 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
});
let url: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
});
afterAll(() => gateway.close());

const env = { GATEWAY_API_KEY: '' };
const commands = [
  ...['servers', 'servers show s', 'stats', 'triggers', 'agents', 'triggers run x --command c'],
  ...['deliveries', 'deliveries show d', 'servers start nothing'],
];

describe('text of a server or an agent', () => {
  test.each(commands)('has no control sequences in "%s" and in the JSON output', async (command) => {
    for (const more of [[], ['--json']]) {
      const { stdout, stderr } = await runMain([...command.split(' '), '--url', url, ...more], { env });
      expect(stdout + stderr).toMatch(command === 'stats' ? /failed/ : /seen/);
      expect(stdout + stderr).not.toMatch(controlCharacters);
      if (more.length > 0 && command !== 'servers start nothing') JSON.parse(stdout);
    }
  });

  test('from the stderr of a server is shown by `servers show`', async () => {
    const { stdout } = await runMain(['servers', 'show', 's', '--url', url], { env });
    expect(stdout).toMatch(/\nstderr\n {2}seen\? {1,2}too\n {2}second line\n$/);
  });

  test('keeps its line breaks in the terminal', async () => {
    const { stdout } = await runMain(['triggers', 'run', 'x', '--command', 'c', '--url', url], { env });
    expect(stdout).toBe('seen  too\nsecond\n');
  });

  const script = String.raw`process.stderr.write('seen\u001b]0;owned\u0007 \u202etoo\n'); setInterval(() => {}, 1000);`;
  const say = { command: process.execPath, args: ['-e', script], start_timeout_seconds: 2 };

  test('has no control sequences in the JSON log, which is otherwise unchanged', async () => {
    const gateway = await startGateway({ servers: { say } });
    await fetch(`${gateway.url}/servers/say/start`, { method: 'POST' });
    const stderrLine = () => gateway.logs().find(({ stream }) => stream === 'stderr');
    await eventually('the line', () => stderrLine() !== undefined);
    expect(stderrLine()).toMatchObject({ server: 'say', msg: 'seen \u202etoo' });
    expect(gateway.text()).not.toMatch(controlCharacters);
  });

  test('has no control sequences in the readable log', async () => {
    const config = writeConfiguration(temporaryFolder(), {
      servers: { say },
      // A gateway message that quotes a file.
      settings: { log_level: 'debug' },
    });
    const terminal = new Terminal(['--config', config], { env: { NO_COLOR: '1' } });
    await eventually('the address', () => /"port":(\d+)/.test(terminal.text));
    const port = /"port":(\d+)/.exec(terminal.text)?.[1];
    await fetch(`http://127.0.0.1:${port}/servers/say/start`, { method: 'POST' });
    await fetch(`http://127.0.0.1:${port}/\u009b31m%1b[2J?\u202e`, { headers: { 'user-agent': 'x' } });
    await eventually('the line', () => terminal.text.includes('seen'));
    terminal.type('\u0003');
    await eventually('the end', () => terminal.text.includes('ENDED 0'));
    expect(terminal.text).not.toMatch(/␛|\u009b|\u202e/);
  });
});

test('tables are printed in a terminal without a known width', async () => {
  const terminal = new Terminal(['servers', '--url', url], { columns: 0, rows: 0, env });
  await eventually('the end', () => terminal.text.includes('ENDED'));
  expect(terminal.text).toContain('SERVER');
  expect(terminal.text).toContain('seen');
});

test('a terminal of one column shows the first character of all rows', async () => {
  const terminal = new Terminal(['top', '--url', url], { columns: 1, env: { ...env, NO_COLOR: '1' } });
  await eventually('a row', () => /␛\[K\r?\ns␛\[K/.test(terminal.text));
  terminal.type('q');
  await eventually('the end', () => terminal.text.includes('ENDED 0'));
});
