// POST /admin/reload and SIGHUP: the catalog is applied by difference, and a bad one not at all. On both HTTP fillings,
// with the built program.

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
import { fillingsInTurn } from '../../fixtures/gateway/fillings.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';

const textOf = (answer: { json: { result: { content: { text: string }[] } } }) =>
  answer.json.result.content[0]?.text;

describe.each(fillingsInTurn)('a reload on %s', (http) => {
  let gateway: GatewayProcess;
  let url: string;
  const kept = apiServer({ env: { NAME: 'kept' } });
  const old = apiServer({ env: { NAME: 'old' } });
  const young = apiServer({ env: { NAME: 'young' } });
  const doomed = apiServer({ env: { NAME: 'doomed' } });

  beforeEach(async () => {
    gateway = await startGateway({
      http,
      // Longer than any call here is held.
      settings: { shutdown_seconds: 60 },
      servers: { kept, changing: old, doomed },
    });
    url = gateway.url;
    return async () => {
      await gateway.stop('SIGKILL');
    };
  });

  const reload = () => ask(`${url}/admin/reload`, { method: 'POST', body: 'whatever' });

  test('tells what was added, changed, removed and left, and the next one that nothing was (SR1)', async () => {
    gateway.writeCatalog({ fresh: kept, changing: young, kept });
    const answer = await reload();
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      added: ['fresh'],
      changed: ['changing'],
      removed: ['doomed'],
      unchanged: ['kept'],
    });
    const again = await reload();
    expect(again.json).toEqual({
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

  test('a catalog that only looks different changes nothing', async () => {
    const turned = Object.fromEntries(Object.entries(kept).reverse());
    writeFileSync(
      join(gateway.folder, 'catalog.yaml'),
      `# a comment\n${JSON.stringify({ servers: { doomed, changing: { ...old, enabled: true }, kept: turned } }, null, 2)}`,
    );
    const { json } = await reload();
    expect(json).toEqual({ added: [], changed: [], removed: [], unchanged: ['doomed', 'changing', 'kept'] });
  });

  test('untouched servers keep their processes, sessions, streams and calls in flight', async () => {
    const address = `${url}/mcp/kept`;
    const session = await initialize(address);
    const aggregate = await initialize(`${url}/mcp`);
    const stream = new EventReader(address, { headers: session });
    await stream.opened();
    const pid = textOf(await post(address, call('pid'), session));
    const held = latch();
    const pending = post(address, call('hold', { until: held.path }), session);
    await eventually('the call', async () => (await ask(`${url}/servers/kept`)).json.in_flight === 1);
    gateway.writeCatalog({ kept, changing: young });
    expect((await reload()).status).toBe(200);
    held.open();
    expect(textOf(await pending)).toBe('held');
    expect(textOf(await post(address, call('pid'), session))).toBe(pid);
    expect(textOf(await post(`${url}/mcp`, call('kept__pid'), aggregate))).toBe(pid);
    expect(stream.isOver).toBe(false);
    stream.drop();
  });

  test('calls in flight on a changed server end on the old one, while new ones go to the new one (SR2)', async () => {
    const address = `${url}/mcp/changing`;
    const session = await initialize(address);
    const oldPid = textOf(await post(address, call('pid'), session));
    const held = latch();
    const pending = post(address, call('hold', { until: held.path }), session);
    await eventually('the call', async () => (await ask(`${url}/servers/changing`)).json.in_flight === 1);
    gateway.writeCatalog({ kept, changing: young, doomed });
    expect((await reload()).json.changed).toEqual(['changing']);
    expect(textOf(await post(address, call('name'), session))).toBe('young');
    expect(() => process.kill(Number(oldPid), 0)).not.toThrow();
    held.open();
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

  test('sessions of a removed server are 404, its calls in flight end, and at /mcp its tools are gone', async () => {
    const address = `${url}/mcp/doomed`;
    const session = await initialize(address);
    const aggregate = await initialize(`${url}/mcp`);
    const listening = new EventReader(`${url}/mcp`, { headers: aggregate });
    await listening.opened();
    const pid = Number(textOf(await post(address, call('pid'), session)));
    const held = latch();
    const pending = post(address, call('hold', { until: held.path }), session);
    await eventually('the call', async () => (await ask(`${url}/servers/doomed`)).json.in_flight === 1);
    gateway.writeCatalog({ kept });
    expect((await reload()).json.removed).toEqual(['changing', 'doomed']);
    await listening.until('word of it', ({ messages }) =>
      messages.some(({ json }) => json.method === 'notifications/tools/list_changed'),
    );
    held.open();
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

  test('the end of a removed server ends what was begun at it, and nothing of those that were put back under its id', async () => {
    const address = `${url}/mcp/doomed`;
    const catalogs = [{ kept }, { kept, doomed }, { kept }, { kept, doomed: young }];
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
      const held = latch();
      const answer = post(address, call('hold', { until: held.path }), session);
      await eventually('the call', async () => (await ask(`${url}/servers/doomed`)).json.in_flight === 1);
      const isKnown = async () => (await post(address, message('ping'), session)).status === 200;
      return { held, answer, stream, isKnown };
    };
    const first = await live();
    await reloadTwice();
    const second = await live();
    await reloadTwice();
    const third = await live();
    // Each of the old ones ends with its call.
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

  test('a bad catalog is 422 with every problem, and nothing has changed', async () => {
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
    gateway.writeCatalog({ kept, changing: old, doomed });
    expect((await reload()).json.unchanged).toHaveLength(3);
  });

  test.each([
    ['malformed', 'servers: ['],
    ['empty', ''],
    ['with a missing variable', `servers: { a: { command: "\${NO_SUCH_VARIABLE}" } }`],
  ])('a catalog that is %s is 422 as well', async (_, text) => {
    writeFileSync(join(gateway.folder, 'catalog.yaml'), text);
    const answer = await reload();
    expect(answer.status).toBe(422);
    expect(answer.json.problems.length).toBeGreaterThan(0);
    expect((await ask(`${url}/servers`)).json.servers).toHaveLength(3);
  });

  test('a server that is switched off ends and answers with an error; switched on again it serves', async () => {
    const pid = Number(textOf(await rpc(url, 'kept', call('pid'))));
    gateway.writeCatalog({ kept: { ...kept, enabled: false }, changing: old, doomed });
    expect((await reload()).json.changed).toEqual(['kept']);
    const answer = await rpc(url, 'kept', call('echo'));
    expect(answer.status).toBe(503);
    expect(answer.json.error.message).toMatch(/switched off/);
    const refused = await post(`${url}/mcp/kept`, message('initialize', introduction('2025-11-25')));
    expect([refused.status, refused.json.error.data.reason]).toEqual([200, 'ERR_UNAVAILABLE']);
    await eventually('the end of its process', () => {
      try {
        return !process.kill(pid, 0);
      } catch {
        return true;
      }
    });
    gateway.writeCatalog({ kept, changing: old, doomed });
    expect((await reload()).json.changed).toEqual(['kept']);
    expect(textOf(await rpc(url, 'kept', call('name')))).toBe('kept');
  });

  test('SIGHUP does the same; a bad file is logged with every problem and changes nothing', async () => {
    gateway.writeCatalog({ kept, added: young });
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

  test('a server that is changed many times under load answers every call', async () => {
    let isOver = false;
    const callers = Array.from({ length: 4 }, async () => {
      const names: unknown[] = [];
      while (!isOver) names.push(textOf(await rpc(url, 'changing', call('name'))));
      return names;
    });
    for (let round = 0; round < 5; round += 1) {
      gateway.writeCatalog({ kept, changing: apiServer({ env: { NAME: `round-${round}` } }), doomed });
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
