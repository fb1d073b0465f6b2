// A gateway's store moved by the two commands, from its file into a database and back into a file: what was paused, held, asked and
// done before goes on there. And a move that is killed, has no room, or comes at the wrong time.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { movedTables, type Row } from '../../../actors/store/moved/moved-tables.ts';
import { RecordWriter } from '../../../actors/store/moved/record-file.ts';
import {
  eventually,
  httpAgent,
  postHook,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import {
  type GatewayProcess,
  temporaryFolder,
  writeConfiguration,
} from '../../fixtures/gateway/gateway-process.ts';
import { mainFile, runMain } from '../../fixtures/gateway/run-main.ts';
import { newDatabase } from '../../fixtures/store/shared-postgres.ts';

const hooks = (name: string) => ({
  type: 'HTTP',
  config: { path: `/hooks/${name}`, webhook_secret: SECRET, key: 'body:c' },
  default_agent: name,
});

test('a store is moved from a file into PostgreSQL and back, and the gateway goes on as if it had only been restarted', async () => {
  const program = await startAgent(({ body }) =>
    body.input.includes('no use') ? { status: 400 } : { text: `heard: ${body.input}` },
  );
  const command = { agent: 'desk', requires_approval: true, approvers: ['ben'] };
  const resources = [
    trigger('desk', hooks('desk')),
    trigger('ops', { type: 'Manual', config: {}, commands: { deploy: command } }),
    httpAgent('desk', program.url),
  ];
  const url = await newDatabase();
  const inPostgres = { store: { postgres: { url } }, node: { name: 'north' } };
  let gateway: GatewayProcess = await startAutomation({ resources });
  const { folder } = gateway;
  const say = async (text: string) =>
    (await postHook(gateway.url, '/hooks/desk', { c: 'one', text }, { 'idempotency-key': text })).status;
  const get = async (path: string) => (await ask(`${gateway.url}${path}`)).json;
  const post = (path: string, body: object = {}) =>
    ask(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const record = (text: string) => get(`/deliveries/${encodeURIComponent(`http:desk/${text}`)}`);
  const becomes = (text: string, state: object) =>
    eventually(async () => expect(await record(text)).toMatchObject(state));
  const cli = (verb: string, ...args: string[]) =>
    runMain(['store', verb, '--config', join(folder, 'gateway.yaml'), ...args]);
  const file = join(folder, 'store.ndjson');

  expect(await say('first')).toBe(202);
  await becomes('first', { state: 'done' });
  expect(await say('no use')).toBe(202);
  await becomes('no use', { state: 'dead' });
  const run = (await post('/triggers/ops/run', { command: 'deploy', text: 'it' })).json.id as string;
  const asked = await eventually(async () => {
    const { approvals } = (await get('/approvals')) as { approvals: { id: string }[] };
    expect(approvals).toHaveLength(1);
    return approvals[0]?.id as string;
  });
  await post('/triggers/desk/pause');
  for (const text of ['second', 'third']) expect(await say(text)).toBe(202);
  await becomes('second', { state: 'held' });
  const before = program.requests.length;

  // While a gateway runs nothing is moved.
  expect(await cli('export', '--to', file)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('belongs to a running gateway'),
  });
  expect(existsSync(file)).toBe(false);
  await gateway.stop();

  const exported = await cli('export', '--to', file);
  expect(exported).toMatchObject({ code: 0, stderr: '' });
  expect(exported.stdout).toMatch(/store\.ndjson has all of .*store\.sqlite: \d+ events, /);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const written = readFileSync(file);
  expect((await cli('export', '--to', file)).stderr).toContain('is there already; --force replaces it');
  expect((await cli('export', '--to', file, '--force')).code).toBe(0);
  // A second one says the same, but for the time that has passed.
  expect(readFileSync(file).length).toBeCloseTo(written.length, -2);

  writeConfiguration(folder, { settings: inPostgres });
  const imported = await cli('import', '--from', file, '--json');
  expect(imported).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(imported.stdout)).toMatchObject({ ok: true, counts: { approval: 1 } });
  expect(await cli('import', '--from', file)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /the store in the database is not empty \(\d+ in delivery, .*nothing is mixed/,
    ),
  });

  const goesOn = async (paused: readonly string[], text: string) => {
    expect(await get('/triggers/desk')).toMatchObject({ state: 'paused' });
    for (const held of paused)
      expect(await record(held)).toMatchObject({ state: expect.stringMatching(/held|queued/) });
    // It is known, and was handled.
    expect(await say('first')).toBe(200);
    expect(await say(text)).toBe(202);
    expect(program.requests).toHaveLength(before);
  };
  gateway = await startAutomation({ folder, settings: inPostgres });
  await goesOn(['second', 'third'], 'fourth');
  expect(await record('no use')).toMatchObject({ state: 'dead', attempts: 1 });
  expect((await get('/approvals')) as object).toMatchObject({ approvals: [{ id: asked, state: 'pending' }] });
  // Of the other one this is no folder: the database knows who works on it.
  const other = temporaryFolder();
  writeConfiguration(other, { settings: inPostgres });
  for (const args of [
    ['export', '--to', join(other, 'x')],
    ['import', '--from', file],
  ])
    expect(await runMain(['store', ...args], { cwd: other })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('gateways work on the database (north); stop them'),
    });
  await gateway.stop();

  // And back into a file, without a file in between.
  const out = await runMain(['store', 'export', '--config', join(folder, 'gateway.yaml'), '--to', '-']);
  expect(out.stderr).toContain('stdout has all of the database of store.postgres: ');
  expect(out.stdout).not.toContain(url);
  const last = temporaryFolder();
  await startAutomation({ folder: last, resources }).then((made) => made.stop());
  const piped = await runMain(['store', 'import', '--from', '-'], { cwd: last, input: out.stdout });
  expect(piped).toMatchObject({ code: 0, stderr: '' });

  gateway = await startAutomation({ folder: last });
  await goesOn(['second', 'third', 'fourth'], 'fifth');
  await post('/triggers/desk/resume');
  for (const text of ['second', 'third', 'fourth', 'fifth']) await becomes(text, { state: 'done' });
  const inputs = program.requests.slice(before).map(({ body }) => body.input);
  expect(
    inputs.map((input) => ['second', 'third', 'fourth', 'fifth'].findIndex((word) => input.includes(word))),
  ).toEqual([0, 1, 2, 3]);
  expect(await post(`/approvals/${encodeURIComponent(asked)}/approve`, { by: 'ben' })).toMatchObject({
    status: 200,
  });
  await eventually(async () =>
    expect(await get(`/runs/${encodeURIComponent(run)}`)).toMatchObject({ state: 'done' }),
  );
  await gateway.stop();
});

/** A store of so many events, each with a body of so many bytes. */
async function largeExport(path: string, events: number, bytes: number): Promise<void> {
  const parts: string[] = [];
  const now = Date.now();
  const writer = new RecordWriter(async (part) => void parts.push(part), now);
  await writer.begin({ madeBy: 'a test', at: '', engine: 'sqlite', counter: 7, lastSeq: events });
  const [delivery, body] = movedTables;
  if (delivery === undefined || body === undefined) throw new Error('there are no tables');
  for (const table of [delivery, body])
    for (let seq = 1; seq <= events; seq += 1) {
      const row: Row = {
        ...{ seq, id: `e:${seq}`, key: `k/${seq % 10}`, trace: '', state: 0, attempts: 0, crashes: 0 },
        ...{ deferrals: 0, at: now, meta: '{}', body: new Uint8Array(bytes).fill(seq) },
      };
      const own = table.columns.map(({ name }) => [name, row[name] ?? null] as const);
      await writer.add({ table, row: Object.fromEntries(own) });
    }
  await writer.end();
  writeFileSync(path, parts.join(''));
}

const started = new Set<ChildProcess>();
afterAll(() => {
  for (const child of started) child.kill('SIGKILL');
});

function importing(folder: string): ChildProcess {
  const child = spawn(process.execPath, [mainFile, 'store', 'import', '--from', '-'], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  started.add(child);
  child.stdin?.on('error', () => {});
  return child;
}

test('an import that is killed or ended in its middle leaves the store as empty as it was, in a file and in a database (MVC1)', async () => {
  const path = join(temporaryFolder(), 'large.ndjson');
  await largeExport(path, 300, 200_000);
  const text = readFileSync(path);
  for (const settings of [{}, { store: { postgres: { url: await newDatabase() } }, node: { name: 'n' } }])
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const folder = temporaryFolder();
      writeConfiguration(folder, { settings });
      const child = importing(folder);
      let said = '';
      child.stderr?.on('data', (part) => {
        said += part;
      });
      const exit = once(child, 'close');
      // Beyond what any cache of it holds.
      await new Promise((done) => child.stdin?.write(text.subarray(0, Math.floor(text.length * 0.9)), done));
      await elapse(500);
      child.kill(signal);
      const [code] = await exit;
      started.delete(child);
      expect(code).toBe(signal === 'SIGKILL' ? null : 1);
      if (signal === 'SIGTERM')
        expect(said).toMatch(/^(?:\d+ {2}MB: bodies\n)*ended by SIGTERM; nothing was moved\n$/);
      const args = ['store', 'export', '--to', 'now.ndjson', '--json'];
      const left = await runMain(args, { cwd: folder });
      expect(JSON.parse(left.stdout)).toMatchObject({ counts: { delivery: 0, body: 0 } });
      if (signal === 'SIGTERM')
        expect(await runMain(['store', 'import', '--from', path], { cwd: folder })).toMatchObject({
          code: 0,
        });
    }
});

test.runIf(process.platform === 'linux')(
  'a disk without room for the file is said, and nothing is left on it (MVW1)',
  async () => {
    const folder = temporaryFolder();
    writeConfiguration(folder, {});
    const path = join(folder, 'large.ndjson');
    await largeExport(path, 20, 200_000);
    expect(await runMain(['store', 'import', '--from', path], { cwd: folder })).toMatchObject({ code: 0 });
    const command = `mount -t tmpfs -o size=1m tmpfs ${folder}/small && '${process.execPath}' '${mainFile}' store export --to small/x; echo "code $?"; ls -A small`;
    const child = spawn('unshare', ['--map-root-user', '--mount', 'sh', '-c', `mkdir small; ${command}`], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].on('data', (part) => {
        said[name] += part;
      });
    await once(child, 'close');
    expect(said).toEqual({
      stdout: 'code 1\n',
      stderr: 'small/x cannot be written: there is no room on its disk (ENOSPC); nothing was changed\n',
    });
    // The store has not suffered.
    expect((await runMain(['store', 'export', '--to', 'again'], { cwd: folder })).code).toBe(0);
    expect(readdirSync(folder).filter((name) => name.includes('.tmp'))).toEqual([]);
  },
);

test('wrong usage and files that are no exports are said in plain words', async () => {
  const folder = temporaryFolder();
  writeConfiguration(folder, {});
  const said = async (...args: string[]) => {
    const { code, stderr } = await runMain(['store', ...args], { cwd: folder });
    return [code, stderr];
  };
  expect(await said()).toEqual([2, expect.stringMatching(/^Usage: .* store .*export .*import /s)]);
  expect(await said('export')).toEqual([2, expect.stringContaining("required option '--to <file>'")]);
  expect(await said('import')).toEqual([2, expect.stringContaining("required option '--from <file>'")]);
  expect(await said('export', '--to', '-', '--json')).toEqual([
    2,
    expect.stringContaining('--json prints on stdout'),
  ]);
  expect(await said('export', '--to', 'x')).toEqual([
    1,
    expect.stringMatching(/^there is no store .*store\.sqlite: nothing can be exported\n$/),
  ]);
  expect(readdirSync(folder)).not.toContain('.gateway');
  expect(await said('export', '--to', '.')).toEqual([
    1,
    '. is there already; --force replaces it, if it is a file\n',
  ]);
  expect(await said('import', '--from', 'nowhere')).toEqual([1, 'nowhere cannot be read (ENOENT)\n']);
  expect(await said('import', '--from', 'gateway.yaml')).toEqual([
    1,
    'the file ends in the middle of line 1\n',
  ]);
  expect(await said('import', '--from', '.', '--config', 'none.yaml')).toEqual([
    2,
    expect.stringContaining('none.yaml'),
  ]);
});
