// HTTP interface of /inspector, used directly and not by a browser: access, feed and commands. For each HTTP
// engine, with the built program.

import { describe, expect, test } from 'vitest';
import { type Ask, ask, eventually } from '../../fixtures/clients/api-client.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { httpEnginesInTurn } from '../../fixtures/gateway/http-engines.ts';
import { FeedReader } from '../../fixtures/gateway/inspector-feed.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const KEY = 'correct horse battery staple';
const SECRET = 'sk-a-token-that-must-not-be-seen';
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const enter = (url: string, key: string, headers: Readonly<Record<string, string>> = {}) =>
  ask(`${url}/inspector/session`, {
    method: 'POST',
    headers: { ...form, ...headers },
    body: new URLSearchParams({ key }).toString(),
  });

/** All paths except the page and the resources of the form. */
const guarded: readonly (readonly [string, string])[] = [
  ['GET', '/inspector/feed'],
  ['GET', '/inspector/stately'],
  ['GET', '/inspector/machines'],
  ['GET', '/inspector/dead-letters'],
  ['GET', '/inspector/sessions'],
  ['GET', '/inspector/sessions?from=0&count=1'],
  ['GET', '/inspector/sessions/1'],
  ['GET', '/inspector/api/servers'],
  ['GET', '/inspector/api/servers/hidden-name'],
  ['GET', '/inspector/api/runs?view=brief'],
  ['GET', '/inspector/assets/page.js'],
  ['GET', '/inspector/assets/page.css'],
  ['GET', '/inspector/assets/page.html'],
  ['GET', '/inspector/assets/key.html'],
  ['GET', '/inspector/nothing'],
  ['HEAD', '/inspector/feed'],
  ['POST', '/inspector/api/servers/hidden-name/start'],
  ['POST', '/inspector/api/servers/hidden-name/stop'],
  ['POST', '/inspector/api/admin/reload'],
  ['POST', '/inspector'],
  ['PUT', '/inspector/feed'],
  ['DELETE', '/inspector/session'],
];
const pages = ['/inspector', '/inspector/', '/inspector/view/hidden-name/log'];
const formFiles = ['/inspector/assets/key.css', '/inspector/assets/icon.svg'];

describe.each(httpEnginesInTurn)('on %s', (http) => {
  const withKey = (more: Parameters<typeof startGateway>[0] = {}) =>
    startGateway({
      http,
      env: { THE_KEY: KEY },
      ...more,
      settings: { api_key: `\${THE_KEY}`, ...more.settings },
      servers: { 'hidden-name': fault('echo'), ...more.servers },
    });

  test('without the API key, the inspector serves only the login form and its resources', async () => {
    const { url } = await withKey();
    for (const headers of [
      {},
      { cookie: 'actor_gateway_inspector=1.2' },
      { authorization: 'Bearer wrong' },
    ]) {
      for (const [method, path] of guarded) {
        const answer = await ask(url + path, { method, headers } as Ask);
        expect(answer.status, `${method} ${path}`).toBe(401);
        expect(answer.text, `${method} ${path}`).not.toMatch(/hidden-name|stopped|serving/);
      }
      for (const path of pages) {
        const answer = await ask(url + path, { headers } as Ask);
        expect([path, answer.status]).toEqual([path, 401]);
        expect(answer.text).toMatch(/<form method="post" action="[./]*(?:inspector\/)?session"/);
        expect(answer.text).not.toMatch(/hidden-name|<script|style=/);
        expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
      }
      for (const path of formFiles)
        expect((await ask(url + path, { headers } as Ask)).status, path).toBe(200);
    }
  });

  test('the inspector exchanges the API key for a cookie that is valid only for the inspector', async () => {
    const { url } = await withKey();
    const rejectedResponse = await enter(url, 'wrong');
    expect([rejectedResponse.status, rejectedResponse.headers['set-cookie']]).toEqual([403, undefined]);
    expect(rejectedResponse.text).toContain('not the API key');
    const right = await enter(url, KEY);
    expect([right.status, right.headers.location]).toEqual([303, '../inspector']);
    const [setCookie = ''] = right.headers['set-cookie'] ?? [];
    expect(setCookie).toMatch(
      /^actor_gateway_inspector=\d+\.[\w-]{43}; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    );
    expect(setCookie).not.toContain(KEY);
    const cookie = setCookie.split(';', 1)[0] ?? '';
    for (const path of [...pages, '/inspector/machines', '/inspector/assets/page.js'])
      expect((await ask(url + path, { headers: { cookie } })).status, path).toBe(200);
    expect((await ask(`${url}/servers`, { headers: { cookie } })).status).toBe(401);
    const response = await ask(`${url}/inspector/leave`, { method: 'POST', headers: { cookie } });
    expect(response.headers['set-cookie']).toEqual([expect.stringContaining('Max-Age=0')]);
  });

  test('the inspector redirects after login to the requested view, and to no other address', async () => {
    const { url } = await withKey();
    const locationFor = async (referer: string) => (await enter(url, KEY, { referer })).headers.location;
    expect(await locationFor(`${url}/inspector/view/files/numbers`)).toBe('view/files/numbers');
    expect(await locationFor('https://example.com/a/inspector/view/inspector/log')).toBe(
      'view/inspector/log',
    );
    for (const referer of [
      `${url}/servers`,
      'http://evil.example//evil.example/',
      `${url}/inspector/view/a\u00a0b`,
    ])
      expect(await locationFor(referer)).toBe('../inspector');
  });

  test('the inspector refuses foreign hosts and origins on all paths', async () => {
    const { url, port } = await withKey();
    const all = [
      ...guarded,
      ...[...pages, ...formFiles].map((path) => ['GET', path] as const),
      ['POST', '/inspector/session'] as const,
    ];
    for (const [method, path] of all) {
      for (const headers of [
        { host: 'evil.example' },
        { origin: 'http://evil.example' },
        { origin: 'null' },
      ]) {
        const answer = await ask(url + path, { method, headers: { 'x-api-key': KEY, ...headers } } as Ask);
        expect(answer.status, `${method} ${path} ${JSON.stringify(headers)}`).toBe(403);
      }
    }
    const own = await enter(url, KEY, { origin: `http://127.0.0.1:${port}` });
    expect(own.status).toBe(303);
  });

  test('the inspector sends live events with types and states only, without messages of servers', async () => {
    const { url } = await startGateway({
      http,
      servers: { echo: fault('echo', { env: { TOKEN: SECRET } }) },
    });
    const feed = await new FeedReader(url).opened();
    const [tree] = feed.trees;
    expect(tree?.actors.map(({ name }) => name)).toEqual(['gateway', 'servers', 'echo#1']);
    await ask(`${url}/servers/echo/start`, { method: 'POST' });
    await ask(`${url}/servers/echo/stop`, { method: 'POST' });
    await feed.until('the stop', () => feed.statesOf('echo').at(-1) === 'stopped');
    expect(feed.statesOf('echo')).toEqual(['starting', 'running', 'stopping', 'stopped']);
    const last = await feed.until('numbers after the stop', ({ numbers }) =>
      numbers.slice(1).find(({ servers }) => servers[0]?.state === 'stopped'),
    );
    expect(last).toMatchObject({ viewers: 1, is_draining: false, commands: false });
    expect(feed.reader.text).not.toContain(SECRET);
    // The number of running gateway parts is the only context that a machine publishes.
    const rest = feed.reader.text.replaceAll(/"context":\{"up":\d+\}/g, '');
    expect(rest).not.toMatch(/context|actorContext|jsonrpc/);
    expect(feed.reader.headers['cache-control']).toBe('no-store');
    feed.close();
  });

  test('the inspector sends the whole state to a viewer that connects later, and counts viewers', async () => {
    const { url } = await startGateway({ http, servers: { echo: fault('echo') } });
    const first = await new FeedReader(url).opened();
    await ask(`${url}/servers/echo/start`, { method: 'POST' });
    await first.until('running', () => first.statesOf('echo').at(-1) === 'running');
    const second = await new FeedReader(url).opened();
    expect(second.trees[0]?.actors.find(({ name }) => name === 'echo#1')?.state).toBe('running');
    expect(second.trees[0]?.recent.map(({ event }) => event)).toContain('pool.ready');
    expect(second.numbers[0]).toMatchObject({ viewers: 2, servers: [{ id: 'echo', state: 'running' }] });
    second.close();
    await first.until('one viewer', ({ numbers }) => numbers.length > 2 && numbers.at(-1)?.viewers === 1);
    first.close();
  });

  test('the inspector shows the last stderr lines of a server before its failure', async () => {
    const { url } = await startGateway({
      http,
      servers: { crashy: fault('exits-at-once', { env: { TOKEN: SECRET } }) },
    });
    await ask(`${url}/servers/crashy/start`, { method: 'POST' });
    const { json, text } = await ask(`${url}/inspector/api/servers/crashy`);
    expect(json.stderr).toEqual(['reading the settings', expect.stringContaining('was rejected')]);
    expect(json.last_error.code).toBe('ERR_START_FAILED');
    expect(text).not.toContain(SECRET);
    expect((await ask(`${url}/inspector/api/servers/nobody`)).status).toBe(404);
  });

  test('the inspector accepts start, stop and reload only if the gateway file allows these commands', async () => {
    const servers = { echo: fault('echo') };
    const plain = await startGateway({ http, servers });
    for (const path of ['servers/echo/start', 'servers/echo/stop', 'admin/reload']) {
      const answer = await ask(`${plain.url}/inspector/api/${path}`, { method: 'POST' });
      expect([path, answer.status]).toEqual([path, 403]);
      expect(answer.json.message).toContain('inspector.commands');
    }
    const settings = { inspector: { commands: true }, limits: { body_bytes: 65_536 } };
    const ready = await startGateway({ http, servers, settings });
    const post = (path: string) => ask(`${ready.url}/inspector/api/${path}`, { method: 'POST' });
    expect((await post('servers/echo/start')).json).toMatchObject({ id: 'echo', state: 'running' });
    expect((await post('servers/echo/stop')).json).toMatchObject({ state: 'stopped' });
    expect((await post('servers/echo/explode')).status).toBe(404);
    const large = await ask(`${ready.url}/inspector/api/servers/echo/start`, {
      method: 'POST',
      body: 'x'.repeat(65_537),
    });
    expect(large.status).toBe(413);
    ready.writeCatalog({ ...servers, more: fault('echo') });
    expect((await post('admin/reload')).json).toMatchObject({ added: ['more'] });
    ready.writeCatalog({ broken: { command: 7 } });
    const refusal = await post('admin/reload');
    expect(refusal.status).toBe(422);
    expect(refusal.json.problems[0]).toContain('catalog.yaml');
  });

  test('the inspector closes the event streams of viewers with a notice as soon as the gateway stops', async () => {
    const gateway = await startGateway({
      http,
      servers: { echo: fault('echo') },
      settings: { shutdown_seconds: 20 },
    });
    const feed = await new FeedReader(gateway.url).opened();
    const began = performance.now();
    expect(await gateway.stop()).toBe(0);
    await feed.reader.ended();
    expect(feed.numbers.at(-1)?.is_draining).toBe(true);
    expect(performance.now() - began).toBeLessThan(15_000);
  });

  test('the inspector refuses a viewer above the limit until another viewer has disconnected', async () => {
    const { url } = await startGateway({ http, servers: {} });
    const feeds = await Promise.all(Array.from({ length: 64 }, () => new FeedReader(url).opened()));
    const refusal = await ask(`${url}/inspector/feed`);
    expect([refusal.status, refusal.headers['retry-after']]).toEqual([503, '5']);
    feeds.pop()?.close();
    await eventually('capacity for another', async () => {
      const feed = new FeedReader(url);
      await feed.reader.opened();
      feeds.push(feed);
      return feed.reader.status === 200;
    });
    for (const feed of feeds) feed.close();
  });

  test('the inspector is not available if it is disabled', async () => {
    const { url } = await startGateway({ http, servers: {}, settings: { inspector: { enabled: false } } });
    for (const path of [...pages, '/inspector/feed', ...formFiles])
      expect((await ask(url + path)).status, path).toBe(404);
  });
});
