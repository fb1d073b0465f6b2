// Unusual values in registry entries are detected in all forms.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readEntry } from '../../../../actors/mcp/registry/entry.ts';
import { type Plan, plansFor } from '../../../../src/cli/registry/install-plan.ts';
import type { Answers } from '../../../../src/cli/registry/questions.ts';

const planOf = (server: object): Plan => {
  const entry = readEntry({ server: { name: 'io.x/y', description: 'd', version: '1', ...server } });
  const [plan] = entry === undefined ? [] : plansFor(entry).plans;
  if (plan === undefined) throw new Error('expected a plan');
  return plan;
};
const withPackage = (registryType: string, more: object) =>
  planOf({
    packages: [
      {
        registryType,
        identifier: registryType === 'oci' ? 'x/y' : 'x',
        transport: { type: 'stdio' },
        ...more,
      },
    ],
  });
const at = (url: string, variables = {}) =>
  planOf({ remotes: [{ type: 'streamable-http', url, variables }] });
const namesOf = (plan: Plan, answers: Answers = {}) => plan.unusual(answers).map(({ name }) => name);

describe('a variable of a registry entry', () => {
  const steering = [
    ...[
      'PATH',
      'Path',
      'LD_PRELOAD',
      'LD_LIBRARY_PATH',
      'DYLD_INSERT_LIBRARIES',
      'NODE_OPTIONS',
      'NODE_PATH',
    ],
    ...[
      'PYTHONPATH',
      'PYTHONSTARTUP',
      'BASH_ENV',
      'ENV',
      'GIT_SSH_COMMAND',
      'GIT_CONFIG_COUNT',
      'DOCKER_HOST',
    ],
    ...[
      'npm_config_registry',
      'NPM_CONFIG_REGISTRY',
      'UV_INDEX_URL',
      'UV_DEFAULT_INDEX',
      'PIP_INDEX_URL',
      'HOME',
    ],
    ...['CONTAINER_HOST', 'HTTP_PROXY', 'https_proxy', 'ALL_PROXY', 'SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS'],
    ...[
      'NODE_TLS_REJECT_UNAUTHORIZED',
      'JAVA_TOOL_OPTIONS',
      'PERL5OPT',
      'RUBYOPT',
      'XDG_CONFIG_HOME',
      'SHELL',
    ],
    ...['RUSTC_WRAPPER', 'AWS_CONFIG_FILE', 'PLAYWRIGHT_DOWNLOAD_HOST', 'GTK_MODULES', 'LESSOPEN'],
  ];
  test.each(steering)('%s is unusual, as a value, a default, a template or an answer', (name) => {
    const forms: readonly [object, Answers][] = [
      [{ value: '/x' }, {}],
      [{ default: '/x' }, {}],
      [{ value: '{a}{b}', variables: { a: { value: '/' }, b: { default: 'x' } } }, {}],
      [{ isRequired: true }, { [name]: ['/x'] }],
      [{ isRequired: true, isSecret: true }, { [name]: ['/x'] }],
    ];
    for (const kind of ['npm', 'pypi', 'oci'])
      for (const [input, answers] of forms)
        expect(namesOf(withPackage(kind, { environmentVariables: [{ name, ...input }] }), answers)).toEqual([
          `env:${name}`,
        ]);
  });

  test.each([
    ...['API_KEY', 'WEATHER_UNITS', 'LOG_LEVEL', 'GIT_TOKEN', 'NODE_ENV', 'PYTHONUNBUFFERED', 'HTTP_PORT'],
    ...['DATABASE_URL', 'GITHUB_TOKEN', 'ENVIRONMENT', 'PATHS', 'TMP_NAME'],
  ])('%s is usual', (name) => {
    expect(namesOf(withPackage('npm', { environmentVariables: [{ name, value: 'x' }] }))).toEqual([]);
  });

  test('named PATH is unusual only if the entry sets a value, and is then listed with value and reason', () => {
    expect(namesOf(withPackage('npm', { environmentVariables: [{ name: 'PATH' }] }))).toEqual([]);
    const [item] = withPackage('npm', {
      environmentVariables: [{ name: 'PATH', value: '/tmp/evil' }],
    }).unusual({});
    expect(item).toEqual({
      name: 'env:PATH',
      value: '/tmp/evil',
      reason: 'it can change which programs are run',
    });
  });

  test('with an invalid name is unusual', () => {
    expect(
      namesOf(withPackage('npm', { environmentVariables: [{ name: 'A=1\nPATH', value: 'x' }] })),
    ).toHaveLength(1);
  });
});

describe('an option that is reported as unusual in a registry entry', () => {
  const option = (values: readonly string[]) => ({
    runtimeArguments: values.map((value) => ({ type: 'positional', value })),
  });
  test.each([
    ['oci', ['--privileged'], ['--privileged']],
    ['oci', ['-v', '/:/host'], ['-v /:/host']],
    ['oci', ['-v/:/host'], ['-v/:/host']],
    [
      'oci',
      ['--volume=/:/host', '--mount', 'type=bind,src=/,dst=/h'],
      ['--volume=/:/host', '--mount type=bind,src=/,dst=/h'],
    ],
    ['oci', ['--network', 'host', '--net=host'], ['--network host', '--net=host']],
    [
      'oci',
      ['--pid=host', '--ipc=host', '--uts=host', '--userns=host'],
      ['--pid=host', '--ipc=host', '--uts=host', '--userns=host'],
    ],
    ['oci', ['--device', '/dev/sda', '--cap-add=ALL'], ['--device /dev/sda', '--cap-add=ALL']],
    ['oci', ['--security-opt', 'seccomp=unconfined'], ['--security-opt seccomp=unconfined']],
    [
      'oci',
      ['--env-file', '/etc/x', '-p', '80:80', '--add-host=a:1', '--entrypoint', 'sh'],
      ['--env-file /etc/x', '-p 80:80', '--add-host=a:1', '--entrypoint sh'],
    ],
    ['oci', ['-iv', '/:/host'], ['-iv /:/host']],
    ['oci', ['evil/image'], ['evil/image']],
    ['oci', ['run', '-i', '--rm', '-e', 'A=b', '--env=C', '--memory', '1g', '--network=none'], []],
    [
      'npm',
      ['--registry=http://192.0.2.1', '--package', 'evil'],
      ['--registry=http://192.0.2.1', '--package evil'],
    ],
    [
      'npm',
      ['-c', 'curl x | sh', '--node-options=--require=/x'],
      ['-c curl x | sh', '--node-options=--require=/x'],
    ],
    ['npm', ['evil'], ['evil']],
    ['npm', ['-y', '--quiet', 'x@1'], []],
    [
      'pypi',
      ['--index-url', 'http://192.0.2.1', '--with', 'evil'],
      ['--index-url http://192.0.2.1', '--with evil'],
    ],
    [
      'pypi',
      ['--from', 'git+https://example.com/x', '--python', '/tmp/evil'],
      ['--from git+https://example.com/x', '--python /tmp/evil'],
    ],
    ['pypi', ['--python', '3.12', '-q'], []],
  ])('of %s: %j', (kind, values, unusual) => {
    expect(namesOf(withPackage(kind, option(values)))).toEqual(unusual.map((each) => `option:${each}`));
  });

  test('is any option that is not known as usual', () => {
    const value = fc.oneof(
      fc.stringMatching(/^--x[a-z-]{1,10}(?:=[a-z/:=]{0,6})?$/),
      fc.stringMatching(/^-[A-Zabcdfghjkorux]{1,3}$/),
      fc.constantFrom(
        '--privileged',
        '--volume=/:/x',
        '--network=host',
        '--registry=http://192.0.2.1',
        '--eval=1',
      ),
    );
    fc.assert(
      fc.property(
        fc.constantFrom('npm', 'pypi', 'oci'),
        fc.array(value, { maxLength: 6 }),
        (kind, values) => {
          expect(namesOf(withPackage(kind, option(values)))).toEqual(values.map((each) => `option:${each}`));
        },
      ),
    );
  });
});

describe('a package source that is reported as unusual in a registry entry', () => {
  test.each([
    ['npm', { registryBaseUrl: 'https://registry.npmjs.org' }, []],
    [
      'npm',
      { registryBaseUrl: 'https://registry.npmjs.org.evil.test' },
      ['source:https://registry.npmjs.org.evil.test'],
    ],
    ['npm', { registryBaseUrl: 'http://registry.npmjs.org' }, ['source:http://registry.npmjs.org']],
    ['oci', { identifier: 'ghcr.io/x/y' }, []],
    ['oci', { identifier: 'docker.io/x/y', registryBaseUrl: 'https://docker.io' }, []],
    ['oci', { identifier: '192.168.1.5:5000/x' }, ['source:192.168.1.5:5000']],
    ['oci', { identifier: 'x/y', registryBaseUrl: 'https://images.evil.test' }, ['source:images.evil.test']],
    ['oci', { identifier: 'localhost/x' }, ['source:localhost']],
  ])('of %s: %j', (kind, more, unusual) => {
    expect(namesOf(withPackage(kind, more))).toEqual(unusual);
  });
});

describe('a remote address', () => {
  test.each([
    ...['http://169.254.169.254/latest', 'https://127.0.0.1/mcp', 'https://2130706433/', 'https://0x7f.1/'],
    ...[
      'https://localhost./mcp',
      'https://a.localhost/',
      'https://router.lan/',
      'https://metadata.google.internal/',
    ],
    ...[
      'https://10.1.2.3/',
      'https://172.31.0.1/',
      'https://192.168.0.1/',
      'https://100.64.0.1/',
      'https://[::1]/',
    ],
    ...['https://[fd00::1]/', 'https://[fe80::1]/', 'https://[::ffff:10.0.0.1]/', 'https://[2002:a00:1::]/'],
    ...['https://intranet/', 'https://0.0.0.0/', 'https://0/', 'https://user@127.0.0.1/'],
  ])('%s is in a private network', (url) => {
    const [item] = at(url).unusual({});
    expect(item?.name).toBe(`address:${new URL(url).origin}`);
    expect(item?.reason).toContain('private network');
  });

  test.each([
    'https://mcp.example.com/mcp',
    'https://8.8.8.8/',
    'https://[2606:4700::1]/',
    'https://172.32.0.1/',
  ])('%s is public', (url) => expect(namesOf(at(url))).toEqual([]));

  test('is unusual without HTTPS or in a private network, also if a default or a user input completes it', () => {
    expect(namesOf(at('http://mcp.example.com/'))).toEqual(['address:http://mcp.example.com']);
    expect(namesOf(at('https://{a}.0.0.1/', { a: { default: '127' } }))).toEqual([
      'address:https://127.0.0.1',
    ]);
    expect(
      namesOf(at('{base}/mcp', { base: { isRequired: true } }), { base: ['http://localhost:3000'] }),
    ).toEqual(['address:http://localhost:3000']);
    expect(
      namesOf(at('https://{host}/', { host: { isRequired: true, isSecret: true } }), { host: ['x'] }),
    ).toHaveLength(1);
  });
});
