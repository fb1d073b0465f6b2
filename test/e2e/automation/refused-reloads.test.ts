// A refused reload has no effect: the gateway keeps the previous catalog, variables and credentials.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  type AgentProgram,
  agent,
  httpAgent,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { apiServer, ask, eventually } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';

const providers = {
  fake: { type: 'openai-compatible', base_url: 'http://127.0.0.1:9/v1', api_key: 'sk-none-000000' },
};
const server = apiServer();
const RELOADED = 'triggers reloaded';
const REFUSED = 'changed files have errors; keeping the previous versions';

const manual = (more: object = {}) =>
  trigger('by-hand', { type: 'Manual', config: {}, default_agent: 'answers', ...more });
const modelAgent = (...ids: string[]) =>
  agent('uses-servers', { model: 'fake:m', mcp_servers: ids.map((id) => ({ server: id })) });

const reload = ({ url }: GatewayProcess) => ask(`${url}/admin/reload`, { method: 'POST' });

/** Writes the file in a single step: the folder watch sees one change. */
function write({ folder }: GatewayProcess, { kind, name, spec }: ReturnType<typeof agent>): void {
  const text = JSON.stringify({ apiVersion: 'example.com/v1', kind, metadata: { name }, spec });
  writeFileSync(join(folder, `${kind.toLowerCase()}s`, `${name}.yaml`), text);
}

/** Makes a change. Returns the first line that the folder watch then logs about it. */
async function lineAfterChange(gateway: GatewayProcess, change: () => void) {
  const before = gateway.logs().length;
  change();
  return eventually('the folder watch', () =>
    gateway
      .logs()
      .slice(before)
      .find(({ msg }) => msg === RELOADED || msg === REFUSED),
  );
}

async function refuse(gateway: GatewayProcess): Promise<string> {
  await lineAfterChange(gateway, () => write(gateway, manual({ nonsense: 1 })));
  const refusal = await reload(gateway);
  expect(refusal.status).toBe(422);
  return refusal.json.problems.join('\n');
}

const start = (more: Parameters<typeof startAutomation>[0] = {}) =>
  startAutomation({
    resources: [httpAgent('answers', 'http://127.0.0.1:9/'), manual(), modelAgent('first')],
    servers: { first: server },
    settings: { providers },
    isWatched: true,
    ...more,
  });

test.concurrent('after a refused reload, agents that name a server of the new catalog are refused until a reload adds the server', async () => {
  const gateway = await start();
  gateway.writeCatalog({ first: server, second: server });
  await refuse(gateway);
  expect((await lineAfterChange(gateway, () => write(gateway, manual()))).msg).toBe(RELOADED);
  const line = await lineAfterChange(gateway, () => write(gateway, modelAgent('second')));
  expect(line).toMatchObject({ msg: REFUSED, problems: [expect.stringContaining('second')] });
  expect((await reload(gateway)).json).toMatchObject({
    added: ['second'],
    triggers: { unchanged: ['by-hand'] },
  });
  expect((await lineAfterChange(gateway, () => write(gateway, modelAgent('second', 'first')))).msg).toBe(
    RELOADED,
  );
});

test.concurrent('after a refused reload, agents can still name a server that only the old catalog contains', async () => {
  const gateway = await start({ servers: { first: server, second: server } });
  gateway.writeCatalog({ first: server });
  await refuse(gateway);
  expect((await lineAfterChange(gateway, () => write(gateway, manual()))).msg).toBe(RELOADED);
  expect((await lineAfterChange(gateway, () => write(gateway, modelAgent('second')))).msg).toBe(RELOADED);
  const refusal = await reload(gateway);
  expect(refusal.status).toBe(422);
  expect(refusal.json.problems.join('\n')).toMatch(/second/);
});

test.concurrent('after a refused reload, agents keep the variables of the last applied .env file', async () => {
  const [before, after] = await Promise.all([startAgent(), startAgent()]);
  const gateway = await start();
  const env = (text: string) => writeFileSync(join(gateway.folder, '.env'), text);
  env(`WHERE=${before.url}\n`);
  expect((await reload(gateway)).status).toBe(200);
  env(`WHERE=${after.url}\nADDED=1\n`);
  await refuse(gateway);
  await lineAfterChange(gateway, () => write(gateway, manual()));
  await lineAfterChange(gateway, () => write(gateway, httpAgent('answers', `\${WHERE}`)));
  const run = async (receiver: AgentProgram, input: string) => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ input });
    await ask(`${gateway.url}/agents/answers/runs`, { method: 'POST', headers, body });
    await eventually('the request', () => receiver.requests.find((request) => request.body.input === input));
  };
  await run(before, 'under the variables in use');
  const line = await lineAfterChange(gateway, () =>
    write(
      gateway,
      agent('answers', { runtime: { http: { url: `\${WHERE}`, headers: { x: `\${ADDED}` } } } }),
    ),
  );
  expect(line).toMatchObject({ msg: REFUSED, problems: [expect.stringContaining('ADDED')] });
  expect((await reload(gateway)).status).toBe(200);
  await run(after, 'under the new variables');
  expect([before.requests.length, after.requests.length]).toEqual([1, 1]);
});

test.concurrent('credentials of a file are redacted once a reload has applied the file, but not if the reload has refused it', async () => {
  const gateway = await start({ isWatched: false });
  const hook = (more: object = {}) =>
    trigger('hook', {
      type: 'HTTP',
      default_agent: 'answers',
      config: { path: '/hook', webhook_secret: 'harmless-words' },
      ...more,
    });
  const record = async () => (await ask(`${gateway.url}/servers/harmless-words`)).text;
  write(gateway, hook({ nonsense: 1 }));
  expect((await reload(gateway)).status).toBe(422);
  expect(await record()).toContain('harmless-words');
  write(gateway, hook());
  expect((await reload(gateway)).status).toBe(200);
  expect(await record()).not.toContain('harmless-words');
});

test.concurrent('a reload that reports an invalid catalog does not also report its new servers as unknown to agents', async () => {
  const gateway = await start({ isWatched: false });
  write(gateway, modelAgent('second'));
  write(gateway, manual({ nonsense: 1 }));
  writeFileSync(
    join(gateway.folder, 'catalog.yaml'),
    JSON.stringify({ servers: { second: { ...server, comand: 'x' } } }),
  );
  const refusal = await reload(gateway);
  expect(refusal.status).toBe(422);
  const problems: string[] = refusal.json.problems;
  expect(problems).toHaveLength(2);
  expect(problems[0]).toMatch(/catalog\.yaml:.*comand/);
  expect(problems[1]).toMatch(/by-hand\.yaml:.*nonsense/);
});
