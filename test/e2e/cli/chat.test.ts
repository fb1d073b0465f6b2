// Agents in the terminal: single requests, line-by-line chats and interactive chats, over the API of a
// running gateway and on files alone. Also the run commands.

import { readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { AgentsGateway } from '../../fixtures/agents/agents-gateway.ts';
import { ask, eventually } from '../../fixtures/clients/api-client.ts';
import { Terminal } from '../../fixtures/clients/terminal.ts';
import { type GatewayProcess, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';

const folder = temporaryFolder();
const desk = {
  apiVersion: 'example.com/v1',
  kind: 'Agent',
  metadata: { name: 'desk' },
  spec: { model: 'scripted:desk.yaml' },
};
let agents: AgentsGateway;
let gateway: GatewayProcess;
beforeAll(async () => {
  writeFileSync(join(folder, 'desk.yaml'), JSON.stringify([{ answer: 'You said {{input}}.' }]));
  writeFileSync(join(folder, 'agent.yaml'), JSON.stringify(desk));
  agents = await AgentsGateway.start();
  ({ gateway } = agents);
});

const JSON_BODY = { 'content-type': 'application/json' };
const env = { GATEWAY_API_KEY: '' };
const run = (...args: readonly string[]) => runMain([...args, '--url', gateway.url], { env });

const withLines = (args: readonly string[], input: string) => runMain(args, { env, input });

describe('the command `run agent`', () => {
  test('prints only the answer, without control characters', async () => {
    const { code, stdout, stderr } = await run('agents', 'run', 'clerk', '--input', 'sequences');
    expect([code, stdout, stderr]).toEqual([0, 'heard sequences after 0\n', '']);
  });

  test('reads the input from stdin, continues a session, and prints JSON', async () => {
    const args = ['agents', 'run', 'clerk', '--input', '-', '--session', 'ada', '--url', gateway.url];
    expect((await withLines(args, 'one\n')).stdout).toBe('heard one after 0\n');
    const { stdout } = await withLines([...args, '--json'], 'two\n');
    expect(JSON.parse(stdout)).toMatchObject({ state: 'done', session: 'ada', name: 'clerk' });
    expect(JSON.parse(stdout).answer).toContain('heard two after 2');
  });

  test('reports a failed or late run, or an unknown agent, with the reason and exit code 1', async () => {
    const [failed, unknown, late, wrong, empty] = await Promise.all([
      run('agents', 'run', 'clerk', '--input', 'broken'),
      run('agents', 'run', 'clark', '--input', 'x'),
      run('agents', 'run', 'desk', '--input', 'for ever', '--wait', '0.5'),
      run('agents', 'run', 'clerk'),
      run('agents', 'run', 'clerk', '--input', ''),
    ]);
    expect([failed.code, failed.stdout]).toEqual([1, '']);
    expect(failed.stderr).toMatch(/^manual:\S+ is failed: .*400/);
    expect([unknown.code, unknown.stderr]).toEqual([1, 'there is no agent "clark"; did you mean clerk?\n']);
    expect([late.code, late.stdout, late.stderr]).toEqual([
      1,
      '',
      expect.stringMatching(/the run continues: "runs show manual:/),
    ]);
    expect([wrong.code, empty.code]).toEqual([2, 2]);
  });

  test('reports a failed attempt immediately on stderr, and prints only the answer on stdout', async () => {
    const { code, stdout, stderr } = await run('agents', 'run', 'clerk', '--input', 'fails once', '--json');
    expect([code, JSON.parse(stdout).answer]).toEqual([0, 'heard fails once after 0']);
    expect(stderr).toMatch(/^[^\n]*503[^\n]*; attempt 2 starts in [\d.]+m?s\n$/);
  });

  test('cancels the run at Ctrl-C', async () => {
    const atWork = async () => (await ask(`${gateway.url}/deliveries?state=running`)).json.deliveries.length;
    const terminal = new Terminal(['agents', 'run', 'desk', '--input', 'slow', '--url', gateway.url], {
      env,
    });
    await eventually('the run', async () => (await atWork()) > 0);
    terminal.type('\u0003');
    await eventually('the end', () => /manual:\S+ is cancelled[\s\S]*ENDED 1/.test(terminal.text));
    expect(await atWork()).toBe(0);
  });

  test('runs an agent from a file without a gateway, and leaves no temporary folder', async () => {
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith('actor-gateway-local-'));
    const { code, stdout, stderr } = await runMain(
      ['agents', 'run', 'desk', '--input', 'hello', '-f', join(folder, 'agent.yaml')],
      { env },
    );
    expect([code, stdout, stderr]).toEqual([0, 'You said hello.\n', '']);
    const after = readdirSync(tmpdir()).filter((name) => name.startsWith('actor-gateway-local-'));
    expect(after.filter((name) => !before.includes(name))).toEqual([]);

    const away = join(folder, 'away.yml');
    const spec = '{runtime: {http: {url: "http://127.0.0.1:9/"}}}';
    writeFileSync(away, `apiVersion: example.com/v1\nkind: Agent\nmetadata: {name: away}\nspec: ${spec}\n`);
    const late = await runMain(['agents', 'run', 'away', '--input', 'x', '-f', away, '--wait', '0.5'], {
      env,
    });
    expect([late.code, late.stdout]).toEqual([1, '']);
    expect(late.stderr).toContain('the run had not ended and stops with this command');
  });

  test('reports an invalid agent file with exit code 2', async () => {
    const file = join(folder, 'wrong.yaml');
    writeFileSync(file, JSON.stringify({ ...desk, spec: { model: 'scripted:nothing.yaml' } }));
    const { code, stderr } = await runMain(['agents', 'run', 'desk', '--input', 'x', '-f', file], { env });
    expect([code, stderr]).toEqual([2, expect.stringContaining('does not exist')]);
  });
});

describe('the command `chat`', () => {
  test('answers each line of stdin in one conversation if stdin is no terminal', async () => {
    const { code, stdout } = await withLines(
      ['agents', 'chat', 'clerk', '--url', gateway.url],
      'one\n\ntwo\n/exit\nthree\n',
    );
    expect([code, stdout]).toEqual([0, 'heard one after 0\nheard two after 2\n']);
  });

  test('shows the growing answer, cancels the run with Ctrl-C, and exits with a second Ctrl-C', async () => {
    const terminal = new Terminal(['agents', 'chat', 'clerk', '--url', gateway.url], { env });
    await eventually('the prompt', () => terminal.text.includes('> '));
    terminal.type('count\r');
    await eventually('the beginning', () => terminal.text.includes('One, '));
    expect(terminal.text).not.toContain('two.');
    agents.sendMore();
    await eventually('the rest', () => terminal.text.includes('One, two.'));
    // Typed ahead: sent after the current run.
    terminal.type('count\r');
    await eventually('another beginning', () => terminal.text.split('One, ').length === 3);
    terminal.type('\u0003');
    await eventually('the end of the run', () => /manual:\S+ is cancelled/.test(terminal.text));
    terminal.type('\u0003');
    await eventually('the end', () => terminal.text.includes('ENDED 0'));
    await eventually('the settings', () => terminal.text.includes('TERMINAL AS BEFORE'));
  });
});

test('the command `chat` queues up to 16 lines that are typed during an answer, and reports further lines as ignored', async () => {
  const terminal = new Terminal(['agents', 'chat', 'clerk', '--url', gateway.url], { env });
  await eventually('the prompt', () => terminal.text.includes('> '));
  terminal.type('count\r');
  await eventually('the beginning', () => terminal.text.includes('One, '));
  terminal.type(Array.from({ length: 17 }, (_, n) => `line ${n}\r`).join(''));
  await eventually('the rejected line', () =>
    terminal.text.includes('ignored: 16 lines are already waiting'),
  );
  agents.sendMore();
  await eventually('the last', () => /> line 15[^\n]*\n[^\n]*heard line 15 after/.test(terminal.text));
  expect(terminal.text).not.toContain('heard line 16');
  terminal.type('\u0004');
  await eventually('the end', () => terminal.text.includes('ENDED 0'));
});

describe('the command `runs`', () => {
  test('lists, shows, cancels and retries runs', async () => {
    const asking = { input: 'for ever', wait_seconds: 10 };
    const [none, unknown, waiting] = await Promise.all([
      run('runs'),
      run('runs', '--state', 'ended'),
      ask(`${gateway.url}/agents/desk/runs`, {
        method: 'POST',
        headers: JSON_BODY,
        body: JSON.stringify(asking),
      }),
    ]);
    expect([none.stdout, unknown.code]).toEqual(['no runs\n', 2]);
    const { id } = waiting.json;
    expect((await run('runs', 'show', id)).stdout).toMatch(/^state +waiting \(timer\)$/m);
    expect((await run('runs', 'cancel', id)).stdout).toBe(`${id} is cancelled\n`);
    const secondRun = await run('runs', 'cancel', id);
    expect([secondRun.code, secondRun.stderr]).toEqual([
      1,
      expect.stringContaining('it cannot be cancelled'),
    ]);
    expect((await run('runs', 'retry', id)).stdout).toMatch(/ is (queued|running|waiting)\n$/);
  });
});
