// Messages that are large, exactly at the limit, split, or invalid: valid messages pass unchanged, and a
// message above the limit fails only the call that it belongs to.

import { afterEach, describe, expect, it } from 'vitest';
import { callOnce, details, http, RawSession, until } from '../../fixtures/clients/raw-session.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { endServers, serve } from '../../fixtures/remote/bad-servers.ts';
import { answerJson, beginStream, idOf, methodOf, result } from '../../fixtures/remote/local-server.ts';
import { fault, signsOfBugs } from '../../fixtures/server/fault-servers.ts';
import { bigResult } from '../../fixtures/servers/big-result.mjs';

const MIB = 1024 * 1024;

const introduction = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  serverInfo: { name: 'far', version: '1' },
};

afterEach(endServers);

/** Raw bytes of `result` in a JSON message or in the data of an event. */
function rawResult(body: Buffer): Buffer {
  const from = body.indexOf('"result":') + '"result":'.length;
  return body.subarray(from, body.lastIndexOf('}'));
}

describe('a result of 10 MB', () => {
  it.each(['/mcp/echo', '/mcp', '/rpc'])('passes unchanged at %s', async (path) => {
    const { url } = await startGateway({ servers: { echo: fault('echo') } });
    const expected = Buffer.from(bigResult(10 * MIB));
    expect(expected.length).toBe(10 * MIB);
    let body: Buffer;
    if (path === '/rpc') {
      body = (await callOnce(url, 'echo', 'big', { bytes: 10 * MIB })).body;
    } else {
      const session = await RawSession.open(url, path);
      await session.request('tools/list');
      const name = path === '/mcp' ? 'echo__big' : 'big';
      body = (await session.call(name, { bytes: 10 * MIB })).body;
    }
    expect(rawResult(body).equals(expected)).toBe(true);
  });
});

describe('an argument of 4 MB', () => {
  it.each(['/mcp/echo', '/mcp', '/rpc'])('passes unchanged at %s', async (path) => {
    const { url } = await startGateway({ servers: { echo: fault('echo') } });
    const argument = bigResult(4 * MIB);
    const name = path === '/mcp' ? 'echo__mirror' : 'mirror';
    const body = `{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"_meta":{"progressToken":1.0},"name":"${name}","arguments":${argument}}}`;
    let answer: Buffer;
    if (path === '/rpc') {
      const headers = { 'content-type': 'application/json', 'x-mcp-server': 'echo' };
      answer = (await http(url + path, { method: 'POST', headers, body })).body;
    } else {
      const session = await RawSession.open(url, path);
      await session.request('tools/list');
      answer = (await session.raw(body)).body;
    }
    expect(answer.includes('"id":9007199254740993')).toBe(true);
    const { result } = JSON.parse(answer.toString()) as { result: { content: { text: string }[] } };
    expect(result.content[0]?.text === argument).toBe(true);
  });
});

describe('a message above limits.message_bytes', () => {
  const settings = { limits: { message_bytes: 2 * MIB } };

  it('from a server fails only the call it belongs to; other calls of the process continue', async () => {
    const { url, text } = await startGateway({ servers: { echo: fault('echo') }, settings });
    const session = await RawSession.open(url, '/mcp/echo');
    const pid = (await session.call('pid')).text;
    const long = session.call('wait', { ms: 700 });
    const streamed = session.call('count', { steps: 5, every_ms: 50, label: 'l' }, { progressToken: 1 });
    const [big, same] = await Promise.all([
      session.call('big', { bytes: 3 * MIB }, { id: 5 }),
      session.call('big', { bytes: MIB }, { id: 5 }),
    ]);
    expect([big.status, big.reason]).toEqual([200, 'ERR_MESSAGE_TOO_LARGE']);
    expect(big.messages).toHaveLength(1);
    expect(big.messages[0]?.id).toBe(5);
    expect(big.error?.message).toMatch(/limits\.message_bytes/);
    expect(rawResult(same.body).length).toBe(MIB);
    expect((await long).text).toBe('waited 700');
    expect((await streamed).text).toBe('{"steps":5,"label":"l"}');
    expect((await session.call('pid')).text).toBe(pid);
    expect(await details(url, 'echo')).toMatchObject({ restarts: 0, in_flight: 0 });
    expect(text()).not.toMatch(signsOfBugs);
  });

  it('that a server sends as a request is answered with an error', async () => {
    const patient = { request_timeout_seconds: 300 };
    const { url } = await startGateway({ servers: { asks: fault('puppet', patient) }, settings });
    const steps = [{ ask: 'sampling/createMessage', pad: 3 * MIB }];
    const { status, text } = await callOnce(url, 'asks', 'do', { steps });
    expect([status, text]).toEqual([200, expect.stringContaining('limits.message_bytes')]);
  });

  it('that a remote server sends as a request gets an error; the call continues', async () => {
    const question = `{"jsonrpc":"2.0","id":"q","method":"roots/list","params":{"pad":"${'x'.repeat(3 * MIB)}"}}`;
    let end = () => {};
    const remote = await serve(({ req, res, body }) => {
      if (req.method !== 'POST') return void res.writeHead(405).end();
      if (methodOf(body) === 'initialize') return answerJson(res, result(body, introduction));
      if (idOf(body) === undefined || methodOf(body) === undefined) {
        if (body.includes('"error"')) end();
        return void res.writeHead(202).end();
      }
      beginStream(res);
      res.write(`id: 1\ndata: ${question}\n\n`);
      end = () => res.end(`id: 2\ndata: ${JSON.stringify(result(body, { content: [] }))}\n\n`);
    });
    const servers = { far: { url: remote.url().href, era: 'legacy', request_timeout_seconds: 300 } };
    const gateway = await startGateway({ servers, settings });
    expect((await callOnce(gateway.url, 'far', 'asks')).status).toBe(200);
    await gateway.stop();
  });

  it('is rejected, but a message exactly at the limit passes', async () => {
    const { url } = await startGateway({ servers: { echo: fault('echo') }, settings });
    const session = await RawSession.open(url, '/mcp/echo');
    const atLimit = async (bytes: number) => (await session.call('big', { bytes }, { id: 1 })).reason;
    // The envelope of the result, with the id that the gateway uses, is shorter than 60 bytes.
    expect(await atLimit(2 * MIB - 60)).toBeUndefined();
    expect(await atLimit(2 * MIB)).toBe('ERR_MESSAGE_TOO_LARGE');
  });

  it('from a client returns 413, and the session continues', async () => {
    const { url } = await startGateway({
      servers: { echo: fault('echo') },
      settings: { limits: { body_bytes: MIB } },
    });
    const session = await RawSession.open(url, '/mcp/echo');
    const params = { name: 'mirror', arguments: 'x'.repeat(MIB) };
    const answer = await session.raw(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }));
    expect(answer.status).toBe(413);
    expect((await session.call('mirror', { small: 1 })).text).toBe('{"small":1}');
  });
});

describe('a server with noise on stdout', () => {
  it('is understood despite banners, partial lines and split characters', async () => {
    const gateway = await startGateway({
      servers: { noisy: fault('noisy', { env: { TOKEN: 'hush-hush-4711' } }) },
      settings: { log_level: 'debug' },
    });
    const session = await RawSession.open(gateway.url, '/mcp/noisy');
    const words = Array.from({ length: 20 }, (_, number) => `wörd ${number} 🎉`);
    const answers = await Promise.all(words.map((word) => session.call('echo', { word })));
    expect(answers.map(({ text }) => text)).toEqual(words.map((word) => `€ grüße 🎭 ${word}`));
    await until('the noise in the log', () => gateway.text().includes('listening'));
    expect(gateway.text()).not.toContain('hush-hush');
    expect(gateway.text()).not.toMatch(signsOfBugs);
    expect(await details(gateway.url, 'noisy')).toMatchObject({ state: 'running', failed: 0, restarts: 0 });
  });
});
