// Catalog commands of running gateways: add, disable, enable, remove. A reload reads `.env` again.

import {
  chmodSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { apiServer, ask, call, rpc } from '../../fixtures/clients/api-client.ts';
import { startGateway, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';

const catalogText = `# what we run
servers:
  # the first one
  first:
    command: node # of ours
    args: [ "-e", "process.exit(3)" ]

# the end
`;

const {
  args: [script],
} = apiServer();

test('a server is added, disabled, enabled and removed while a gateway runs, and the rest of the file is unchanged', async () => {
  const gateway = await startGateway({ catalogText });
  const { folder, url } = gateway;
  const file = join(folder, 'catalog.yaml');
  // The file is reached by a symbolic link, and has an unusual file mode.
  renameSync(file, join(folder, 'real.yaml'));
  symlinkSync('real.yaml', file);
  chmodSync(file, 0o640);
  const read = () => readFileSync(file, 'utf8');
  const run = (...args: readonly string[]) =>
    runMain([...args, ...(args.includes('--') ? [] : ['--url', url])], {
      cwd: folder,
      env: { GATEWAY_API_KEY: '' },
    });
  const add = (id: string, options: readonly string[], ...command: readonly string[]) =>
    run('servers', 'add', id, '--url', url, ...options, '--', ...command);
  const nameOf = async () => (await rpc(url, 'puppet', call('name'))).json.result.content[0]?.text;

  const variables = ['--env', 'TOKEN=of-the-puppet', '--env', `NAME=\${PUPPET}`, '--tag', 'toys'];
  const added = await add('puppet', variables, process.execPath, script ?? '');
  expect([added.code, added.stderr]).toEqual([1, '']);
  expect(added.stdout).toMatch(
    /refused the change and keeps the previous configuration: .*\n.*PUPPET is not set/s,
  );
  // The variable is set in .env, which the next reload reads.
  const env = join(folder, '.env');
  expect(statSync(env).mode & 0o777).toBe(0o600);
  writeFileSync(env, `${readFileSync(env, 'utf8')}PUPPET=first name\n`);
  const secondRun = await run('servers', 'enable', 'puppet');
  expect([secondRun.code, secondRun.stdout]).toEqual([
    0,
    expect.stringMatching(/is already in this state.*puppet offers \d+ tools: .*hold/s),
  ]);
  expect(await nameOf()).toBe('first name');
  writeFileSync(env, readFileSync(env, 'utf8').replace('first name', 'second name'));
  expect((await run('reload')).code).toBe(0);
  expect(await nameOf()).toBe('second name');
  const lines = [
    ['  puppet:', `    command: ${process.execPath}`],
    script !== undefined && script.length > 80
      ? ['    args:', `      - ${script}`]
      : [`    args: [${script}]`],
    ['    env:', `      TOKEN: \${TOKEN}`, `      NAME: \${PUPPET}`, '    tags: [toys]', ''],
  ];
  expect(read()).toBe(catalogText.replace('\n# the end', `${lines.flat().join('\n')}\n# the end`));
  expect(lstatSync(file).isSymbolicLink()).toBe(true);
  expect(statSync(file).mode & 0o777).toBe(0o640);

  const off = await run('servers', 'disable', 'puppet', '--json');
  expect(JSON.parse(off.stdout)).toMatchObject({
    server: 'puppet',
    did: 'disabled',
    gateway: 'reloaded',
    error: null,
  });
  expect((await ask(`${url}/servers/puppet`)).json.enabled).toBe(false);

  const duplicate = await add('puppet', [], 'node');
  expect([duplicate.code, duplicate.stderr]).toEqual([
    1,
    expect.stringContaining('already has a server puppet; add --force'),
  ]);
  const rejectedRun = await add('odd', ['--tag', 'not a tag'], 'node');
  expect([rejectedRun.code, rejectedRun.stderr]).toEqual([
    2,
    expect.stringMatching(/tags.*\nnothing was written/s),
  ]);
  const broken = await add(
    'broken',
    [],
    process.execPath,
    '-e',
    'console.error("no database"); process.exit(3)',
  );
  expect([broken.code, broken.stdout]).toEqual([
    1,
    expect.stringMatching(/exited with code 3.*stderr: no database/s),
  ]);

  for (const name of ['puppet', 'broken']) expect((await run('servers', 'remove', name)).code).toBe(0);
  expect(read()).toBe(catalogText);
  const unknown = await run('servers', 'remove', 'frist');
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('did you mean first?')]);
  expect((await ask(`${url}/servers`)).json.servers.map(({ id }: { id: string }) => id)).toEqual(['first']);
  expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  // The server writes its token to stderr, which is logged.
  expect(gateway.text()).toContain('my token is');
  expect(gateway.text()).not.toContain('of-the-puppet');
});

test('if no gateway runs, `servers add` still changes the catalog file, or creates it', async () => {
  const folder = temporaryFolder();
  const run = (...args: readonly string[]) => runMain(args, { cwd: folder, env: { GATEWAY_API_KEY: '' } });
  // No process listens on that port.
  const remote = [
    'servers',
    'add',
    'far',
    'https://mcp.example.com/mcp?key=4711-4711',
    '--header',
    'Authorization: Bearer s3cr3t-s3cr3t',
  ];
  const { code, stdout } = await run(...remote, '--url', 'http://127.0.0.1:9');
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(
      /no gateway runs at http:\/\/127\.0\.0\.1:9; start it with: .*--catalog catalog\.yaml/,
    ),
  ]);
  expect(readFileSync(join(folder, 'catalog.yaml'), 'utf8')).toBe(`servers:
  far:
    url: https://mcp.example.com/mcp?key=\${FAR_KEY}
    headers:
      Authorization: Bearer \${FAR_TOKEN}
`);
  expect(readFileSync(join(folder, '.env'), 'utf8')).toBe('FAR_TOKEN=s3cr3t-s3cr3t\nFAR_KEY=4711-4711\n');
  const remaining = await run('servers', 'disable', 'far', '--catalog', 'catalog.yaml', '--no-reload');
  expect([remaining.code, remaining.stdout]).toEqual([0, 'far is disabled in catalog.yaml\n']);
  const usage = await run('servers', 'add', 'x', '--header', 'a: b', '--', 'node');
  expect([usage.code, usage.stderr]).toEqual([
    2,
    expect.stringContaining('--header and --sse apply to addresses only'),
  ]);
});
