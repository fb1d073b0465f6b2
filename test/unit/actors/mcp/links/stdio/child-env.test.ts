import { describe, expect, test } from 'vitest';
import {
  type ChildEnvironmentEntry,
  childEnvironment as childEnvironmentOf,
} from '../../../../../../actors/mcp/links/stdio/child-env.ts';

const childEnvironment = (
  entry: ChildEnvironmentEntry,
  variables: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform,
) => childEnvironmentOf(entry, { variables, ownKeys: new Set(['own key']) }, platform);

const gatewayEnv = {
  PATH: '/bin',
  HOME: '/home/me',
  LC_ALL: 'C',
  LC_TIME: 'de_DE',
  https_proxy: 'http://proxy',
  NODE_EXTRA_CA_CERTS: '/ca.pem',
  GATEWAY_API_KEY: 'own key',
  OTHER_TOKEN: "another server's",
  NODE_OPTIONS: '--inspect',
  LCX: 'no',
  EMPTY: undefined,
};

describe('the environment of a child process', () => {
  test('contains only the variables that every program needs', () => {
    expect(childEnvironment({ env: {}, inherit_env: [] }, gatewayEnv, 'linux')).toEqual({
      PATH: '/bin',
      HOME: '/home/me',
      LC_ALL: 'C',
      LC_TIME: 'de_DE',
      https_proxy: 'http://proxy',
      NODE_EXTRA_CA_CERTS: '/ca.pem',
    });
  });

  test('contains the inherited variables, and those of the catalog entry take precedence', () => {
    const env = childEnvironment(
      { env: { PATH: '/own', TOKEN: 't' }, inherit_env: ['OTHER_TOKEN', 'EMPTY', 'MISSING'] },
      gatewayEnv,
      'linux',
    );
    expect(env).toMatchObject({ PATH: '/own', TOKEN: 't', OTHER_TOKEN: "another server's" });
    expect(Object.keys(env)).not.toContain('EMPTY');
    expect(Object.keys(env)).not.toContain('MISSING');
    expect(Object.keys(env)).not.toContain('GATEWAY_API_KEY');
  });

  test("contains the gateway environment without the gateway's own key if inherit_env is true", () => {
    const { EMPTY: _, GATEWAY_API_KEY: __, ...all } = gatewayEnv;
    expect(childEnvironment({ env: { A: 'b' }, inherit_env: true }, gatewayEnv, 'linux')).toEqual({
      ...all,
      A: 'b',
    });
  });

  test("contains the gateway's own key if the entry names its variable", () => {
    expect(
      childEnvironment({ env: {}, inherit_env: ['GATEWAY_API_KEY'] }, gatewayEnv, 'linux'),
    ).toMatchObject({
      GATEWAY_API_KEY: 'own key',
    });
  });

  test('contains the Windows variables on Windows, with any case of the names', () => {
    const env = { Path: 'C:\\bin', SYSTEMROOT: 'C:\\Windows', Secret: 'x' };
    expect(childEnvironment({ env: { PATH: 'D:\\' }, inherit_env: [] }, env, 'win32')).toEqual({
      PATH: 'D:\\',
      SYSTEMROOT: 'C:\\Windows',
    });
    expect(childEnvironment({ env: {}, inherit_env: [] }, env, 'linux')).toEqual({});
  });
});
