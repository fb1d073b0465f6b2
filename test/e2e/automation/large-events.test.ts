// Events of several megabytes for a slow agent: memory stays bounded, and the agent receives the events
// complete.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import {
  eventually,
  httpAgent,
  postHook,
  postRepoEvent,
  SECRET,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';

const MB = 1024 * 1024;
const cleanups: (() => void)[] = [];
afterAll(() => {
  for (const end of cleanups) end();
});

function rssBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

/** Many small objects: the worst case for the parser. */
function manyItems(bytes: number): object[] {
  const items: object[] = [];
  for (let n = 0, size = 0; size < bytes; n += 1) {
    const item = {
      id: n,
      path: `src/dir${n % 100}/file${n}.ts`,
      lines: [n, 1.5, -2],
      note: 'changed "here" \\ there',
    };
    items.push(item);
    size += JSON.stringify(item).length + 1;
  }
  return items;
}

interface ReceivedJob {
  readonly body: Buffer;
  answer(): void;
}

/** Capacity of an agent: half of 64 MiB. The other half is reserved. */
const AT_ONCE = 5;

/** Starts an agent that answers when the test releases it. */
async function slowAgent() {
  const requests: ReceivedJob[] = [];
  const waiting = { now: 0, most: 0 };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      waiting.now += 1;
      waiting.most = Math.max(waiting.most, waiting.now);
      const answer = () => {
        waiting.now -= 1;
        response.end('{"text":""}');
      };
      requests.push({ body: Buffer.concat(chunks), answer });
    });
  });
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, heard: requests, waiting };
}

test('twelve events of 7 MB for a slow agent use little memory and arrive whole', async () => {
  const agent = await slowAgent();
  const gateway = await startAutomation({
    resources: [
      trigger('orders', {
        type: 'HTTP',
        config: { path: '/hooks/orders', webhook_secret: SECRET, key: 'body:order.id' },
        default_agent: 'orders',
      }),
      httpAgent('orders', agent.url),
    ],
  });
  const payloads = Array.from({ length: 12 }, (_, n) => ({
    order: { id: `o${n}` },
    text: n === 3 ? 'é\\n'.repeat(MB) : `order ${n}`,
    items: manyItems(7 * MB),
  }));
  expect((await postHook(gateway.url, '/hooks/orders', { text: 'first', order: { id: 'x' } })).status).toBe(
    202,
  );
  await eventually(() => expect(agent.heard.length).toBe(1));
  agent.heard[0]?.answer();
  const before = rssBytes(gateway.pid);
  let mostBytes = before;
  const looking = setInterval(() => {
    mostBytes = Math.max(mostBytes, rssBytes(gateway.pid));
  }, 5);
  for (const payload of payloads)
    expect((await postHook(gateway.url, '/hooks/orders', payload)).status).toBe(202);
  // Time for the allowed number of jobs, or for more if the limit does not work.
  await eventually(() => expect(agent.waiting.now).toBeGreaterThan(2));
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(agent.waiting.now).toBeLessThanOrEqual(AT_ONCE);
  for (let done = 1; done <= payloads.length; done += 1) {
    await eventually(() => expect(agent.heard.length).toBeGreaterThan(done));
    agent.heard[done]?.answer();
  }
  clearInterval(looking);
  const jobs = agent.heard.slice(1).map(({ body }) => JSON.parse(body.toString()));
  expect(jobs.map(({ conversation }) => conversation).sort()).toEqual(
    payloads.map(({ order }) => `http/orders/${order.id}`).sort(),
  );
  for (const { input, event } of jobs) {
    const payload = payloads.find(({ order }) => order.id === event.payload.order.id);
    expect(input).toBe(payload?.text);
    expect(JSON.stringify(event.payload) === JSON.stringify(payload)).toBe(true);
  }
  expect(agent.waiting.most).toBeLessThanOrEqual(AT_ONCE);
  expect(mostBytes - before).toBeLessThan(330 * MB);
});

test('a large repository host delivery is parsed like a small delivery', async () => {
  const agent = await slowAgent();
  const gateway = await startAutomation({
    resources: [
      trigger('reviews', {
        type: 'RepoHost',
        config: { webhook_secret: SECRET, repositories: ['acme/*'], branches: ['main'] },
        commands: { 'pull_request.opened': { agent: 'reviewer' } },
      }),
      httpAgent('reviewer', agent.url),
    ],
  });
  const payload = (files: object[]) => ({
    files,
    action: 'opened',
    repository: { full_name: 'acme/shop' },
    sender: { login: 'alice' },
    pull_request: {
      number: 7,
      title: 'A change',
      body: 'of "words" \u00e9',
      user: { login: 'alice' },
      head: { ref: 'topic', sha: 'a'.repeat(40) },
      base: { ref: 'main' },
    },
  });
  for (const files of [[], manyItems(MB)]) {
    const answer = await postRepoEvent(gateway.url, 'pull_request', payload(files));
    expect(answer.status).toBe(202);
  }
  await eventually(() => expect(agent.heard.length).toBeGreaterThan(0));
  agent.heard[0]?.answer();
  await eventually(() => expect(agent.heard.length).toBe(2));
  agent.heard[1]?.answer();
  const [small, large] = agent.heard.map(({ body }) => JSON.parse(body.toString()));
  expect(large.event.payload).toEqual(payload(manyItems(MB)));
  for (const job of [small, large]) {
    delete job.event.payload;
    delete job.event.id;
    delete job.event.received_at;
    job.history = [];
  }
  expect(large).toEqual(small);
  expect(large.event.context).toMatchObject({ 'repo.pr.number': 7, 'repo.pr.title': 'A change' });
});

test('a large body that is no JSON is rejected if JSON is declared, otherwise read as text', async () => {
  const agent = await slowAgent();
  const gateway = await startAutomation({
    resources: [
      trigger('orders', {
        type: 'HTTP',
        config: { path: '/hooks/orders', required_headers: { 'x-key': 'a key' } },
        default_agent: 'orders',
      }),
      httpAgent('orders', agent.url),
    ],
  });
  const post = (body: string, type: string) =>
    fetch(`${gateway.url}/hooks/orders`, {
      method: 'POST',
      body,
      headers: { 'content-type': type, 'x-key': 'a key' },
    });
  const broken = `{"text":"hello","more":"${'x'.repeat(MB)}"`;
  expect((await post(broken, 'application/json')).status).toBe(400);
  expect((await post(broken, 'text/plain')).status).toBe(202);
  await eventually(() => expect(agent.heard.length).toBe(1));
  agent.heard[0]?.answer();
  expect(JSON.parse(agent.heard[0]?.body.toString() ?? '')).toMatchObject({ input: broken });
});
