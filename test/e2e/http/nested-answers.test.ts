// Answers above the nesting limit: their call fails immediately on all transports, and the server continues.

import { afterEach, expect, test } from 'vitest';
import { callOnce, details } from '../../fixtures/clients/raw-session.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { endServers, serve } from '../../fixtures/remote/bad-servers.ts';
import { answerJson, beginStream, idOf, methodOf, result } from '../../fixtures/remote/local-server.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const deep = `{"content":${'['.repeat(300)}${']'.repeat(300)}}`;
const introduction = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  serverInfo: { name: 'far', version: '1' },
};
/** No test can wait for this timeout. */
const longTimeout = { request_timeout_seconds: 300 };

afterEach(endServers);

test('a too deeply nested answer of a local server fails its call immediately', async () => {
  const { url } = await startGateway({ servers: { files: fault('puppet', longTimeout) } });
  const { status, error } = await callOnce(url, 'files', 'do', { steps: [{ answer: deep }] });
  expect(status).toBe(502);
  expect(error?.message).toMatch(/server files to tools\/call is nested too deeply \(more than 256 levels\)/);
  expect(error?.data).toMatchObject({ reason: 'ERR_UPSTREAM_PROTOCOL', server: 'files' });
  expect((await callOnce(url, 'files', 'do', { steps: [{ answer: '{"content":[]}' }] })).status).toBe(200);
  expect(await details(url, 'files')).toMatchObject({ restarts: 0, in_flight: 0 });
});

test.each(['JSON', 'an event stream'])(
  'a too deeply nested answer of a remote server fails its call immediately, as %s',
  async (form) => {
    const remote = await serve(({ req, res, body }) => {
      if (req.method !== 'POST') return void res.writeHead(405).end();
      if (idOf(body) === undefined) return void res.writeHead(202).end();
      const message = `{"jsonrpc":"2.0","id":${idOf(body)},"result":${deep}}`;
      if (methodOf(body) === 'initialize') answerJson(res, result(body, introduction));
      else if (!body.includes('deep')) answerJson(res, result(body, { content: [] }));
      else if (form === 'JSON') res.writeHead(200, { 'content-type': 'application/json' }).end(message);
      else {
        beginStream(res);
        // The stream stays open: the call must fail before it closes.
        res.write(`id: 1\ndata: ${message}\n\n`);
      }
    });
    const servers = { far: { url: remote.url().href, era: 'legacy', ...longTimeout } };
    const gateway = await startGateway({ servers });
    const { url } = gateway;
    const { status, error } = await callOnce(url, 'far', 'deep');
    expect(status).toBe(502);
    expect(error?.message).toMatch(/server far to tools\/call is nested too deeply \(more than 256 levels\)/);
    expect((await callOnce(url, 'far', 'flat')).status).toBe(200);
    await gateway.stop();
  },
);
