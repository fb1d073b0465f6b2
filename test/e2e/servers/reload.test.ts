// POST /admin/reload and SIGHUP: the gateway applies the differences of the catalog, and rejects an invalid
// catalog. For each HTTP engine, with the built program.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  apiServer,
  ask,
  call,
  EventReader,
  eventually,
  initialize,
  introduction,
  latch,
  message,
  post,
  rpc,
} from '../../fixtures/clients/api-client.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { httpEnginesInTurn } from '../../fixtures/gateway/http-engines.ts';

const textOf = (answer: { json: { result: { content: { text: string }[] } } }) =>
  answer.json.result.content[0]?.text;

describe.each(httpEnginesInTurn)('catalog reloads on %s', (http) => {
  let gateway: GatewayProcess;
  let url: string;
  const unchangedServer = apiServer({ env: { NAME: 'kept' } });
  const old = apiServer({ env: { NAME: 'old' } });
  const young = apiServer({ env: { NAME: 'young' } });
  const doomed = apiServer({ env: { NAME: 'doomed' } });

  beforeEach(async () => {
    gateway = await startGateway({
      http,
      // Longer than every call in this test.
      settings: { shutdown_seconds: 60 },
      servers: { kept: unchangedServer, changing: old, doomed },
    });
    url = gateway.url;
    return async () => {
      await gateway.stop('SIGKILL');
    };
  });

  const reload = () => ask(`${url}/admin/reload`, { method: 'POST', body: 'whatever' });

  test('a catalog reload returns the added, changed, removed and unchanged servers; a second one reports no change', async () => {
    gateway.writeCatalog({ fresh: unchangedServer, changing: young, kept: unchangedServer });
    const answer = await reload();
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      added: ['fresh'],
      changed: ['changing'],
      removed: ['doomed'],
      unchanged: ['kept'],
    });
    const secondResponse = await reload();
    expect(secondResponse.json).toEqual({
      added: [],
      changed: [],
      removed: [],
      unchanged: ['fresh', 'changing', 'kept'],
    });
    const ids = (await ask(`${url}/servers`)).json.servers.map(({ id }: { id: string }) => id);
    expect(ids).toEqual(['fresh', 'changing', 'kept']);
    expect((await ask(`${url}/servers/doomed`)).status).toBe(404);
    expect(textOf(await rpc(url, 'fresh', call('name')))).toBe('kept');
  });

  test('a catalog reload changes nothing if the catalog differs only in its formatting', async () => {
    const turned = Object.fromEntries(Object.entries(unchangedServer).reverse());
    writeFileSync(
      join(gateway.folder, 'catalog.yaml'),
      `# a comment\n${JSON.stringify({ servers: { doomed, changing: { ...old, enabled: true }, kept: turned } }, null, 2)}`,
    );
    const { json } = await reload();
    expect(json).toEqual({ added: [], changed: [], removed: [], unchanged: ['doomed', 'changing', 'kept'] });
  });

  test('a catalog reload keeps processes, sessions, streams and running calls of unchanged servers', async () => {
    const address = `${url}/mcp/kept`;
    const session = await initialize(address);
    const aggregate = await initialize(`${url}/mcp`);
    const stream = new EventReader(address, { headers: session });
    await stream.opened();
    const pid = textOf(await post(address, call('pid'), session));
    const gate = latch();
    const pending = post(address, call('hold', { until: gate.path }), session);
    await eventually('the call', async () => (await ask(`${url}/servers/kept`)).json.in_flight === 1);
    gateway.writeCatalog({ kept: unchangedServer, changing: young });
    expect((await reload()).status).toBe(200);
    gate.open();
    expect(textOf(await pending)).toBe('held');
    expect(textOf(await post(address, call('pid'), session))).toBe(pid);
    expect(textOf(await post(`${url}/mcp`, call('kept__pid'), aggregate))).toBe(pid);
    expect(stream.isOver).toBe(false);
    stream.drop();
  });

  test('a reload lets running calls of a changed server finish in the old process; new calls use the new one', async () => {
    const address = `${url}/mcp/changing`;
    const session = await initialize(address);
    const oldPid = textOf(await post(address, call('pid'), session));
    const gate = latch();
    const pending = post(address, call('hold', { until: gate.path }), session);
    await eventually('the call', async () => (await ask(`${url}/servers/changing`)).json.in_flight === 1);
    gateway.writeCatalog({ kept: unchangedServer, changing: young, doomed });
    expect((await reload()).json.changed).toEqual(['changing']);
    expect(textOf(await post(address, call('name'), session))).toBe('young');
    expect(() => process.kill(Number(oldPid), 0)).not.toThrow();
    gate.open();
    expect(textOf(await pending)).toBe('held');
    await eventually('the end of the old process', () => {
      try {
        return !process.kill(Number(oldPid), 0);
      } catch {
        return true;
      }
    });
    expect(textOf(await post(address, call('name'), session))).toBe('young');
  });

  test('a reload that removes a server ends its sessions (404) and running calls, and removes its tools at /mcp', async () => {
    const address = `${url}/mcp/doomed`;
    const session = await initialize(address);
    const aggregate = await initialize(`${url}/mcp`);
    const listening = new EventReader(`${url}/mcp`, { headers: aggregate });
    await listening.opened();
    const pid = Number(textOf(await post(address, call('pid'), session)));
    const gate = latch();
    const pending = post(address, call('hold', { until: gate.path }), session);
    await eventually('the call', async () => (await ask(`${url}/servers/doomed`)).json.in_flight === 1);
    gateway.writeCatalog({ kept: unchangedServer });
    expect((await reload()).json.removed).toEqual(['changing', 'doomed']);
    await listening.until('its log line', ({ messages }) =>
      messages.some(({ json }) => json.method === 'notifications/tools/list_changed'),
    );
    gate.open();
    expect(textOf(await pending)).toBe('held');
    await eventually(
      'the end of the session',
      async () => (await post(address, message('ping'), session)).status === 404,
    );
    const { tools } = (await post(`${url}/mcp`, message('tools/list'), aggregate)).json.result;
    expect(tools.filter(({ name }: { name: string }) => !name.startsWith('kept__'))).toEqual([]);
    expect((await rpc(url, 'doomed', call('echo'))).status).toBe(404);
    await eventually('the end of its process', () => {
      try {
        return !process.kill(pid, 0);
      } catch {
        return true;
      }
    });
    listening.drop();
  });

  test('a reload that removes a server ends its sessions, but not those of a later server with the same id', async () => {
    const address = `${url}/mcp/doomed`;
    const catalogs = [
      { kept: unchangedServer },
      { kept: unchangedServer, doomed },
      { kept: unchangedServer },
      { kept: unchangedServer, doomed: young },
    ];
    const reloadTwice = async () => {
      for (const servers of catalogs.splice(0, 2)) {
        gateway.writeCatalog(servers);
        expect((await reload()).status).toBe(200);
      }
    };
    const live = async () => {
      const session = await initialize(address);
      const stream = new EventReader(address, { headers: session });
      await stream.opened();
      const gate = latch();
      const answer = post(address, call('hold', { until: gate.path }), session);
      await eventually('the call', async () => (await ask(`${url}/servers/doomed`)).json.in_flight === 1);
      const isKnown = async () => (await post(address, message('ping'), session)).status === 200;
      return { held: gate, answer, stream, isKnown };
    };
    const first = await live();
    await reloadTwice();
    const second = await live();
    await reloadTwice();
    const third = await live();
    // Each old process stops after its calls.
    for (const [old, ...others] of [
      [first, second, third],
      [second, third],
    ] as const) {
      old.held.open();
      expect((await old.answer).text).toContain('"held"');
      await old.stream.ended();
      expect(await old.isKnown()).toBe(false);
      for (const { stream, isKnown } of others)
        expect([await isKnown(), stream.isOver]).toEqual([true, false]);
    }
    third.held.open();
    expect((await third.answer).text).toContain('"held"');
    third.stream.drop();
  });

  test('a reload of an invalid catalog returns 422 with all problems, and changes nothing', async () => {
    const session = await initialize(`${url}/mcp/doomed`);
    const pid = textOf(await post(`${url}/mcp/doomed`, call('pid'), session));
    const bad =
      'servers:\n  kept:\n    comand: node\n  changing:\n    command: node\n    idle_timeout_seconds: soon\n';
    writeFileSync(join(gateway.folder, 'catalog.yaml'), bad);
    const answer = await reload();
    expect(answer.status).toBe(422);
    expect(answer.json).toEqual({
      error: 'Unprocessable Entity',
      message: expect.stringMatching(/nothing was changed/),
      problems: expect.any(Array),
      request_id: answer.headers['x-request-id'],
    });
    const problems = answer.json.problems.join('\n');
    expect(problems).toMatch(/catalog\.yaml:3:5: .*command/);
    expect(problems).toMatch(/catalog\.yaml:6:27: /);
    expect((await ask(`${url}/servers`)).json.servers.map(({ id }: { id: string }) => id)).toEqual([
      'kept',
      'changing',
      'doomed',
    ]);
    expect(textOf(await post(`${url}/mcp/doomed`, call('pid'), session))).toBe(pid);
    gateway.writeCatalog({ kept: unchangedServer, changing: old, doomed });
    expect((await reload()).json.unchanged).toHaveLength(3);
  });

  test.each([
    ['malformed', 'servers: ['],
    ['empty', ''],
    ['with a missing variable', `servers: { a: { command: "\${NO_SUCH_VARIABLE}" } }`],
  ])('a reload of a catalog that is %s returns 422', async (_, text) => {
    writeFileSync(join(gateway.folder, 'catalog.yaml'), text);
    const answer = await reload();
    expect(answer.status).toBe(422);
    expect(answer.json.problems.length).toBeGreaterThan(0);
    expect((await ask(`${url}/servers`)).json.servers).toHaveLength(3);
  });

  test('a reload stops a server that was disabled, so that calls fail, and serves it again once enabled', async () => {
    const pid = Number(textOf(await rpc(url, 'kept', call('pid'))));
    gateway.writeCatalog({ kept: { ...unchangedServer, enabled: false }, changing: old, doomed });
    expect((await reload()).json.changed).toEqual(['kept']);
    const answer = await rpc(url, 'kept', call('echo'));
    expect(answer.status).toBe(503);
    expect(answer.json.error.message).toMatch(/is disabled/);
    const refusal = await post(`${url}/mcp/kept`, message('initialize', introduction('2025-11-25')));
    expect([refusal.status, refusal.json.error.data.reason]).toEqual([200, 'ERR_UNAVAILABLE']);
    await eventually('the end of its process', () => {
      try {
        return !process.kill(pid, 0);
      } catch {
        return true;
      }
    });
    gateway.writeCatalog({ kept: unchangedServer, changing: old, doomed });
    expect((await reload()).json.changed).toEqual(['kept']);
    expect(textOf(await rpc(url, 'kept', call('name')))).toBe('kept');
  });

  test('SIGHUP reloads the catalog; if the file is invalid, the problems are logged and nothing changes', async () => {
    gateway.writeCatalog({ kept: unchangedServer, added: young });
    process.kill(gateway.pid, 'SIGHUP');
    await eventually('the reload', () => gateway.logs().find(({ msg }) => msg === 'catalog reloaded'));
    expect(textOf(await rpc(url, 'added', call('name')))).toBe('young');
    expect((await rpc(url, 'doomed', call('name'))).status).toBe(404);
    writeFileSync(join(gateway.folder, 'catalog.yaml'), 'servers: { a: { comand: x } }');
    process.kill(gateway.pid, 'SIGHUP');
    const line = await eventually('the refusal', () =>
      gateway.logs().find(({ msg }) => msg.startsWith('reload failed')),
    );
    expect(line.level).toBe('error');
    expect(JSON.stringify(line.problems)).toMatch(/catalog\.yaml:1:\d+: .*command/);
    expect(textOf(await rpc(url, 'added', call('name')))).toBe('young');
  });

  test('many catalog reloads that replace a server under load lose no call', async () => {
    let isOver = false;
    const callers = Array.from({ length: 4 }, async () => {
      const names: unknown[] = [];
      while (!isOver) names.push(textOf(await rpc(url, 'changing', call('name'))));
      return names;
    });
    for (let round = 0; round < 5; round += 1) {
      gateway.writeCatalog({
        kept: unchangedServer,
        changing: apiServer({ env: { NAME: `round-${round}` } }),
        doomed,
      });
      expect((await reload()).json.changed).toEqual(['changing']);
      await eventually(
        'the new one',
        async () => textOf(await rpc(url, 'changing', call('name'))) === `round-${round}`,
      );
    }
    isOver = true;
    for (const names of await Promise.all(callers)) {
      expect(names.length).toBeGreaterThan(0);
      expect(names.filter((name) => !/^(old|round-\d)$/.test(String(name)))).toEqual([]);
    }
  });
});
