// Last stderr lines of crashed servers, with real processes: the API and the inspector show them until the
// next process has written lines.

import { expect, test } from 'vitest';
import { ask, call, eventually, initialize, post, rpc } from '../../fixtures/clients/api-client.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const SECRET = 'sk-a-token-that-must-not-be-seen';

const stderrOf = async (url: string, id: string): Promise<string[]> => {
  const [api, inspector] = await Promise.all([
    ask(`${url}/servers/${id}`),
    ask(`${url}/inspector/api/servers/${id}`),
  ]);
  expect(api.text + inspector.text).not.toContain(SECRET);
  expect(inspector.json.stderr).toEqual(api.json.stderr);
  return api.json.stderr;
};

test('the last lines of a crashed process stay until the next process has written lines', async () => {
  const { url } = await startGateway({
    servers: { echo: fault('echo', { env: { TOKEN: SECRET }, restart: { min_backoff_ms: 10 } }) },
  });
  const say = (stderr: string) => rpc(url, 'echo', call('say', { stderr }));
  for (let line = 0; line < 60; line += 1) await say(`line ${line}`);
  await say(`out of memory, with ${SECRET}`);
  expect((await rpc(url, 'echo', call('crash'))).json.error).toBeDefined();
  await eventually('the failure', async () => (await ask(`${url}/servers/echo`)).json.state === 'failed');
  const lines = await stderrOf(url, 'echo');
  expect(lines).toHaveLength(50);
  expect(lines.slice(-2)).toEqual(['line 59', 'out of memory, with [redacted]']);
  await ask(`${url}/servers/echo/start`, { method: 'POST' });
  expect((await ask(`${url}/servers/echo`)).json.state).toBe('running');
  expect(await stderrOf(url, 'echo')).toEqual(lines);
  await say('up again');
  await eventually('the new line', async () => (await stderrOf(url, 'echo')).includes('up again'));
  expect(await stderrOf(url, 'echo')).toEqual(['up again']);
  await ask(`${url}/servers/echo/stop`, { method: 'POST' });
  expect(await stderrOf(url, 'echo')).toEqual(['up again']);
});

test('the stderr lines of one crashed session process are shown next to the lines of other processes', async () => {
  const { url } = await startGateway({
    servers: { echo: fault('echo', { isolation: 'session', env: { SAY: 'hello' } }) },
  });
  const address = `${url}/mcp/echo`;
  const [first, second] = [await initialize(address), await initialize(address)];
  await post(address, call('say', { stderr: 'second speaks' }), second);
  await post(address, call('say', { stderr: 'first falls over' }), first);
  await post(address, call('crash'), first);
  await eventually('the crash', async () => (await stderrOf(url, 'echo')).at(-1) === 'first falls over');
  const { json } = await ask(`${url}/servers/echo`);
  expect([json.state, json.connections.length]).toEqual(['running', 1]);
  expect(await stderrOf(url, 'echo')).toEqual(['hello', 'second speaks', 'hello', 'first falls over']);
});

test('secret values are removed from errors of a server, and results are unchanged', async () => {
  const { url, logs } = await startGateway({
    servers: { echo: fault('echo', { env: { TOKEN: SECRET } }) },
    settings: { log_level: 'debug' },
  });
  const error = await rpc(url, 'echo', call(`of ${SECRET}`));
  expect(error.json.error).toEqual({ code: -32602, message: 'no tool of [redacted]' });
  const echoed = await rpc(url, 'echo', call('echo', { token: SECRET }));
  expect(JSON.parse(echoed.json.result.content[0].text)).toEqual({ token: SECRET });
  expect(JSON.stringify(logs())).not.toContain(SECRET);
});
