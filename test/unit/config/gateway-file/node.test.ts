// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../../../config/load-config.ts';
import { ConfigError, formatProblem } from '../../../../config/reader/problem.ts';
import { ConfigFolder } from '../config-folder.ts';

const folder = new ConfigFolder();

const minimal = 'listen_addr: 127.0.0.1:8080\ncatalog_path: catalog.yaml\n';
const store = 'store: { postgres: { url: "postgres://gateway:hush-hush@db/gateway" } }\n';
const secret = 'a-secret-of-the-cluster';

describe('a gateway in a cluster', () => {
  test('has an address and a secret, which is never shown', async () => {
    const { loaded, lines } = await folder.loadGateway(
      `${minimal}${store}node: { name: eu-1, address: "10.0.0.5:7000", bind: "0.0.0.0:7000", secret: "\${CLUSTER}" }\n`,
      { CLUSTER: secret },
    );
    expect(lines).toEqual([]);
    expect(loaded?.config.node).toEqual({
      name: 'eu-1',
      address: '10.0.0.5:7000',
      bind: '0.0.0.0:7000',
      secret,
    });
    expect(loaded?.secrets).toContain(secret);
  });

  test.each([
    ['{ address: "10.0.0.5:7000" }', 'node.address: needs node.secret, which authenticates the gateways'],
    [
      `{ address: "10.0.0.5:0", secret: ${secret} }`,
      'node.address: needs a fixed port: other gateways connect to it',
    ],
    [
      `{ address: "0.0.0.0:7000", secret: ${secret} }`,
      'node.address: is not reachable from other machines; write the address of this machine, and the listen address as node.bind',
    ],
    [
      `{ address: nowhere, secret: ${secret} }`,
      'node.address: expected host:port, such as 10.0.0.5:7000 or [fd00::5]:7000, found "nowhere"',
    ],
    [
      '{ secret: too-short, address: "a:1" }',
      'node.secret: expected at least 16 characters on one line, without spaces at either end, found text',
    ],
    ['{ bind: "0.0.0.0:7000" }', 'node.bind: has no effect without node.address'],
  ])('reports the invalid settings %s', async (node, problem) => {
    const { lines } = await folder.loadGateway(`${minimal}${store}node: ${node}\n`);
    expect(lines).toEqual([expect.stringMatching(/^gateway\.yaml:4:\d+: /)]);
    expect(lines).toEqual([expect.stringContaining(problem)]);
  });

  test('warns about an address without a shared database, and refuses a secret in shell syntax', async () => {
    const alone = await folder.loadGateway(`${minimal}node: { address: "a:1", secret: ${secret} }\n`);
    expect(alone.lines).toEqual([
      expect.stringContaining(
        'gateway.yaml:3:18: warning: node.address: has no effect without store.postgres',
      ),
    ]);
    const { lines } = await folder.loadGateway(
      `${minimal}${store}node: { address: "a:1", secret: $CLUSTER_SECRET_OF_OURS }\n`,
    );
    expect(lines.join('\n')).toContain('node.secret: is shell syntax');
  });
});

describe('certificate files of a cluster node', () => {
  beforeAll(() => {
    const make = (name: string) =>
      execFileSync(
        'openssl',
        [
          ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
          ...['-subj', '/CN=localhost', '-days', '2', '-keyout', `${name}.key`, '-out', `${name}.pem`],
        ],
        { cwd: folder.path, stdio: 'pipe' },
      );
    make('one');
    make('two');
    writeFileSync(join(folder.path, 'no.pem'), 'nothing of the kind\n');
  });

  const problemsOf = async (tls: string): Promise<readonly string[]> => {
    const file = join(folder.path, 'tls.yaml');
    writeFileSync(file, `${minimal}${store}node: { address: "a:1", secret: ${secret}, tls: ${tls} }\n`);
    try {
      const { config, warnings } = await loadConfig(file, {}, { isListening: true });
      expect(config.node.tls?.cert).toBe(join(folder.path, 'one.pem'));
      return warnings.map(formatProblem);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return error.problems.map(({ message }) => message);
    }
  };

  test('are read before the start, and problems name the file', async () => {
    const path = (name: string) => join(folder.path, name);
    expect(await problemsOf('{ cert: one.pem, key: one.key, ca: two.pem }')).toEqual([]);
    expect(await problemsOf('{ cert: one.pem, key: two.key, ca: two.pem }')).toEqual([
      `node.tls.key: ${path('two.key')}: is not the key of node.tls.cert`,
    ]);
    expect(await problemsOf('{ cert: one.pem, key: one.key, ca: no.pem }')).toEqual([
      `node.tls.ca: ${path('no.pem')}: has no certificate in PEM`,
    ]);
    expect(await problemsOf('{ cert: no.pem, key: one.key, ca: two.pem }')).toEqual([
      `node.tls.cert: ${path('no.pem')}: cannot be used as PEM`,
    ]);
    expect(await problemsOf('{ cert: missing.pem, key: one.key, ca: two.pem }')).toEqual([
      `node.tls.cert: ${path('missing.pem')}: cannot be read (ENOENT)`,
    ]);
  });
});
