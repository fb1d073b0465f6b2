// Output of Python servers, reproduced by Node programs: buffered answers, progress bars, and log lines for
// each request.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ask, call, eventually, rpc } from '../../fixtures/clients/api-client.ts';
import { startGateway, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const start = (url: string, id: string) => ask(`${url}/servers/${id}/start`, { method: 'POST' });
const linesOf = async (url: string, id: string): Promise<string[]> =>
  (await ask(`${url}/logs?server=${id}&lines=1000`)).json.lines
    .filter(({ from }: { from: string }) => from === 'stderr')
    .map((line: { text: string }) => line.text);

test.concurrent('a server that buffers its output is recognised, and the error names the remedy', async () => {
  const { url } = await startGateway({
    servers: {
      buffered: fault('buffers-stdout', { start_timeout_seconds: 1 }),
      mute: fault('hangs-at-initialize', { start_timeout_seconds: 1 }),
    },
  });
  const [buffered, mute] = await Promise.all([start(url, 'buffered'), start(url, 'mute')]);
  expect(buffered.json).toMatchObject({
    error: 'Gateway Timeout',
    message: expect.stringMatching(
      /it answered only when its stdin was closed.*: set PYTHONUNBUFFERED=1 in `env`/,
    ),
  });
  expect(mute.json.message).toMatch(/within 1 s; raise start_timeout_seconds if it needs longer$/);
});

test.concurrent('a progress bar is shown in its last state, while it runs and in the error of the start', async () => {
  const ready = join(temporaryFolder(), 'ready');
  const bar = (more: object) => fault('python-like', { env: { READY: ready }, ...more });
  const { url } = await startGateway({
    servers: { slow: bar({ start_timeout_seconds: 5 }), loading: bar({}) },
  });
  const failed = start(url, 'slow');
  const started = start(url, 'loading');
  await eventually('the bar in the log', async () =>
    (await linesOf(url, 'loading')).some((line) => /^model\.safetensors: step \d+ \|/.test(line)),
  );
  const step = async () =>
    Number(/step (\d+) /.exec((await ask(`${url}/servers/loading`)).json.stderr.at(-1))?.[1]);
  const first = await step();
  await eventually('a later state', async () => (await step()) > first + 10);
  const { message } = (await failed).json;
  expect(message).toMatch(/its last line on stderr: model\.safetensors: step \d+ \|█{40}\| \[/);
  // One step takes 10 ms or longer; the beginning of the line is older than half of the time.
  expect(Number(/step (\d+)/.exec(message)?.[1])).toBeGreaterThan(20);
  writeFileSync(ready, '');
  expect((await started).status).toBe(200);
});

test.concurrent('lines caused by health pings do not fill the log of an idle server; the lines of calls are complete', async () => {
  const { url } = await startGateway({
    servers: { idle: fault('python-like', { health: { interval_seconds: 0.2 } }) },
  });
  await rpc(url, 'idle', call('echo'));
  await eventually('a ping', async () =>
    (await linesOf(url, 'idle')).some((line) => line.includes('PingRequest')),
  );
  const lines = await linesOf(url, 'idle');
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(await linesOf(url, 'idle')).toEqual(lines);
  for (let n = 0; n < 3; n += 1) await rpc(url, 'idle', call('echo'));
  await eventually(
    'the lines of the calls',
    async () => (await linesOf(url, 'idle')).filter((line) => line.includes('CallToolRequest')).length === 4,
  );
  const { stdout } = await runMain(['logs', '--server', 'idle', '--url', url]);
  expect(stdout).toMatch(/^idle \| info {31}CallToolRequest/m);
});
