// `era: auto` with real processes and sockets: detection of the era for all kinds of servers, number of
// probes, storage of the result, and removal of the probe processes.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bothErasOverHttp, bothErasOverStdio } from '../../fixtures/both-eras/start.ts';
import {
  type Answer,
  ask,
  call,
  eventually,
  fixture,
  initialize,
  post,
} from '../../fixtures/clients/api-client.ts';
import { modern, modernStream, textOf, toolCall } from '../../fixtures/clients/modern-client.ts';
import { details, isAlive } from '../../fixtures/clients/raw-session.ts';
import {
  type GatewayProcess,
  startGateway,
  temporaryFolder,
} from '../../fixtures/gateway/gateway-process.ts';
import { answerJson, LocalServer, methodOf, result } from '../../fixtures/remote/local-server.ts';

interface Character {
  readonly legacy?: boolean;
  readonly modern?: boolean;
  readonly discover?: string;
  readonly startMs?: number;
  readonly noise?: boolean;
  readonly stubborn?: boolean;
}

interface Local {
  readonly entry: object;
  /** `what` of all lines in the log of the server, in order. */
  log(): string[];
  /** Processes started so far. */
  pids(): number[];
  /** Changes the behaviour for the next starts. */
  become(character: Character): void;
}

function local(character: Character, more: object = {}): Local {
  const folder = temporaryFolder();
  const [log, changes] = [join(folder, 'log'), join(folder, 'changes')];
  const lines = () =>
    existsSync(log)
      ? readFileSync(log, 'utf8')
          .trim()
          .split('\n')
          .map((line) => line.split(' '))
      : [];
  const args = [fixture('eras.mjs'), JSON.stringify({ ...character, log, changes })];
  return {
    entry: {
      command: process.execPath,
      args,
      era: 'auto',
      restart: { min_backoff_ms: 10 },
      ...more,
    },
    log: () => lines().map(([, ...what]) => what.join(' ')),
    pids: () => lines().flatMap(([pid, what]) => (what === 'start' ? [Number(pid)] : [])),
    become: (other) => writeFileSync(changes, JSON.stringify(other)),
  };
}

const starts = ({ log }: Local) => log().filter((event) => event === 'start').length;
const logged = (gateway: GatewayProcess, msg: string) => gateway.logs().filter((line) => line.msg === msg);
const verdicts = (gateway: GatewayProcess) =>
  logged(gateway, 'probed the protocol eras of the server').map(({ legacy, modern: isModern }) => ({
    legacy,
    modern: isModern,
  }));
/** Era results in the state folder. */
function storedVerdictsIn({ folder }: GatewayProcess): unknown[] {
  const lists = join(folder, '.gateway', 'lists');
  const files = existsSync(lists) ? readdirSync(lists).filter((file) => file.endsWith('.json')) : [];
  const records = files.map(
    (file) => JSON.parse(readFileSync(join(lists, file), 'utf8')) as { eras?: unknown },
  );
  return records.flatMap(({ eras }) => (eras === undefined ? [] : [eras]));
}

/**
 * Stops the gateway after the result is on the disk: results are written asynchronously, and an earlier stop
 * could lose them.
 */
async function stopOnceStored(gateway: GatewayProcess, verdict: object): Promise<void> {
  const inOrder = (eras: unknown) => JSON.stringify(Object.entries(eras as object).sort());
  await eventually('the result on disk', () =>
    storedVerdictsIn(gateway).some((eras) => inOrder(eras) === inOrder(verdict)),
  );
  await gateway.stop();
}

const both = { legacy: true, modern: true };
const legacyOnly = { legacy: true, modern: false };
const modernOnly = { legacy: false, modern: true };

/** Returns the era in which a client of each era reached the server, and the process id. */
async function reachWithBothEras(gateway: GatewayProcess, id: string) {
  const address = `${gateway.url}/mcp/${id}`;
  const session = await initialize(address);
  const ofLegacy = JSON.parse(textOf(await post(address, call('pid'), session)));
  const ofModern = JSON.parse(textOf(await modern(address, toolCall('pid'))));
  return { legacy: ofLegacy, modern: ofModern } as Record<'legacy' | 'modern', { era: string; pid: number }>;
}

const erasOf = ({ legacy, modern: ofModern }: Awaited<ReturnType<typeof reachWithBothEras>>) => [
  legacy.era,
  ofModern.era,
];

describe.concurrent('a stdio server with era: auto', () => {
  test.each([
    ['speaks both', { modern: true }, both, ['legacy', 'modern']],
    ['supports only the modern era', { modern: true, legacy: false }, modernOnly, ['modern', 'modern']],
    ['refuses server/discover', {}, legacyOnly, ['legacy', 'legacy']],
    ['does not answer server/discover', { discover: 'silent' }, legacyOnly, ['legacy', 'legacy']],
    ['exits on server/discover', { discover: 'exit' }, legacyOnly, ['legacy', 'legacy']],
    ['answers no message', { discover: 'garbage' }, legacyOnly, ['legacy', 'legacy']],
    ['answers without versions', { discover: 'no-versions' }, legacyOnly, ['legacy', 'legacy']],
    ['supports other modern versions', { discover: 'other-versions' }, legacyOnly, ['legacy', 'legacy']],
    ['prints noise first', { modern: true, noise: true }, both, ['legacy', 'modern']],
    ['starts slowly and is legacy', { startMs: 3000 }, legacyOnly, ['legacy', 'legacy']],
    ['starts slowly and supports both', { startMs: 3000, modern: true }, both, ['legacy', 'modern']],
    [
      'starts slowly and is modern only',
      { startMs: 3000, modern: true, legacy: false },
      modernOnly,
      ['modern', 'modern'],
    ],
  ])(
    'that %s has its protocol eras detected, and serves legacy and modern clients',
    async (_, character, verdict, eras) => {
      const server = local(character);
      const gateway = await startGateway({ servers: { it: server.entry } });
      const reachedIn = await reachWithBothEras(gateway, 'it');
      expect(erasOf(reachedIn)).toEqual(eras);
      expect(verdicts(gateway)).toEqual([verdict]);
      // One process per era in use. The probe processes have exited.
      const serving = new Set([reachedIn.legacy.pid, reachedIn.modern.pid]);
      expect(serving.size).toBe(eras[0] === eras[1] ? 1 : 2);
      await eventually('the end of the probes', () => server.pids().filter(isAlive).length === serving.size);
      expect(await details(gateway.url, 'it')).toMatchObject({
        restarts: 0,
        state: 'running',
        last_error: null,
      });

      // The next gateway uses the stored result and sends no probe.
      const before = starts(server);
      await stopOnceStored(gateway, verdict);
      const next = await startGateway({ servers: { it: server.entry }, folder: gateway.folder });
      expect(erasOf(await reachWithBothEras(next, 'it'))).toEqual(eras);
      expect(verdicts(next)).toEqual([]);
      expect(starts(server)).toBe(before + serving.size);
    },
  );

  test('has one process per era, and each client reaches the process of its era', async () => {
    const gateway = await startGateway({ servers: { it: { ...bothErasOverStdio(), era: 'auto' } } });
    const address = `${gateway.url}/mcp/it`;
    const session = await initialize(address);
    const stats = { legacy: (answer: Answer) => JSON.parse(textOf(answer)).mine.era };
    expect(stats.legacy(await post(address, call('stats'), session))).toBe('legacy');
    expect(stats.legacy(await modern(address, toolCall('stats')))).toBe('modern');
    expect((await details(gateway.url, 'it')).pids).toHaveLength(2);
    expect(verdicts(gateway)).toEqual([both]);
  });

  test('is probed once for fifty concurrent first requests', async () => {
    const server = local({ modern: true, startMs: 200 });
    const gateway = await startGateway({ servers: { it: server.entry } });
    const address = `${gateway.url}/mcp/it`;
    const answers = await Promise.all(
      [...Array(50).keys()].map((id) => modern(address, toolCall('pid', {}, { id: String(id) }))),
    );
    expect(answers.map(({ json }) => json.id)).toEqual([...Array(50).keys()]);
    expect(new Set(answers.map(textOf)).size).toBe(1);
    expect(verdicts(gateway)).toEqual([both]);
    // Two probes and the serving process.
    expect(starts(server)).toBe(3);
  });

  test('can be started and stopped over the API, and is not probed when its record is read', async () => {
    const server = local({ modern: true });
    const gateway = await startGateway({ servers: { it: server.entry } });
    expect((await ask(`${gateway.url}/servers`)).json.servers[0]).toMatchObject({
      id: 'it',
      state: 'stopped',
      pids: [],
    });
    expect(starts(server)).toBe(0);
    const started = await ask(`${gateway.url}/servers/it/start`, { method: 'POST' });
    expect([started.status, started.json.state, started.json.pids.length]).toEqual([200, 'running', 1]);
    expect((await ask(`${gateway.url}/servers/it/stop`, { method: 'POST' })).json).toMatchObject({
      state: 'stopped',
      pids: [],
    });
    await eventually('the end of all', () => server.pids().filter(isAlive).length === 0);
  });

  test('is probed again and served again when it changes the era', async () => {
    const server = local({ modern: true, legacy: false });
    const gateway = await startGateway({ servers: { it: server.entry } });
    expect(erasOf(await reachWithBothEras(gateway, 'it'))).toEqual(['modern', 'modern']);
    await ask(`${gateway.url}/servers/it/stop`, { method: 'POST' });
    server.become({ modern: false, legacy: true });
    const failed = await modern(`${gateway.url}/mcp/it`, toolCall('pid'));
    expect([failed.status, failed.json.error.data.reason]).toEqual([200, 'ERR_UNAVAILABLE']);
    expect(failed.json.error.message).toMatch(/another protocol era; try again/);
    expect(failed.headers['retry-after']).toBe('1');
    expect(erasOf(await reachWithBothEras(gateway, 'it'))).toEqual(['legacy', 'legacy']);
    expect(verdicts(gateway)).toEqual([modernOnly, legacyOnly]);
    await stopOnceStored(gateway, legacyOnly);
    const next = await startGateway({ servers: { it: server.entry }, folder: gateway.folder });
    expect(erasOf(await reachWithBothEras(next, 'it'))).toEqual(['legacy', 'legacy']);
    expect(verdicts(next)).toEqual([]);
  });

  test('that cannot be started is not probed more often than the backoff permits', async () => {
    const server = local({ discover: 'exit', legacy: false }, { restart: { min_backoff_ms: 30_000 } });
    const gateway = await startGateway({ servers: { it: server.entry } });
    const address = `${gateway.url}/mcp/it`;
    const first = modern(address, toolCall('pid'));
    await eventually('the failure', async () => (await details(gateway.url, 'it')).state === 'failed');
    const before = starts(server);
    const waiting = [1, 2, 3].map(() => modern(address, toolCall('pid')));
    const inFlight = async () => (await ask(`${gateway.url}/stats`)).json.requests.in_flight;
    await eventually('the requests', async () => (await inFlight()) === 4);
    expect(starts(server)).toBe(before);
    server.become({ modern: true });
    // A manual start ignores the backoff. Requests that waited for the era are answered, except the first,
    // whose probe had no result.
    expect((await ask(`${gateway.url}/servers/it/start`, { method: 'POST' })).status).toBe(200);
    expect((await first).error?.data).toMatchObject({ reason: 'ERR_UNAVAILABLE' });
    for (const response of await Promise.all(waiting))
      expect(JSON.parse(textOf(response)).era).toBe('modern');
  });

  test('in the failed state rejects requests immediately, including those that wait for its era', async () => {
    const server = local(
      { discover: 'exit', legacy: false },
      { restart: { min_backoff_ms: 50, intensity: 2, period_seconds: 60 } },
    );
    const gateway = await startGateway({ servers: { it: server.entry } });
    const address = `${gateway.url}/mcp/it`;
    const pids = new Set<string>();
    await eventually('the park', async () => {
      const answers = await Promise.all([1, 2, 3].map(() => modern(address, toolCall('pid'))));
      const reasons = answers.map(({ error }) =>
        String((error?.data as { reason?: string } | undefined)?.reason),
      );
      for (const reason of reasons) pids.add(reason);
      return reasons.every((reason) => reason === 'ERR_UNAVAILABLE');
    });
    const before = starts(server);
    expect((await modern(address, toolCall('pid'))).error?.data).toMatchObject({ reason: 'ERR_UNAVAILABLE' });
    expect(starts(server)).toBe(before);
    expect(['ERR_START_FAILED', 'ERR_UNAVAILABLE']).toEqual(expect.arrayContaining([...pids]));
  });
});

describe.concurrent('a running era probe', () => {
  const slow = () => local({ discover: 'silent', legacy: false, startMs: 60_000, stubborn: true });

  test('is aborted when the gateway stops, and waiting clients get an error', async () => {
    const server = slow();
    const gateway = await startGateway({ servers: { it: server.entry }, settings: { shutdown_seconds: 3 } });
    const waiting = modern(`${gateway.url}/mcp/it`, toolCall('pid', {}, { id: '"w"' }));
    await eventually('the probe', () => starts(server) > 0);
    expect(await gateway.stop()).toBe(0);
    const answer = await waiting;
    expect([answer.status, answer.json.id, answer.json.error.data.reason]).toEqual([200, 'w', 'ERR_STOPPED']);
    await eventually('the end of the probe', () => !server.pids().some(isAlive));
  });

  test('is killed by the next gateway in the same folder if its gateway was killed', async () => {
    const server = slow();
    const gateway = await startGateway({ servers: { it: server.entry } });
    const waiting = modern(`${gateway.url}/mcp/it`, toolCall('pid')).catch(() => undefined);
    await eventually('the probe', () => starts(server) > 0);
    await gateway.stop('SIGKILL');
    await waiting;
    expect(server.pids().some(isAlive)).toBe(true);
    await startGateway({ servers: {}, folder: gateway.folder });
    expect(server.pids().some(isAlive)).toBe(false);
  });

  test('is aborted when the server is stopped, and the next request probes again', async () => {
    const server = slow();
    const gateway = await startGateway({ servers: { it: server.entry } });
    const address = `${gateway.url}/mcp/it`;
    const waiting = modern(address, toolCall('pid'));
    await eventually('the probe', () => starts(server) > 0);
    expect((await ask(`${gateway.url}/servers/it/stop`, { method: 'POST' })).status).toBe(200);
    expect((await waiting).error?.data).toMatchObject({ reason: 'ERR_STOPPED' });
    await eventually('the end of the probe', () => !server.pids().some(isAlive));
    server.become({ modern: true, discover: 'refuse', startMs: 0, stubborn: false });
    expect(JSON.parse(textOf(await modern(address, toolCall('pid')))).era).toBe('modern');
  });

  test('is aborted when the server is removed from the catalog', async () => {
    const server = slow();
    const gateway = await startGateway({ servers: { it: server.entry } });
    const waiting = modern(`${gateway.url}/mcp/it`, toolCall('pid'));
    await eventually('the probe', () => starts(server) > 0);
    gateway.writeCatalog({});
    expect((await ask(`${gateway.url}/admin/reload`, { method: 'POST' })).json.removed).toEqual(['it']);
    expect((await waiting).error?.data).toMatchObject({ reason: 'ERR_STOPPED' });
    await eventually('the end of the probe', () => !server.pids().some(isAlive));
  });

  test('continues after its client disconnects, and the detected era is stored for the next client', async () => {
    const server = local({ modern: true, startMs: 300 });
    const gateway = await startGateway({ servers: { it: server.entry } });
    const leaving = modernStream(`${gateway.url}/mcp/it`, toolCall('pid'));
    await eventually('the probe', () => starts(server) > 0);
    leaving.drop();
    await eventually('the verdict', () => verdicts(gateway).length === 1);
    expect((await ask(`${gateway.url}/stats`)).json.requests.in_flight).toBe(0);
    expect(erasOf(await reachWithBothEras(gateway, 'it'))).toEqual(['legacy', 'modern']);
    expect(verdicts(gateway)).toEqual([both]);
  });
});

describe.concurrent('a remote server with era: auto', () => {
  test.each([
    [{}, both, ['legacy', 'modern']],
    [{ isModernOnly: true }, modernOnly, ['modern', 'modern']],
  ])(
    'built with the public SDK (%j) has its era detected and serves clients of both eras',
    async (options, verdict, eras) => {
      const remote = await bothErasOverHttp(options);
      const gateway = await startGateway({ servers: { it: { url: remote.url, era: 'auto' } } });
      const address = `${gateway.url}/mcp/it`;
      const session = await initialize(address);
      const eraOf = (answer: Answer) => JSON.parse(textOf(answer)).mine.era;
      expect(eraOf(await post(address, call('stats'), session))).toBe(eras[0]);
      expect(eraOf(await modern(address, toolCall('stats')))).toBe(eras[1]);
      expect(verdicts(gateway)).toEqual([verdict]);
      // The probe session is closed; only the session in use remains.
      await eventually(
        'the end of the probe',
        () => remote.sessions().length === (eras[0] === 'legacy' ? 1 : 0),
      );
      await stopOnceStored(gateway, verdict);
      const { length } = remote.http.requests;
      const next = await startGateway({
        servers: { it: { url: remote.url, era: 'auto' } },
        folder: gateway.folder,
      });
      expect(eraOf(await modern(`${next.url}/mcp/it`, toolCall('stats')))).toBe(eras[1]);
      expect(verdicts(next)).toEqual([]);
      expect(remote.http.requests.slice(length).some(({ body }) => body.includes('"initialize"'))).toBe(
        false,
      );
    },
  );

  test.each([
    ['404 with a page', 404, '<html>'],
    ['405', 405, ''],
    ['400 without a message', 400, 'Bad Request: no session'],
    [
      '400 with an error of its own',
      400,
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session ID"}}',
    ],
  ])('that answers %s to unknown methods is legacy', async (_, status, body) => {
    const server = await LocalServer.start(({ res, req, body: asked }) => {
      if (req.method !== 'POST') res.writeHead(405).end();
      else if (asked.includes('2026-07-28'))
        res
          .writeHead(status, { 'content-type': body.startsWith('{') ? 'application/json' : 'text/html' })
          .end(body);
      else if (!asked.includes('"id"')) res.writeHead(202).end();
      else answerJson(res, result(asked, results[methodOf(asked)] ?? {}));
    });
    try {
      const gateway = await startGateway({ servers: { it: { url: server.url().href, era: 'auto' } } });
      expect(textOf(await modern(`${gateway.url}/mcp/it`, toolCall('pid')))).toBe('served');
      expect(verdicts(gateway)).toEqual([legacyOnly]);
      await stopOnceStored(gateway, legacyOnly);
      const next = await startGateway({
        servers: { it: { url: server.url().href, era: 'auto' } },
        folder: gateway.folder,
      });
      expect(textOf(await modern(`${next.url}/mcp/it`, toolCall('pid')))).toBe('served');
      expect(verdicts(next)).toEqual([]);
    } finally {
      await server.close();
    }
  });

  test.each([
    ['401', 401, {}],
    ['500', 500, {}],
    ['a redirect', 307, { location: 'http://127.0.0.1:1/' }],
  ])(
    'that answers %s leaves the era unknown, and is probed again once it works',
    async (_, status, headers) => {
      const remote = await bothErasOverHttp({ isModernOnly: true });
      remote.refusal = ({ res }) => void res.writeHead(status, headers).end();
      const gateway = await startGateway({
        servers: { it: { url: remote.url, era: 'auto', restart: { intensity: 0 } } },
      });
      const address = `${gateway.url}/mcp/it`;
      const failed = await modern(address, toolCall('stats'));
      expect([failed.status, failed.json.error.message]).toEqual([
        200,
        expect.stringContaining(`responded ${status}`),
      ]);
      remote.refusal = undefined;
      expect((await ask(`${gateway.url}/servers/it/start`, { method: 'POST' })).status).toBe(200);
      expect((await modern(address, toolCall('stats'))).error).toBeUndefined();
      expect(verdicts(gateway)).toEqual([modernOnly]);
    },
  );

  test('that is unreachable leaves the era unknown', async () => {
    // Other tests cannot receive this port meanwhile.
    const url = 'http://127.0.0.1:9/mcp';
    const gateway = await startGateway({
      servers: { it: { url, era: 'auto', restart: { intensity: 0 } } },
    });
    const failed = await modern(`${gateway.url}/mcp/it`, toolCall('stats'));
    expect([failed.status, failed.json.error.message]).toEqual([
      200,
      expect.stringContaining('ECONNREFUSED'),
    ]);
    await gateway.stop();
    expect(storedVerdictsIn(gateway)).toEqual([]);
  });
});

const results: Record<string, object> = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 's', version: '1' },
  },
  'tools/list': { tools: [{ name: 'pid', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [{ type: 'text', text: 'served' }] },
};

describe.concurrent('a configured era', () => {
  test.each([
    ['modern', {}, '`era: legacy`'],
    ['modern', { discover: 'no-versions' }, '`era: legacy`'],
    ['legacy', { modern: true, legacy: false }, '`era: modern`'],
  ] as const)(
    'of %s for a server that is %j fails, and the error names the correct setting',
    async (era, character, advice) => {
      const server = local(character, { era, restart: { intensity: 0 } });
      const gateway = await startGateway({ servers: { it: server.entry } });
      for (const [answer, statuses] of [
        [await modern(`${gateway.url}/mcp/it`, toolCall('pid')), [200]],
        [await ask(`${gateway.url}/servers/it/start`, { method: 'POST' }), [502, 503]],
      ] as const) {
        expect(statuses).toContain(answer.status);
        expect(answer.text).toContain(advice);
        expect(answer.text).toContain('`era: auto`');
      }
      expect(verdicts(gateway)).toEqual([]);
    },
  );

  test('that is changed in the catalog applies after a reload', async () => {
    const server = local({ modern: true });
    const gateway = await startGateway({ servers: { it: { ...server.entry, era: 'legacy' } } });
    expect(erasOf(await reachWithBothEras(gateway, 'it'))).toEqual(['legacy', 'legacy']);
    for (const [era, eras] of [
      ['modern', ['modern', 'modern']],
      ['auto', ['legacy', 'modern']],
      ['legacy', ['legacy', 'legacy']],
    ] as const) {
      gateway.writeCatalog({ it: { ...server.entry, era } });
      expect((await ask(`${gateway.url}/admin/reload`, { method: 'POST' })).json.changed).toEqual(['it']);
      expect(erasOf(await reachWithBothEras(gateway, 'it'))).toEqual(eras);
    }
    await eventually('the end of unused processes', () => server.pids().filter(isAlive).length === 1);
  });
});
