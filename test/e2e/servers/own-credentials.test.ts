// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests write references.
// Redaction in errors of servers: a client receives the error as written, except for the credentials of the
// server. The test server repeats the name of an unknown tool in the error, so a test chooses the error text.
// The name of the variable FREE does not denote a credential, but its value is one.

import { afterEach, beforeAll, expect, test } from 'vitest';
import { ask, call, eventually, rpc } from '../../fixtures/clients/api-client.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { endServers, serve } from '../../fixtures/remote/bad-servers.ts';
import { answerJson, methodOf, result } from '../../fixtures/remote/local-server.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const own = { token: 'qX7vT2mN9pL4', variable: 'zK3wR8sD1fG6', quoted: 'pä"ss\\w0rd/x' };
const others = { token: 'hJ5bN0cV4mQ9', variable: 'uY6tE1rW8qA3', key: 'gateway-key-0815' };
const env = {
  NODE_ENV: 'production',
  GIT_BASE_DIR: '/srv/repos',
  LOG_LEVEL: 'WARNING',
  REPLICAS: '12345678',
  RELEASE: 'a1b2c3d4e5f6',
};

const introduction = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'far', version: '1' },
};

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGateway({
    servers: {
      own: fault('echo', {
        env: {
          ...env,
          API_TOKEN: own.token,
          QUOTED_PASSWORD: own.quoted,
          FREE: '${OWN_VARIABLE}',
          REGION: '${REGION}',
        },
      }),
      other: fault('echo', {
        env: { API_TOKEN: others.token, FREE: '${OTHER_VARIABLE}', BASE_DIR: '/srv/data' },
      }),
      'rate-limit': fault('echo', {
        env: {
          GITHUB_TOKEN: own.token,
          ALLOW_EMPTY_PASSWORD: 'yes-please',
          DATABASE: 'db://app:hunterpass@db',
        },
      }),
    },
    settings: { api_key: '${GATEWAY_KEY}', log_level: 'debug' },
    env: {
      OWN_VARIABLE: own.variable,
      OTHER_VARIABLE: others.variable,
      REGION: 'eu-central-1',
      GATEWAY_KEY: others.key,
    },
  });
});
afterEach(endServers);

const headers = { authorization: `Bearer ${others.key}` };
const errorOf = async (text: string, server = 'own'): Promise<string> =>
  (await rpc(gateway.url, server, call(text), headers)).json.error.message;

test.each([
  'could not open the production database in eu-central-1',
  '/srv/repos/a and /srv/data/b',
  'WARNING: 12345678 rows of a1b2c3d4e5f6',
  ...Object.values(others),
])(
  'the error text "%s", which contains no credential of its server, is forwarded unchanged',
  async (text) => {
    expect(await errorOf(text)).toBe(`no tool ${text}`);
  },
);

test.each(Object.entries(own))(
  'a credential of a server is removed from the errors of that server only: %s',
  async (_, secret) => {
    expect(await errorOf(`at ${secret} 🎭`)).toBe('no tool at [redacted] 🎭');
    expect(await errorOf(`at ${secret} 🎭`, 'other')).toBe(`no tool at ${secret} 🎭`);
  },
);

test('a server id with credential-like words does not turn other values of the server into credentials', async () => {
  const text = `${own.token} yes-please db://app:hunterpass@db`;
  expect(await errorOf(text, 'rate-limit')).toBe('no tool [redacted] yes-please db://app:[redacted]@db');
});

test('the log lines of a server show operators no credentials of any server', async () => {
  const { url, logs } = gateway;
  const secrets = [...Object.values(own), ...Object.values(others)];
  for (const secret of secrets)
    await rpc(url, 'own', call('say', { stderr: `WARNING: no ${secret}` }), headers);
  const lines = async () =>
    (await ask(`${url}/logs?server=own`, { headers })).json.lines.filter(({ text }: { text: string }) =>
      text.startsWith('WARNING'),
    );
  await eventually('the lines', async () => (await lines()).length === secrets.length);
  for (const line of await lines())
    expect(line).toMatchObject({ level: 'warn', text: 'WARNING: no [redacted]' });
  const { json } = await ask(`${url}/servers/own`, { headers });
  expect(json.stderr.slice(-secrets.length)).toEqual(secrets.map(() => 'WARNING: no [redacted]'));
  for (const secret of secrets)
    expect(JSON.stringify(logs())).not.toContain(JSON.stringify(secret).slice(1, -1));
});

test('a remote server’s refusal is quoted without the credentials of that server, but with the credentials of other servers', async () => {
  const server = await serve(({ req, res, body }) => {
    if (req.method !== 'POST') return void res.writeHead(405).end();
    const method = methodOf(body);
    if (method === 'initialize') return answerJson(res, result(body, introduction));
    if (method === 'notifications/initialized') return void res.writeHead(202).end();
    res.writeHead(400).end(JSON.parse(body).params.name);
  });
  const remote = await startGateway({
    servers: {
      far: { url: server.url('/mcp').href, headers: { 'X-Org': own.token, 'X-Mode': 'production' } },
      other: fault('echo', { env: { API_TOKEN: others.token } }),
    },
  });
  const quoted = async (text: string) => (await rpc(remote.url, 'far', call(text))).json.error.message;
  expect(await quoted(`no ${own.token}`)).toContain('(no [redacted])');
  expect(await quoted(`no ${others.token} in production`)).toContain(`(no ${others.token} in production)`);
});
