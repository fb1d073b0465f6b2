// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.

import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ResourceFolder, triggerText } from '../resource-folder.ts';

const folder = new ResourceFolder();

const env = { SECRET: 'a-secret-of-the-trigger', OTHER: 'another-secret-of-it' };
const credentials = 'app_id: "app-1", app_password: "${SECRET}"';

describe('a trigger of type TeamChat', () => {
  test('has every default, with the token URL of multi-tenant bots', async () => {
    const { trigger, lines } = await folder.loadConfig('TeamChat', credentials, { env });
    expect(lines).toEqual([]);
    expect(trigger).toMatchObject({
      type: 'TeamChat',
      mentions: 'none',
      config: {
        app_id: 'app-1',
        app_password: env.SECRET,
        tenant_id: undefined,
        allowed_tenants: [],
        allowed_channels: [],
        approval_allowed_users: [],
        bots: 'ignore',
        reactions: 'ignore',
        verify_tokens: true,
        openid_metadata_url: 'https://login.botframework.com/v1/.well-known/openidconfiguration',
        token_url: 'https://login.microsoftonline.com/botframework.com/oauth2/v2.0/token',
        service_url_allow: [],
        path: '/webhook/teamchat',
      },
    });
  });

  test('with one tenant has the token URL of the tenant; tenants and hosts are in lower case', async () => {
    const config = `${credentials}, tenant_id: "AAAA-1", allowed_tenants: ["BBBB-2"],
      service_url_allow: [Chat.example.com, "chat.example.com:8443", "http://127.0.0.1:3978"]`;
    // MSTeams is an alias of TeamChat.
    const { trigger, lines } = await folder.loadConfig('MSTeams', config, { env });
    expect(lines).toEqual([]);
    expect(trigger?.config).toMatchObject({
      tenant_id: 'aaaa-1',
      allowed_tenants: ['bbbb-2'],
      token_url: 'https://login.microsoftonline.com/AAAA-1/oauth2/v2.0/token',
      service_url_allow: ['chat.example.com', 'chat.example.com:8443', 'http://127.0.0.1:3978'],
    });
  });

  test('warns about a token URL of another tenant, and ignores an empty tenant or URL', async () => {
    const at = (tenant: string) => `https://login.microsoftonline.com/${tenant}/oauth2/v2.0/token`;
    const load = (more: string) => folder.loadConfig('TeamChat', `${credentials}, ${more}`, { env });
    const other = await load(`tenant_id: "AAAA-1", token_url: "${at('botframework.com')}"`);
    expect(other.errors).toEqual([]);
    expect(other.lines.join()).toContain('has another tenant than tenant_id');
    expect((await load(`tenant_id: "AAAA-1", token_url: "${at('aaaa-1')}"`)).lines).toEqual([]);
    const { trigger, lines } = await load('tenant_id: "", token_url: ""');
    expect(lines).toEqual([]);
    expect(trigger?.config).toMatchObject({ tenant_id: undefined, token_url: at('botframework.com') });
  });

  test('accepts URLs of another provider, unencrypted on this machine only', async () => {
    const config = `${credentials}, openid_metadata_url: "http://127.0.0.1:9/meta", token_url: "https://login.example/token"`;
    const { trigger, lines } = await folder.loadConfig('TeamChat', config, { env });
    expect(lines).toEqual([]);
    expect(trigger?.config).toMatchObject({
      openid_metadata_url: 'http://127.0.0.1:9/meta',
      token_url: 'https://login.example/token',
    });
  });

  test.each([
    ['app_id: a', 'spec.config.app_password: required, but missing'],
    [`${credentials}, verify_tokens: false`, 'spec.config.verify_tokens: must be true'],
    [
      `${credentials}, token_url: "http://login.example/token"`,
      'spec.config.token_url: must be https, except on this machine',
    ],
    [
      `${credentials}, openid_metadata_url: "http://login.example/"`,
      'spec.config.openid_metadata_url: must be https, except on this machine',
    ],
    [`${credentials}, token_url: "login.example"`, 'spec.config.token_url: expected an address'],
    [
      `${credentials}, token_url: "https://me:secret@login.example/"`,
      'spec.config.token_url: contains a user name or password',
    ],
    [
      `${credentials}, service_url_allow: ["https://chat.example"]`,
      'spec.config.service_url_allow[0]: is not a host such as chat.example.com',
    ],
    [
      `${credentials}, service_url_allow: [a, "*.example"]`,
      'spec.config.service_url_allow[1]: is not a host such as chat.example.com',
    ],
    [
      `${credentials}, service_url_allow: ["http://chat.example:80"]`,
      'spec.config.service_url_allow[0]: must be https, except on this machine',
    ],
    [
      `${credentials}, path: /mcp/x`,
      'spec.config.path: /mcp and all paths below it are reserved for the gateway',
    ],
  ])('refuses { %s }', async (config, problem) => {
    const { trigger, errors } = await folder.loadConfig('TeamChat', config, { env });
    expect(trigger).toBe(undefined);
    expect(errors.join('\n')).toContain(problem);
  });

  const files = (configs: readonly string[]) =>
    configs
      .map((config, i) =>
        triggerText('TeamChat', config, '  default_agent: echo').replace('name: t', `name: t${i}`),
      )
      .join('\n---\n');

  test.each([
    ['the same settings', ['', ''], 1],
    ['overlapping lists', [', allowed_channels: [a, b]', ', allowed_channels: [b]'], 1],
    ['disjoint lists', [', allowed_channels: [a]', ', allowed_channels: [b]'], 0],
    ['one list, which is more specific', [', allowed_channels: [a]', ''], 0],
    ['disjoint tenants', [', allowed_tenants: [a]', ', allowed_tenants: [b]'], 0],
  ])(
    'next to another trigger of the same app with %s warns if these triggers accept the same events',
    async (_, more, count) => {
      const text = files(more.map((each) => credentials + each));
      const { lines } = await folder.loadText(text, { env });
      expect(lines.filter((line) => line.includes('accepts the same events'))).toHaveLength(count);
      expect(lines).toHaveLength(count);
    },
  );

  test('warns about another password for the same app', async () => {
    const text = files([
      `${credentials}, allowed_channels: [a]`,
      `app_id: "app-1", app_password: "\${OTHER}", allowed_channels: [b]`,
    ]);
    const { lines } = await folder.loadText(text, { env });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('uses another app_password');
  });
});

test('the example of TeamChat is valid with only its credentials', async () => {
  const root = resolve(import.meta.dirname, '../../../../..');
  const files = [join(root, 'examples/team-chats/team.yaml'), join(root, 'examples/agents')];
  const environment = { TEAMCHAT_APP_ID: 'app-1', TEAMCHAT_APP_PASSWORD: 'a-secret-of-the-trigger' };
  const { lines, triggers } = await folder.load({ files, env: environment });
  expect(lines).toEqual([]);
  expect(triggers).toMatchObject([
    {
      type: 'TeamChat',
      config: {
        service_url_allow: ['smba.trafficmanager.net'],
        tenant_id: undefined,
        token_url: 'https://login.microsoftonline.com/botframework.com/oauth2/v2.0/token',
      },
    },
  ]);
  const ofOne = await folder.load({ files, env: { ...environment, TEAMCHAT_TENANT_ID: 'aaaa-1' } });
  expect(ofOne.lines).toEqual([]);
  expect(ofOne.triggers).toMatchObject([
    { config: { token_url: 'https://login.microsoftonline.com/aaaa-1/oauth2/v2.0/token' } },
  ]);
});

test.each([
  'openid_metadata_url: "https://login.botframework.azure.us/v1/.well-known/openidconfiguration"',
  'token_url: "https://login.microsoftonline.us/t/oauth2/v2.0/token"',
  'token_url: "https://login.partner.microsoftonline.cn/t/oauth2/v2.0/token"',
  'service_url_allow: [smba.infra.gov.teams.microsoft.us]',
])('a TeamChat trigger of a government cloud is refused with the reason: %s', async (more) => {
  const { errors } = await folder.loadConfig('TeamChat', `${credentials}, ${more}`, { env });
  expect(errors.join()).toContain(
    'belongs to a government cloud or the China cloud, which are not supported',
  );
});
