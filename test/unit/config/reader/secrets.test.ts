// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConfigFolder } from '../config-folder.ts';

const folder = new ConfigFolder();

/** Returns the credentials of a server with two credentials and three ordinary values. */
async function credentialsOf(id: string): Promise<readonly string[]> {
  const { lines, loaded } = await folder.loadCatalog(`servers:
  local${id}: { command: x, env: { ALLOW_EMPTY_PASSWORD: yes-please, RELEASE: a1b2c3d4e5f6 } }
  ${JSON.stringify(id)}: { command: x, env: { GITHUB_TOKEN: qX7vT2mN9pL4, ALLOW_EMPTY_PASSWORD: yes-please } }
  remote${id}: { url: "https://h.example/T024/x7Kp2mQ9vL4n", headers: { X-Api-Key: zK3wR8sD1fG6 } }
`);
  expect(lines).toEqual([]);
  return [...(loaded?.secrets ?? [])].sort();
}

describe('the values to redact', () => {
  test('are those of variables, headers, api_key and credential names, each once, longest first', async () => {
    folder.write(
      'gateway.yaml',
      'listen_addr: 127.0.0.1:0\ncatalog_path: ${CATALOG}\napi_key: written-key\n',
    );
    folder.write(
      'catalog.yaml',
      `servers:
  a:
    command: x
    args: ["--token=\${ARG_TOKEN}", "plain-argument", "--api-key=of-an-argument"]
    env: { TOKEN: "written-token", SAME: "written-token", SHORT: "12345", MIXED: "pre-\${ENV_TOKEN}", D: "\${NO:-fallback}", NODE_ENV: production }
  b:
    url: https://h.example/mcp?key=\${URL_KEY}
    headers: { Authorization: "Bearer bearer-token", X-Key: header-value, X-Region: eu-central-1 }
`,
    );
    const { loaded } = await folder.load({
      CATALOG: './catalog.yaml',
      ARG_TOKEN: 'arg-token',
      ENV_TOKEN: 'env-token',
      URL_KEY: 'short',
    });
    const secrets = loaded?.secrets ?? [];
    expect([...secrets].sort()).toEqual(
      [
        'Bearer bearer-token',
        'arg-token',
        'bearer-token',
        'env-token',
        'header-value',
        'of-an-argument',
        'written-key',
        'written-token',
      ].sort(),
    );
    expect(secrets.map(({ length }) => length)).toEqual(
      secrets.map(({ length }) => length).sort((a, b) => b - a),
    );
  });

  test('do not include names, paths, numbers and plain URLs', async () => {
    const env = {
      HOME: '/home/gateway-user',
      HOST: 'mcp.example.com',
      BASE: 'http://mcp.example.com:8000/v1',
      HOOK: 'https://h.example/T0001/x7Kp2mQ9vL4n',
      PROGRAM: '/opt/server',
      WAIT: '123456',
      ISOLATION: 'session',
      API_TOKEN: '654321',
      REGION: 'eu-central-1',
    };
    const catalog = (more: string) => `servers:
  a: { command: "\${PROGRAM}", args: ["\${HOME}/data"], cwd: "\${HOME}", request_timeout_seconds: "\${WAIT}", max_request_seconds: "\${API_TOKEN}" }
  b: { url: "https://\${HOST}/mcp", isolation: "\${ISOLATION}" }
  c: { url: "\${BASE}" }
  d: { url: "\${HOOK}" }
${more}`;
    const { loaded, lines } = await folder.loadCatalog(catalog(''), env);
    expect(lines).toEqual([]);
    expect(loaded?.secrets).toEqual(['x7Kp2mQ9vL4n']);
    const again = await folder.loadCatalog(
      catalog('  e: { command: x, env: { A: "${PROGRAM}", B: "${REGION}" }, args: ["${HOST}"] }\n'),
      env,
    );
    expect(again.loaded?.secrets).toEqual(['x7Kp2mQ9vL4n']);
  });

  test("of one server are those of its own fields, in a catalog and in a client's file", async () => {
    const servers = `{
  a: { command: x, env: { API_TOKEN: qX7vT2mN9pL4, MODE: production, FREE: "\${FREE}" }, args: ["postgres://u:s3cretpw99@h/db"] },
  "b.c": { url: "https://h.example/mcp?key=\${KEY}", headers: { X-Org: zK3wR8sD1fG6, X-Region: eu-central-1 } },
  d: { command: x, env: { NODE_ENV: production, GIT_BASE_DIR: /srv/repos } } }`;
    for (const key of ['servers', 'mcpServers']) {
      const { loaded } = await folder.loadCatalog(`${key}: ${servers}\n`, {
        FREE: 'uY6tE1rW8qA3',
        KEY: 'hJ5bN0cV4mQ9',
      });
      const credentials = Object.values(loaded?.catalog.servers ?? {}).map((entry) => entry.credentials);
      expect(credentials).toEqual([
        expect.arrayContaining(['qX7vT2mN9pL4', 'uY6tE1rW8qA3', 's3cretpw99']),
        expect.arrayContaining(['hJ5bN0cV4mQ9', 'zK3wR8sD1fG6']),
        undefined,
      ]);
      expect(credentials.map((each) => each?.length)).toEqual([3, 2, undefined]);
    }
  });

  test.each([
    'rate-limit',
    'max',
    'token-count',
    'number.of.keys',
    'no',
    'use-auth',
    'slack-webhook',
    'webhook',
  ])('do not depend on the id of the server: %s', async (id) => {
    expect(await credentialsOf(id)).toEqual(['qX7vT2mN9pL4', 'zK3wR8sD1fG6']);
  });

  test('do not depend on a generated id of the server', async () => {
    const part = fc.constantFrom(
      'max',
      'limit',
      'token',
      'Webhook',
      'url',
      'access',
      'key',
      'id',
      'no',
      'use',
      'a1',
      '0',
    );
    const id = fc
      .array(part, { minLength: 1, maxLength: 4 })
      .chain((parts) => fc.constantFrom('-', '_', '.', '').map((separator) => parts.join(separator)));
    await fc.assert(
      fc.asyncProperty(id, async (each) => {
        expect(await credentialsOf(each)).toEqual(['qX7vT2mN9pL4', 'zK3wR8sD1fG6']);
      }),
      { numRuns: 40 },
    );
  });

  test('include the lines of a multi-line value', async () => {
    const { loaded } = await folder.loadCatalog('servers:\n  a: { command: x, env: { KEY: "${KEY}" } }\n', {
      KEY: '-----BEGIN-----\nMIIEvQIBADAN\n==\n',
    });
    expect(loaded?.secrets).toEqual([
      '-----BEGIN-----\nMIIEvQIBADAN\n==\n',
      '-----BEGIN-----',
      'MIIEvQIBADAN',
    ]);
  });

  test('are in no problem message, even if the field of a secret is invalid', async () => {
    const { problems } = await folder.loadCatalog(
      `servers:
  a:
    command: x
    env: { A: "\${A}\0", "B\0": "hush-b" , C: [hush-c] }
    idle_timeout_seconds: \${A}
    isolation: "x\${A}"
  b:
    url: "\${A}"
    headers: { "X Y": hush-d, Host: hush-e, Z: "hush\\nf" }
  c: { command: x, env: "hush-g", headers: "hush-h", args: "hush-i" }
  d: { url: "https://hush-j:hush-k@host/?hush-l" }
`.replace(/\0/g, '\\0'),
      { A: 'hush-value' },
    );
    expect(problems.length).toBeGreaterThan(10);
    expect(problems.map(({ message }) => message).join('\n')).not.toContain('hush');
  });
});
