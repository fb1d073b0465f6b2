// Store export and import, from a file into a database and back: paused triggers, held events, questions and
// history are kept. Also an import that is killed, a full disk, and a backup during operation.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { RecordWriter } from '../../../actors/store/export/file-format.ts';
import { type ExportRow, exportedTables } from '../../../actors/store/export/tables.ts';
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

test.each(['SQLite', 'PostgreSQL'])(
  'a backup of a store in use (%s) contains every acknowledged event and restores',
  async (engine) => {
    const program = await startAgent(() => ({ text: 'heard' }));
    const resources = [trigger('desk', hooks('desk')), httpAgent('desk', program.url)];
    const settings =
      engine === 'SQLite'
        ? {}
        : { store: { postgres: { url: await newDatabase() } }, node: { name: 'busy' } };
    const gateway = await startAutomation({ resources, settings });
    const say = (name: string) =>
      postHook(gateway.url, '/hooks/desk', { c: name, text: 'x'.repeat(2_000) }, { 'idempotency-key': name });
    const acknowledged: string[] = [];
    let isBusy = true;
    const senders = Array.from({ length: 4 }, async (_, sender) => {
      for (let n = 0; isBusy; n += 1) {
        const name = `event-${sender}-${n}`;
        if ((await say(name)).status === 202) acknowledged.push(name);
      }
    });
    await eventually(() => expect(acknowledged.length).toBeGreaterThan(20));
    const before = [...acknowledged];
    const file = join(gateway.folder, 'backup.ndjson');
    const config = join(gateway.folder, 'gateway.yaml');
    const backup = await runMain(['store', 'backup', '--config', config, '--to', file]);
    isBusy = false;
    await Promise.all(senders);
    expect(backup).toMatchObject({ code: 0, stderr: '' });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(gateway.folder).filter((name) => name.includes('backup'))).toEqual(['backup.ndjson']);
    await gateway.stop();

    const restored = await startAutomation({ resources });
    await restored.stop();
    const to = join(restored.folder, 'gateway.yaml');
    expect(await runMain(['store', 'import', '--config', to, '--from', file])).toMatchObject({ code: 0 });
    const again = await startAutomation({ folder: restored.folder });
    for (const name of before) {
      const path = `/deliveries/${encodeURIComponent(`http:desk/${name}`)}`;
      expect((await ask(`${again.url}${path}`)).status, name).toBe(200);
    }
    await again.stop();
  },
);

test('a store moved from a file into PostgreSQL and back behaves as after a restart', async () => {
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
  const expectState = (text: string, state: object) =>
    eventually(async () => expect(await record(text)).toMatchObject(state));
  const cli = (verb: string, ...args: string[]) =>
    runMain(['store', verb, '--config', join(folder, 'gateway.yaml'), ...args]);
  const file = join(folder, 'store.ndjson');

  expect(await say('first')).toBe(202);
  await expectState('first', { state: 'done' });
  expect(await say('no use')).toBe(202);
  await expectState('no use', { state: 'dead' });
  const run = (await post('/triggers/ops/run', { command: 'deploy', text: 'it' })).json.id as string;
  const approval = await eventually(async () => {
    const { approvals } = (await get('/approvals')) as { approvals: { id: string }[] };
    expect(approvals).toHaveLength(1);
    return approvals[0]?.id as string;
  });
  await post('/triggers/desk/pause');
  for (const text of ['second', 'third']) expect(await say(text)).toBe(202);
  await expectState('second', { state: 'held' });
  const before = program.requests.length;

  // A store in use cannot be exported.
  expect(await cli('export', '--to', file)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('belongs to a running gateway'),
  });
  expect(existsSync(file)).toBe(false);
  await gateway.stop();

  const exported = await cli('export', '--to', file);
  expect(exported).toMatchObject({ code: 0, stderr: '' });
  expect(exported.stdout).toMatch(/store\.ndjson contains all of .*store\.sqlite: \d+ events, /);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const written = readFileSync(file);
  expect((await cli('export', '--to', file)).stderr).toContain('already exists; add --force to replace it');
  expect((await cli('export', '--to', file, '--force')).code).toBe(0);
  // Exports differ by their time only.
  expect(readFileSync(file).length).toBeCloseTo(written.length, -2);

  writeConfiguration(folder, { settings: inPostgres });
  const imported = await cli('import', '--from', file, '--json');
  expect(imported).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(imported.stdout)).toMatchObject({ ok: true, counts: { approval: 1 } });
  expect(await cli('import', '--from', file)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /the store in the database is not empty \(\d+ in delivery, .*use another database/,
    ),
  });

  const expectContinues = async (paused: readonly string[], text: string) => {
    expect(await get('/triggers/desk')).toMatchObject({ state: 'paused' });
    for (const held of paused)
      expect(await record(held)).toMatchObject({ state: expect.stringMatching(/held|queued/) });
    // An event that was already handled.
    expect(await say('first')).toBe(200);
    expect(await say(text)).toBe(202);
    expect(program.requests).toHaveLength(before);
  };
  gateway = await startAutomation({ folder, settings: inPostgres });
  await expectContinues(['second', 'third'], 'fourth');
  expect(await record('no use')).toMatchObject({ state: 'dead', attempts: 1 });
  expect((await get('/approvals')) as object).toMatchObject({
    approvals: [{ id: approval, state: 'pending' }],
  });
  // The database names the active gateway, although the folder is a different one.
  const other = temporaryFolder();
  writeConfiguration(other, { settings: inPostgres });
  for (const args of [
    ['export', '--to', join(other, 'x')],
    ['import', '--from', file],
  ])
    expect(await runMain(['store', ...args], { cwd: other })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('gateways use the database (north); stop them'),
    });
  await gateway.stop();

  // Back into a file, through a pipe.
  const out = await runMain(['store', 'export', '--config', join(folder, 'gateway.yaml'), '--to', '-']);
  expect(out.stderr).toContain('stdout contains all of the database of store.postgres: ');
  expect(out.stdout).not.toContain(url);
  const last = temporaryFolder();
  await startAutomation({ folder: last, resources }).then((running) => running.stop());
  const piped = await runMain(['store', 'import', '--from', '-'], { cwd: last, input: out.stdout });
  expect(piped).toMatchObject({ code: 0, stderr: '' });

  gateway = await startAutomation({ folder: last });
  await expectContinues(['second', 'third', 'fourth'], 'fifth');
  await post('/triggers/desk/resume');
  for (const text of ['second', 'third', 'fourth', 'fifth']) await expectState(text, { state: 'done' });
  const inputs = program.requests.slice(before).map(({ body }) => body.input);
  expect(
    inputs.map((input) => ['second', 'third', 'fourth', 'fifth'].findIndex((word) => input.includes(word))),
  ).toEqual([0, 1, 2, 3]);
  expect(await post(`/approvals/${encodeURIComponent(approval)}/approve`, { by: 'ben' })).toMatchObject({
    status: 200,
  });
  await eventually(async () =>
    expect(await get(`/runs/${encodeURIComponent(run)}`)).toMatchObject({ state: 'done' }),
  );
  await gateway.stop();
});

/** Writes an export with this number of events and bytes per body. */
async function largeExport(path: string, events: number, bytes: number): Promise<void> {
  const parts: string[] = [];
  const now = Date.now();
  const writer = new RecordWriter(async (part) => void parts.push(part), now);
  await writer.begin({ madeBy: 'a test', at: '', engine: 'sqlite', counter: 7, lastSeq: events });
  const [delivery, body] = exportedTables;
  if (delivery === undefined || body === undefined) throw new Error('there are no tables');
  for (const table of [delivery, body])
    for (let seq = 1; seq <= events; seq += 1) {
      const row: ExportRow = {
        seq,
        id: `e:${seq}`,
        key: `k/${seq % 10}`,
        trace: '',
        state: 0,
        attempts: 0,
        crashes: 0,
        deferrals: 0,
        at: now,
        meta: '{}',
        body: new Uint8Array(bytes).fill(seq),
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

test('an import that is killed or truncated leaves the store empty, in a file and in a database', async () => {
  const path = join(temporaryFolder(), 'large.ndjson');
  await largeExport(path, 300, 200_000);
  const text = readFileSync(path);
  for (const settings of [{}, { store: { postgres: { url: await newDatabase() } }, node: { name: 'n' } }])
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const folder = temporaryFolder();
      writeConfiguration(folder, { settings });
      const child = importing(folder);
      let output = '';
      child.stderr?.on('data', (part) => {
        output += part;
      });
      const exit = once(child, 'close');
      // More than every cache's capacity.
      await new Promise((done) => child.stdin?.write(text.subarray(0, Math.floor(text.length * 0.9)), done));
      await elapse(500);
      child.kill(signal);
      const [code] = await exit;
      started.delete(child);
      expect(code).toBe(signal === 'SIGKILL' ? null : 1);
      if (signal === 'SIGTERM')
        expect(output).toMatch(/^(?:\d+ {2}MB: bodies\n)*interrupted by SIGTERM; nothing was transferred\n$/);
      const args = ['store', 'export', '--to', 'now.ndjson', '--json'];
      const imported = await runMain(args, { cwd: folder });
      expect(JSON.parse(imported.stdout)).toMatchObject({ counts: { delivery: 0, body: 0 } });
      if (signal === 'SIGTERM')
        expect(await runMain(['store', 'import', '--from', path], { cwd: folder })).toMatchObject({
          code: 0,
        });
    }
});

test.runIf(process.platform === 'linux')(
  'an export to a full disk reports the error and leaves no file',
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
    const streams = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].on('data', (part) => {
        streams[name] += part;
      });
    await once(child, 'close');
    expect(streams).toEqual({
      stdout: 'code 1\n',
      stderr: 'small/x cannot be written: its disk is full (ENOSPC); nothing was changed\n',
    });
    // The store is intact.
    expect((await runMain(['store', 'export', '--to', 'again'], { cwd: folder })).code).toBe(0);
    expect(readdirSync(folder).filter((name) => name.includes('.tmp'))).toEqual([]);
  },
);

test('the command `store` reports wrong usage and files that are not exports', async () => {
  const folder = temporaryFolder();
  writeConfiguration(folder, {});
  const expectUsageError = async (...args: string[]) => {
    const { code, stderr } = await runMain(['store', ...args], { cwd: folder });
    return [code, stderr];
  };
  expect(await expectUsageError()).toEqual([
    2,
    expect.stringMatching(/^Usage: .* store .*export .*import /s),
  ]);
  expect(await expectUsageError('export')).toEqual([
    2,
    expect.stringContaining("required option '--to <file>'"),
  ]);
  expect(await expectUsageError('import')).toEqual([
    2,
    expect.stringContaining("required option '--from <file>'"),
  ]);
  expect(await expectUsageError('export', '--to', '-', '--json')).toEqual([
    2,
    expect.stringContaining('--json and --to - both write to stdout'),
  ]);
  expect(await expectUsageError('export', '--to', 'x')).toEqual([
    1,
    expect.stringMatching(/^no store at .*store\.sqlite: nothing to export\n$/),
  ]);
  expect(readdirSync(folder)).not.toContain('.gateway');
  expect(await expectUsageError('export', '--to', '.')).toEqual([
    1,
    '. already exists; add --force to replace it, if it is a file\n',
  ]);
  expect(await expectUsageError('import', '--from', 'nowhere')).toEqual([
    1,
    'nowhere cannot be read (ENOENT)\n',
  ]);
  expect(await expectUsageError('import', '--from', 'gateway.yaml')).toEqual([
    1,
    'the file ends in the middle of line 1\n',
  ]);
  expect(await expectUsageError('import', '--from', '.', '--config', 'none.yaml')).toEqual([
    2,
    expect.stringContaining('none.yaml'),
  ]);
});
