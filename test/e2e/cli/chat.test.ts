// Agents in the terminal: asked once, talked with line by line, and in a terminal; over the API of a gateway that runs, and on files
// alone. And the runs of a gateway.

import { readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { AskedAgents } from '../../fixtures/agents/asked-agents.ts';
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
let agents: AskedAgents;
let gateway: GatewayProcess;
beforeAll(async () => {
  writeFileSync(join(folder, 'desk.yaml'), JSON.stringify([{ answer: 'You said {{input}}.' }]));
  writeFileSync(join(folder, 'agent.yaml'), JSON.stringify(desk));
  agents = await AskedAgents.start();
  ({ gateway } = agents);
});

const JSON_BODY = { 'content-type': 'application/json' };
const env = { GATEWAY_API_KEY: '' };
const run = (...args: readonly string[]) => runMain([...args, '--url', gateway.url], { env });

const withLines = (args: readonly string[], input: string) => runMain(args, { env, input });

describe('run agent', () => {
  test('prints the answer and nothing else, and nothing that a terminal would obey', async () => {
    const { code, stdout, stderr } = await run('agents', 'run', 'clerk', '--input', 'sequences');
    expect([code, stdout, stderr]).toEqual([0, 'heard sequences after 0\n', '']);
  });

  test('reads what to ask from stdin, goes on in a session, and prints JSON', async () => {
    const args = ['agents', 'run', 'clerk', '--input', '-', '--session', 'ada', '--url', gateway.url];
    expect((await withLines(args, 'one\n')).stdout).toBe('heard one after 0\n');
    const { stdout } = await withLines([...args, '--json'], 'two\n');
    expect(JSON.parse(stdout)).toMatchObject({ state: 'done', session: 'ada', name: 'clerk' });
    expect(JSON.parse(stdout).answer).toContain('heard two after 2');
  });

  test('says why there is no answer, with exit code 1', async () => {
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
      expect.stringMatching(/the run goes on: "runs show manual:/),
    ]);
    expect([wrong.code, empty.code]).toEqual([2, 2]);
  });

  test('says at once why an attempt has failed, and leaves stdout to the answer', async () => {
    const { code, stdout, stderr } = await run('agents', 'run', 'clerk', '--input', 'fails once', '--json');
    expect([code, JSON.parse(stdout).answer]).toEqual([0, 'heard fails once after 0']);
    expect(stderr).toMatch(/^[^\n]*503[^\n]*; attempt 2 begins in [\d.]+m?s\n$/);
  });

  test('cancels its run at Ctrl-C', async () => {
    const atWork = async () => (await ask(`${gateway.url}/deliveries?state=running`)).json.deliveries.length;
    const terminal = new Terminal(['agents', 'run', 'desk', '--input', 'slow', '--url', gateway.url], {
      env,
    });
    await eventually('the run', async () => (await atWork()) > 0);
    terminal.type('\u0003');
    await eventually('the end', () => /manual:\S+ is cancelled[\s\S]*ENDED 1/.test(terminal.text));
    expect(await atWork()).toBe(0);
  });

  test('LOC1: runs an agent of files alone, and leaves nothing behind', async () => {
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
    expect(late.stderr).toContain('the run had not ended, and ends with this command');
  });

  test('says what is wrong with the files, with exit code 2', async () => {
    const file = join(folder, 'wrong.yaml');
    writeFileSync(file, JSON.stringify({ ...desk, spec: { model: 'scripted:nothing.yaml' } }));
    const { code, stderr } = await runMain(['agents', 'run', 'desk', '--input', 'x', '-f', file], { env });
    expect([code, stderr]).toEqual([2, expect.stringContaining('does not exist')]);
  });
});

describe('chat', () => {
  test('answers line by line where there is no terminal, in one conversation', async () => {
    const { code, stdout } = await withLines(
      ['agents', 'chat', 'clerk', '--url', gateway.url],
      'one\n\ntwo\n/exit\nthree\n',
    );
    expect([code, stdout]).toEqual([0, 'heard one after 0\nheard two after 2\n']);
  });

  test('shows the answer as it grows, cancels it with Ctrl-C, and ends with another', async () => {
    const terminal = new Terminal(['agents', 'chat', 'clerk', '--url', gateway.url], { env });
    await eventually('the prompt', () => terminal.text.includes('> '));
    terminal.type('count\r');
    await eventually('the beginning', () => terminal.text.includes('One, '));
    expect(terminal.text).not.toContain('two.');
    agents.sendMore();
    await eventually('the rest', () => terminal.text.includes('One, two.'));
    // Typed ahead, it is asked when the other one is over.
    terminal.type('count\r');
    await eventually('another beginning', () => terminal.text.split('One, ').length === 3);
    terminal.type('\u0003');
    await eventually('the end of the run', () => /manual:\S+ is cancelled/.test(terminal.text));
    terminal.type('\u0003');
    await eventually('the end', () => terminal.text.includes('ENDED 0'));
    await eventually('the settings', () => terminal.text.includes('TERMINAL AS BEFORE'));
  });
});

test('chat shows each line that was typed ahead when its turn comes, and says of which there was no room', async () => {
  const terminal = new Terminal(['agents', 'chat', 'clerk', '--url', gateway.url], { env });
  await eventually('the prompt', () => terminal.text.includes('> '));
  terminal.type('count\r');
  await eventually('the beginning', () => terminal.text.includes('One, '));
  terminal.type(Array.from({ length: 17 }, (_, n) => `line ${n}\r`).join(''));
  await eventually('what is not taken', () => terminal.text.includes('not taken: 16 lines wait already'));
  agents.sendMore();
  await eventually('the last', () => /> line 15[^\n]*\n[^\n]*heard line 15 after/.test(terminal.text));
  expect(terminal.text).not.toContain('heard line 16');
  terminal.type('\u0004');
  await eventually('the end', () => terminal.text.includes('ENDED 0'));
});

describe('runs', () => {
  test('are listed, shown, cancelled and tried again', async () => {
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
    const again = await run('runs', 'cancel', id);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('there is nothing to cancel')]);
    expect((await run('runs', 'retry', id)).stdout).toMatch(/ is (queued|running|waiting)\n$/);
  });
});
