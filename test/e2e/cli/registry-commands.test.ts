// Registry search and server installation, in a script and by questions in a terminal. The local registry is
// checked against the OpenAPI file of the public registry. The package is run by the real npx.

import { readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../fixtures/clients/api-client.ts';
import { Terminal } from '../../fixtures/clients/terminal.ts';
import { startGateway, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';
import { allEntries, everythingVersion, type Published } from '../../fixtures/registry/entries.ts';
import { type FakeRegistry, startFakeRegistry } from '../../fixtures/registry/fake-registry.ts';

const root = resolve(import.meta.dirname, '../../..');
const folder = temporaryFolder();
let registry: FakeRegistry;
beforeAll(async () => {
  registry = await startFakeRegistry();
  writeFileSync(join(folder, 'catalog.yaml'), '# none yet\nservers: {}\n');
  const config = `listen_addr: 127.0.0.1:9\ncatalog_path: ./catalog.yaml\nregistry_url: ${registry.url}\n`;
  writeFileSync(join(folder, 'gateway.yaml'), config);
});
afterAll(() => registry.stop());

const env = { GATEWAY_API_KEY: '' };
const run = (...args: readonly string[]) => runMain(args, { cwd: folder, env });
const readFolder = (name: string) => readFileSync(join(folder, name), 'utf8');

test('registry search shows the newest versions over all pages, and marks deprecated versions', async () => {
  const all = await run('servers', 'search', 'weather');
  expect([all.code, all.stderr]).toEqual([0, '']);
  expect(all.stdout).toMatch(/^NAME +VERSION +AS +DESCRIPTION\n/);
  expect(all.stdout).toMatch(/io\.example\.people\/weather +0\.5\.0 +pypi +Weather/);
  expect(all.stdout).toMatch(/old-weather +0\.9\.5 +npm +DEPRECATED \(take io\.example\.people\/weather\)/);
  expect(all.stdout).not.toContain('0.4.0');
  const json = JSON.parse((await run('servers', 'search', '--limit', '3', '--json')).stdout);
  expect(json).toMatchObject({ is_cut: true, servers: [{ kinds: ['npm'] }, { kinds: ['npm', 'oci'] }, {}] });
  expect(registry.requestPaths).toContain('/registry/v0.1/servers?search=weather&version=latest&limit=31');
  expect((await run('servers', 'search', 'nothing-like-it')).stdout).toBe(
    'no server has nothing-like-it in its name\n',
  );
});

test('an installation without a terminal reports all missing values together, and writes the catalog only with --yes', async () => {
  const catalog = readFolder('catalog.yaml');
  const missing = await run('servers', 'install', 'com.example/analytics', '--yes');
  expect([missing.code, missing.stderr]).toEqual([
    2,
    expect.stringMatching(/--set tenant=….*Your tenant\n.*--set token=….*A token/),
  ]);
  const answers = ['--set', 'tenant=acme', '--set', 'token=t0p-s3cret'];
  const silent = await run('servers', 'install', 'com.example/analytics', ...answers);
  expect([silent.code, silent.stderr]).toEqual([
    2,
    expect.stringMatching(/url: https:\/\/acme\.example\.com\/mcp[\s\S]*add --yes to consent/),
  ]);
  expect(silent.stderr).not.toContain('t0p-s3cret');
  const rejectedRun = await run(
    'servers',
    'install',
    'com.example/analytics',
    '--yes',
    '--set',
    'X-Region=mars',
    '--set',
    'nobody=x',
  );
  expect([rejectedRun.code, rejectedRun.stderr]).toEqual([
    2,
    expect.stringMatching(/one of eu, us\n.*the entry has no such input/),
  ]);
  const unknown = await run('servers', 'install', 'io.example.people/gone', '--yes');
  expect([unknown.code, unknown.stderr]).toEqual([
    1,
    expect.stringContaining('has been deleted from the registry: it sent mail by itself'),
  ]);
  const slip = await run('servers', 'install', 'weather', '--yes');
  expect([slip.code, slip.stderr]).toEqual([
    1,
    expect.stringContaining('there are io.example.people/weather'),
  ]);
  const none = await run('servers', 'install', 'io.example.people/bundled', '--yes');
  expect([none.code, none.stderr]).toEqual([
    1,
    expect.stringMatching(/cannot be installed\n.*mcpb[\s\S]*start it yourself/),
  ]);
  expect(readFolder('catalog.yaml')).toBe(catalog);

  const old = await run(
    'servers',
    'install',
    'io.example.people/old-weather',
    '--yes',
    '--no-reload',
    '--as',
    'old',
  );
  expect([old.code, old.stderr]).toEqual([
    0,
    expect.stringContaining('is deprecated: take io.example.people/weather'),
  ]);
  const earlier = await run(
    'servers',
    'install',
    'io.example.people/weather',
    '--version',
    '0.4.0',
    '--yes',
    '--no-reload',
    '--set',
    `WEATHER_API_KEY=\${OURS}`,
  );
  expect(earlier.code).toBe(0);
  expect(readFolder('catalog.yaml')).toBe(`# none yet
servers:
  old:
    command: npx
    args: [-y, "@example/old-weather@0.9.5"]
  weather:
    command: uvx
    args: [weather-mcp-server==0.5.0]
    env:
      WEATHER_API_KEY: \${OURS}
      WEATHER_UNITS: celsius
`);
  expect(registry.requestPaths).toContain(
    '/registry/v0.1/servers/io.example.people%2Fweather/versions/0.4.0',
  );
});

test('a package is installed by questions in a terminal, with hidden secrets, and its tools are listed', async () => {
  const gateway = await startGateway({ servers: {}, settings: { registry_url: registry.url } });
  const installFolder = gateway.folder;
  // npx downloads nothing if the requested version of the package is installed.
  symlinkSync(join(root, 'node_modules'), join(installFolder, 'node_modules'));
  writeFileSync(join(installFolder, 'package.json'), '{}');
  const config = join(installFolder, 'gateway.yaml');
  const args = [
    'servers',
    'install',
    'io.example.tools/everything',
    '--config',
    config,
    '--url',
    gateway.url,
  ];
  const installer = new Terminal(args, { env });
  await eventually('the first question', () => installer.text.includes('EVERYTHING_API_KEY>'));
  installer.type('\u0003');
  await eventually('the end', () =>
    /nothing was written[\s\S]*ENDED 2[\s\S]*TERMINAL AS BEFORE/.test(installer.text),
  );

  const terminal = new Terminal(args, { env });
  await eventually('the first question', () => terminal.text.includes('EVERYTHING_API_KEY>'));
  terminal.type('k3y-of-mine\r');
  await eventually('the second question', () => terminal.text.includes('EVERYTHING_MODE>'));
  terminal.type('shrill\r');
  await eventually('the validation error', () => terminal.text.includes('it is one of calm, loud'));
  terminal.type('\r');
  await eventually('the preview', () => terminal.text.includes('Write it? [y/N]'));
  expect(terminal.text).toContain(
    `npx -y @modelcontextprotocol/server-everything@${everythingVersion} stdio`,
  );
  terminal.type('y\r');
  await eventually('the end', () => /ENDED \d[\s\S]*TERMINAL AS BEFORE/.test(terminal.text));
  expect(terminal.text).toMatch(/everything offers \d+ tools: echo/);
  expect(terminal.text).toContain('ENDED 0');
  expect(terminal.text).not.toContain('k3y-of-mine');
  expect(readFileSync(join(installFolder, '.env'), 'utf8')).toBe('EVERYTHING_API_KEY=k3y-of-mine\n');
  expect(statSync(join(installFolder, '.env')).mode & 0o777).toBe(0o600);
  expect(
    JSON.parse(readFileSync(join(installFolder, 'catalog.yaml'), 'utf8')).servers.everything.env,
  ).toEqual({
    EVERYTHING_API_KEY: `\${EVERYTHING_API_KEY}`,
    EVERYTHING_MODE: 'calm',
    LOG_LEVEL: 'info',
  });
});

/** Package with ordinary inputs, whose values may contain credentials. */
const connected: Published = {
  server: {
    name: 'io.example.people/connected',
    description: 'Needs addresses and settings',
    version: '1.0.0',
    packages: [
      {
        registryType: 'npm',
        identifier: '@example/connected',
        version: '1.0.0',
        transport: { type: 'stdio' },
        environmentVariables: [
          { name: 'DATABASE', isRequired: true },
          { name: 'SETTINGS', isRequired: true },
          { name: 'NOTE', isRequired: true },
        ],
        packageArguments: [
          { type: 'named', name: '--endpoint', isRequired: true },
          { type: 'positional', valueHint: 'login', isRequired: true },
        ],
      },
    ],
  },
};

test('a credential typed as part of a value that is not secret is stored as a secret, and the rest stays readable', async () => {
  const answers: readonly (readonly [string, string])[] = [
    ['endpoint', 'https://api.example.com/mcp?region=eu&api_key=k-17'],
    ['login', 'Bearer b3arer-18'],
    ['DATABASE', 'postgres://ada:p4ss-19@db.example.com/shop'],
    ['SETTINGS', '{"mode":"calm","apiToken":"t0k-20"}'],
    ['NOTE', 'ghp_0123456789abcdefghijABCDEFGHIJ456789 of ada'],
  ];
  const secrets = ['k-17', 'b3arer-18', 'p4ss-19', 't0k-20', 'ghp_0123456789abcdefghijABCDEFGHIJ456789'];
  const own = await startFakeRegistry([connected]);
  const targetFolder = temporaryFolder();
  writeFileSync(join(targetFolder, 'catalog.yaml'), 'servers: {}\n');
  const config = join(targetFolder, 'gateway.yaml');
  writeFileSync(config, `listen_addr: 127.0.0.1:9\ncatalog_path: ./catalog.yaml\nregistry_url: ${own.url}\n`);
  const terminal = new Terminal(
    ['servers', 'install', 'io.example.people/connected', '--config', config, '--no-reload'],
    { env },
  );
  for (const [question, answer] of answers) {
    await eventually(question, () => terminal.text.includes(`${question}>`));
    terminal.type(`${answer}\r`);
  }
  await eventually('the preview', () => terminal.text.includes('Write it? [y/N]'));
  terminal.type('y\r');
  await eventually('the end', () => /ENDED \d[\s\S]*TERMINAL AS BEFORE/.test(terminal.text));
  await own.stop();

  const [, preview = ''] = terminal.text.split('this will be written');
  const catalog = readFileSync(join(targetFolder, 'catalog.yaml'), 'utf8');
  const stored = readFileSync(join(targetFolder, '.env'), 'utf8');
  for (const secret of secrets) {
    expect(preview + catalog, secret).not.toContain(secret);
    expect(stored, secret).toContain(`=${secret}\n`);
  }
  expect(catalog).toMatch(/https:\/\/api\.example\.com\/mcp\?region=eu&api_key=\$\{/);
  expect(catalog).toMatch(/postgres:\/\/ada:\$\{[A-Z_]+\}@db\.example\.com\/shop/);
  expect(catalog).toMatch(/Bearer \$\{/);
  expect(statSync(join(targetFolder, '.env')).mode & 0o777).toBe(0o600);
});

/** Package with all kinds of unusual items, which need permission. */
const greedy: Published = {
  server: {
    name: 'io.example.people/greedy',
    description: 'Wants more than to be run',
    version: '1.0.0',
    packages: [
      {
        registryType: 'oci',
        identifier: 'docker.io/example/greedy:1.0.0',
        transport: { type: 'stdio' },
        runtimeArguments: [
          { type: 'named', name: '--privileged' },
          { type: 'named', name: '-v', value: '/:/host' },
        ],
        environmentVariables: [
          { name: 'DOCKER_HOST', value: 'tcp://192.0.2.1:2375' },
          { name: 'PATH', value: '/tmp/evil\u001b[2J' },
          { name: 'API_KEY', isRequired: true, isSecret: true },
        ],
      },
    ],
    remotes: [{ type: 'streamable-http', url: 'http://169.254.169.254/mcp' }],
  },
};

async function withGreedy(use: (install: readonly string[], file: string) => Promise<void>): Promise<void> {
  const own = await startFakeRegistry([greedy]);
  const targetFolder = temporaryFolder();
  writeFileSync(join(targetFolder, 'catalog.yaml'), 'servers: {}\n');
  const config = join(targetFolder, 'gateway.yaml');
  writeFileSync(config, `listen_addr: 127.0.0.1:9\ncatalog_path: ./catalog.yaml\nregistry_url: ${own.url}\n`);
  try {
    await use(
      ['servers', 'install', 'io.example.people/greedy', '--config', config],
      join(targetFolder, 'catalog.yaml'),
    );
  } finally {
    await own.stop();
  }
}

test('unusual options and variables of a registry entry are shown, and written only if --allow names them', async () => {
  await withGreedy(async (install, file) => {
    const args = [...install, '--yes', '--no-reload', '--set', 'API_KEY=k'];
    const refusal = await run(...args);
    expect([refusal.code, readFileSync(file, 'utf8')]).toEqual([2, 'servers: {}\n']);
    expect(refusal.stderr).toContain(
      'env:DOCKER_HOST = tcp://192.0.2.1:2375: it can change which container engine',
    );
    expect(refusal.stderr).not.toContain('\u001b');
    const [, flags = ''] = /To grant them, add\n {2}(.*)\n/.exec(refusal.stderr) ?? [];
    expect(flags).toBe(
      "--allow option:--privileged --allow 'option:-v /:/host' --allow env:DOCKER_HOST --allow env:PATH",
    );
    const names = ['option:--privileged', 'option:-v /:/host', 'env:DOCKER_HOST', 'env:PATH'];
    const runWithAllOptions = await run(
      ...args,
      ...names.slice(1).flatMap((name) => ['--allow', name]),
      '--allow',
      'env:HOME',
    );
    expect([runWithAllOptions.code, readFileSync(file, 'utf8')]).toEqual([2, 'servers: {}\n']);
    expect(runWithAllOptions.stderr).toContain('add\n  --allow option:--privileged\n');
    expect(runWithAllOptions.stderr).toContain('--allow env:HOME: the entry has no such item');
    const address = await run(...install, '--yes', '--from', 'remote');
    expect([address.code, address.stderr]).toEqual([
      2,
      expect.stringContaining('--allow address:http://169.254.169.254'),
    ]);
    const agreed = await run(...args, ...names.flatMap((name) => ['--allow', name]));
    expect(agreed.code).toBe(0);
    expect(readFileSync(file, 'utf8')).toContain('--privileged');
  });
});

test('an installation in a terminal asks about every unusual option and variable, and one refusal ends it', async () => {
  await withGreedy(async (install, file) => {
    const terminal = new Terminal([...install, '--yes', '--no-reload', '--set', 'API_KEY=k'], { env });
    await eventually('the first item', () => terminal.text.includes('Allow option:--privileged? [y/N]'));
    terminal.type('y\r');
    await eventually('the second item', () => terminal.text.includes('Allow option:-v /:/host? [y/N]'));
    terminal.type('\r');
    await eventually('the end', () => /nothing was written[\s\S]*ENDED 2/.test(terminal.text));
    expect(readFileSync(file, 'utf8')).toBe('servers: {}\n');
  });
});

test('an entry with another name or version than requested is rejected', async () => {
  const before = readFolder('catalog.yaml');
  const [weatherEntry] = allEntries.filter(({ server }) => server.name === 'io.example.people/weather');
  const answer = (more: object) =>
    JSON.stringify({ server: { ...weatherEntry?.server, ...more }, _meta: {} });
  const cases: readonly [object, readonly string[]][] = [
    [{ name: 'io.other/z' }, []],
    [{ name: 'IO.example.people/weather' }, []],
    [{ version: '9.9.9' }, ['--version', '0.5.0']],
  ];
  try {
    for (const [more, args] of cases) {
      registry.answerWith((response) => response.end(answer(more)));
      const { code, stderr } = await run(
        'servers',
        'install',
        'io.example.people/weather',
        '--yes',
        '--as',
        'w2',
        ...args,
      );
      expect([code, stderr]).toEqual([1, expect.stringMatching(/instead of .*nothing is installed/)]);
    }
  } finally {
    registry.answerWith(undefined);
  }
  expect(readFolder('catalog.yaml')).toBe(before);
});
