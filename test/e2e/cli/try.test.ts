// `npm run try -- NAME`: chat in the terminal with a local platform, a gateway and an agent. The script
// leaves nothing on the machine.

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { localChats } from '../../fixtures/chats/local-chats.ts';
import { eventually } from '../../fixtures/clients/api-client.ts';
import { Terminal } from '../../fixtures/clients/terminal.ts';

const script = resolve(import.meta.dirname, '../../../scripts/try.mjs');
const folders = new Set<string>();
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Temporary folder of the script. It must be empty afterwards. */
function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tries-'));
  folders.add(folder);
  return folder;
}

async function runWithLines(args: readonly string[], lines: readonly string[]) {
  const folder = scratch();
  const child = spawn(process.execPath, [script, ...args], { env: { ...process.env, TMPDIR: folder } });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  child.stdin.end(lines.map((line) => `${line}\n`).join(''));
  const code = await new Promise((done) => child.once('close', done));
  return { code, output, left: readdirSync(folder) };
}

const isServed = (url: string) =>
  fetch(`${url}/health`).then(
    () => true,
    () => false,
  );
const addressIn = (text: string) => /http:\S+(?=\/inspector)/.exec(text)?.[0] ?? '';

test.concurrent.each(Object.keys(localChats))(
  'lines piped into the local chat %s are sent as messages, and the visible messages are drawn',
  async (name) => {
    const lines = ['hello', '#2', 'ship it', '/deploy prod 2.4.1', '/place Bob', 'some code'];
    const { code, output, left } = await runWithLines([name], [...lines, '/who']);
    expect(left).toEqual([]);
    expect([code, output]).toEqual([0, expect.anything()]);
    for (const pattern of [
      /^Ada> hello$/m,
      /^│ .*Hello!/m,
      /^│ .*\[#1 Some code\] \[#2 A release\] \[#3 Patience\]$/m,
      /^Ada> #2$[\s\S]*Release 2\.4\.1[\s\S]*4,211 passed[\s\S]*\[#1 Ship it\] \[#2 Drop it\][\s\S]*^Ada> ship it$/m,
      /^Ada> ship it$[\s\S]*Shipped\. 🚀[\s\S]*^Ada> \/deploy/mu,
      /Deployed 2\.4\.1 to prod\./,
      /^Bob> some code$[\s\S]*```yaml\n.*match: [\s\S]*```/m,
      /^You are Bob, /m,
    ])
      expect(output).toMatch(pattern);
    expect(output).not.toContain('\u001b');
    expect(await isServed(addressIn(output))).toBe(false);
  },
);

test.concurrent('/help in a local chat lists the commands of the chat, and a command accepts values by name', async () => {
  const { output } = await runWithLines(['CommunityChat'], ['/help', '/agent action:run input:hello']);
  expect(output).toMatch(/^ {2}\/agent ACTION AGENT_ID INPUT +Ask an agent/m);
  expect(output).toMatch(/^│ .*Hello!/m);
});

test.concurrent('an unknown name of a local chat is rejected with a list of the known names, which --help also prints', async () => {
  const [wrong, help] = await Promise.all([runWithLines(['nochat'], []), runWithLines(['--help'], [])]);
  expect([wrong.code, help.code]).toEqual([2, 0]);
  expect(wrong.output).toContain('unknown chat "nochat"');
  for (const { output, left } of [wrong, help]) {
    for (const name of Object.keys(localChats)) expect(output).toContain(`  ${name}\n`);
    expect(left).toEqual([]);
  }
});

test.concurrent('all processes of a local chat exit when the output pipe is closed', async () => {
  const folder = scratch();
  const child = spawn(process.execPath, [script, 'botmessenger'], {
    env: { ...process.env, TMPDIR: folder },
  });
  const exit = new Promise((done) => child.once('close', done));
  let output = '';
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    complaints += chunk;
  });
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  await eventually('it has begun', () => output.includes('/help lists the rest'));
  child.stdout.destroy();
  child.stdin.write('hello\n');
  expect([await exit, complaints]).toEqual([0, '']);
  expect(readdirSync(folder)).toEqual([]);
  expect(await isServed(addressIn(output))).toBe(false);
});

test.concurrent('a local chat removes processes and files that a killed local chat left, but not those of a running one', async () => {
  const folder = scratch();
  const begin = async () => {
    const child = spawn(process.execPath, [script, 'botmessenger'], {
      env: { ...process.env, TMPDIR: folder },
    });
    const exit = new Promise((done) => child.once('close', done));
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
    await eventually('it has begun', () => output.includes('/help lists the rest'));
    return { child, ended: exit, url: addressIn(output) };
  };
  const [killed, other] = await Promise.all([begin(), begin()]);
  mkdirSync(join(folder, 'actor-gateway-try-of-nobody'));
  expect(readdirSync(folder)).toHaveLength(3);
  killed.child.kill('SIGKILL');
  await killed.ended;
  const next = await begin();
  expect(readdirSync(folder)).toHaveLength(3);
  expect(await Promise.all([killed, other, next].map(({ url }) => isServed(url)))).toEqual([
    false,
    true,
    true,
  ]);
  for (const { child, ended } of [other, next]) {
    child.stdin.end();
    await ended;
  }
  expect(readdirSync(folder)).toEqual(['actor-gateway-try-of-nobody']);
});

test.concurrent('a local chat in a terminal has colours and a prompt, and Ctrl-C stops all its processes', async () => {
  const folder = scratch();
  const terminal = new Terminal(['botmessenger'], { script, env: { TMPDIR: folder } });
  const waitForText = (pattern: RegExp) => eventually(`${pattern}`, () => pattern.test(terminal.text));
  await waitForText(/Ada> /);
  terminal.type('hello\r');
  await waitForText(/␛\[1mSome code␛\[0m/);
  terminal.type('Some code\r');
  await waitForText(/␛\[33m.*match: /);
  const url = addressIn(terminal.text);
  expect(await isServed(url)).toBe(true);
  // During an answer.
  terminal.type('patience\r');
  terminal.type('\u0003');
  await terminal.waitForExit();
  expect(terminal.text).toMatch(/ENDED 0\s+TERMINAL AS BEFORE/);
  expect(await isServed(url)).toBe(false);
  expect(readdirSync(folder)).toEqual([]);
});

test.concurrent('the local model answers the example agents, and exits on a signal', async () => {
  const root = resolve(import.meta.dirname, '../../..');
  const folder = scratch();
  const env = { ...process.env, TMPDIR: folder };
  const child = spawn(process.execPath, [script, 'model', '--port', '0'], { env });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  await eventually('it listens', () => /http:\S+\/v1/.test(output));
  const LOCAL_MODEL_URL = /http:\S+\/v1/.exec(output)?.[0];
  const main = join(resolve(root, process.env.ACTOR_GATEWAY_DIST ?? 'dist'), 'main.js');
  const question = ['agents', 'run', 'helper', '--input', 'what does hello.txt say?'];
  const files = ['-f', 'examples/assistants/helper.yaml', '--config', 'examples/assistant-automation.yaml'];
  const asking = spawn(process.execPath, [main, ...question, ...files], {
    cwd: root,
    env: { ...env, MODEL: 'local:stand-in', LOCAL_MODEL_URL },
  });
  let answer = '';
  for (const stream of [asking.stdout, asking.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      answer += chunk;
    });
  const code = await new Promise((done) => asking.once('close', done));
  expect([code, answer]).toEqual([0, expect.stringContaining('served by the example filesystem server.')]);
  expect(output).toMatch(/calls read_text_file \{"path":"hello\.txt"\}[\s\S]*says "By my rules/);
  child.kill('SIGTERM');
  expect(await new Promise((done) => child.once('close', done))).toBe(0);
  expect(readdirSync(folder)).toEqual([]);
});
