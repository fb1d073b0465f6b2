// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are what is tested.
import { afterAll, describe, expect, test } from 'vitest';
import { ConfigFolder } from '../config-folder.ts';

const folder = new ConfigFolder();
afterAll(() => folder.remove());

describe('the values to strike from what is shown', () => {
  test('are those of variables, env, headers and api_key, each once, the longest first', async () => {
    folder.write(
      'gateway.yaml',
      'listen_addr: 127.0.0.1:0\ncatalog_path: ${CATALOG}\napi_key: written-key\n',
    );
    folder.write(
      'catalog.yaml',
      `servers:
  a:
    command: x
    args: ["--token=\${ARG_TOKEN}", "plain-argument"]
    env: { TOKEN: "written-token", SAME: "written-token", SHORT: "12345", MIXED: "pre-\${ENV_TOKEN}", D: "\${NO:-fallback}" }
  b:
    url: https://h.example/mcp?key=\${URL_KEY}
    headers: { Authorization: "Bearer bearer-token", X-Key: header-value }
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
        'fallback',
        'header-value',
        'pre-env-token',
        'written-key',
        'written-token',
      ].sort(),
    );
    expect(secrets.map(({ length }) => length)).toEqual(
      secrets.map(({ length }) => length).sort((a, b) => b - a),
    );
  });

  test('are not those of names, paths, numbers and bare addresses, unless a field that may hold a key has them too', async () => {
    const env = {
      HOME: '/home/gateway-user',
      HOST: 'mcp.example.com',
      BASE: 'http://mcp.example.com:8000/v1',
      HOOK: 'https://h.example/T0001/B0001',
      PROGRAM: '/opt/server',
      WAIT: '123456',
      ISOLATION: 'session',
      API_TOKEN: '654321',
    };
    const catalog = (more: string) => `servers:
  a: { command: "\${PROGRAM}", args: ["\${HOME}/data"], cwd: "\${HOME}", request_timeout_seconds: "\${WAIT}", max_request_seconds: "\${API_TOKEN}" }
  b: { url: "https://\${HOST}/mcp", isolation: "\${ISOLATION}" }
  c: { url: "\${BASE}" }
  d: { url: "\${HOOK}" }
${more}`;
    const { loaded, lines } = await folder.loadCatalog(catalog(''), env);
    expect(lines).toEqual([]);
    expect(loaded?.secrets).toEqual([env.HOOK, env.API_TOKEN]);
    const again = await folder.loadCatalog(
      catalog('  e: { command: x, env: { A: "${PROGRAM}" }, args: ["${HOST}"] }\n'),
      env,
    );
    expect(again.loaded?.secrets).toEqual([env.HOOK, env.HOST, env.PROGRAM, env.API_TOKEN]);
  });

  test('hold the lines of a value of several lines', async () => {
    const { loaded } = await folder.loadCatalog('servers:\n  a: { command: x, env: { KEY: "${KEY}" } }\n', {
      KEY: '-----BEGIN-----\nAAAABBBBCCCC\n==\n',
    });
    expect(loaded?.secrets).toEqual([
      '-----BEGIN-----\nAAAABBBBCCCC\n==\n',
      '-----BEGIN-----',
      'AAAABBBBCCCC',
    ]);
  });

  test('are in no problem', async () => {
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
