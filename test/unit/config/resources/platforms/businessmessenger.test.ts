// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
// Triggers of the business messenger, in either form.

import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ResourceFolder, triggerText } from '../resource-folder.ts';

const folder = new ResourceFolder();

const env = { SECRET: 'a-secret-of-the-trigger', OTHER: 'another-secret-of-it' };
const credentials =
  'access_token: "${SECRET}", phone_number_id: "100", verify_token: "${OTHER}", app_secret: "${OTHER}"';

describe('a trigger of type BusinessMessenger', () => {
  test('gets every default, and a warning that the default api_version is unsupported', async () => {
    const { trigger, lines } = await folder.loadConfig('BusinessMessenger', credentials, { env });
    expect(trigger).toMatchObject({
      type: 'BusinessMessenger',
      config: {
        bot_token: env.SECRET,
        phone_number_id: '100',
        verify_token: env.OTHER,
        app_secret: env.OTHER,
        business_account_id: undefined,
        path: '/webhook/businessmessenger',
        allowed_numbers: [],
        allowed_users: [],
        api_version: 'v18.0',
        graph_url: 'https://graph.facebook.com',
        insecure_allow_unverified: false,
      },
    });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(
      /^t\.yaml:6:11: warning: spec\.config\.api_version: v18\.0 is no longer supported/,
    );
  });

  test('warns about a literal token, with the field name that the file uses', async () => {
    const config = `${credentials.replace('${SECRET}', 'written-out')}, api_version: v24.0`;
    const { trigger, lines } = await folder.loadConfig('BusinessMessenger', config, { env });
    expect(lines).toEqual([
      't.yaml:6:27: warning: spec.config.access_token: is a literal secret; move it to the environment and write ${NAME}',
    ]);
    expect(trigger?.config).toMatchObject({ bot_token: 'written-out' });
  });

  test('accepts every field under the names of the vendor, and removes + from numbers', async () => {
    const config = `${credentials}, business_account_id: "7", allowed_numbers: ["+4912345678", "15550002222"],
      allowed_users: [US.1349], api_version: v24.0, graph_url: "http://127.0.0.1:9/", path: /in/messages`;
    const { trigger, lines } = await folder.loadConfig('WhatsApp', config, { env });
    expect(lines).toEqual([]);
    expect(trigger?.config).toMatchObject({
      allowed_numbers: ['4912345678', '15550002222'],
      allowed_users: ['US.1349'],
      graph_url: 'http://127.0.0.1:9',
      path: '/in/messages',
    });
  });

  test.each([
    ['phone_number_id: "1"', 'spec.config.bot_token: required, but missing'],
    [
      `${credentials}, bot_token: "\${SECRET}"`,
      'spec.config.access_token: means bot_token, which is also present',
    ],
    [
      credentials.replace('access_token', 'acces_token'),
      'spec.config.acces_token: unknown key; did you mean access_token?',
    ],
    [credentials.replace('app_secret', 'business_account_id'), 'spec.config: senders are not verified'],
    [
      `${credentials}, allowed_numbers: [a]`,
      'spec.config.allowed_numbers[0]: must be a phone number of digits',
    ],
    [`${credentials}, allowed_users: ["49123456"]`, 'spec.config.allowed_users[0]: is a phone number'],
    [`${credentials}, api_version: "18"`, 'spec.config.api_version: expected a version such as v24.0'],
    [
      `${credentials}, path: /mcp/x`,
      'spec.config.path: /mcp and all paths below it are reserved for the gateway',
    ],
    [`${credentials}, graph_url: graph`, 'spec.config.graph_url: expected an address'],
  ])('refuses { %s }', async (config, problem) => {
    const { trigger, errors } = await folder.loadConfig('BusinessMessenger', config, { env });
    expect(trigger).toBe(undefined);
    expect(errors.join('\n')).toContain(problem);
  });

  test('with an invalid api_version reports only this error', async () => {
    const { lines } = await folder.loadConfig('BusinessMessenger', `${credentials}, api_version: 24`, {
      env,
    });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('spec.config.api_version: expected a version such as v24.0, found 24');
  });

  test('without a secret is allowed on loopback only', async () => {
    const config = `${credentials.replace(/, app_secret.*/, '')}, insecure_allow_unverified: true`;
    const { trigger } = await folder.loadConfig('BusinessMessenger', config, { env });
    expect(trigger?.config).toMatchObject({ app_secret: '' });
    const listen = { host: '0.0.0.0', port: 8080 };
    const { errors } = await folder.loadConfig('BusinessMessenger', config, { env, listen });
    expect(errors.join('\n')).toContain('is for loopback only');
  });

  test('causes a warning if another trigger of the same number accepts the same events', async () => {
    const two = (numbers: readonly string[]) =>
      numbers
        .map((list, i) =>
          triggerText(
            'BusinessMessenger',
            `${credentials}, api_version: v24.0, allowed_numbers: [${list}]`,
          ).replace('name: t', `name: t${i}`),
        )
        .join('---\n');
    const alike = await folder.loadText(two(['"4911111"', '"4911111"']), { env });
    expect(alike.lines.join('\n')).toContain('accepts the same events; t0 receives them, by order of names');
    expect((await folder.loadText(two(['"4911111"', '"4922222"']), { env })).lines).toEqual([]);
    expect((await folder.loadText(two(['"4911111"', '']), { env })).lines).toEqual([]);
    expect((await folder.loadText(two(['', '']), { env })).lines.join('\n')).toContain('by order of names');
  });

  test('warns about another token for the same number', async () => {
    const texts = ['"4911111"', '"4922222"'].map((list, i) =>
      triggerText('BusinessMessenger', `${credentials}, api_version: v24.0, allowed_numbers: [${list}]`)
        .replace('name: t', `name: t${i}`)
        .replace('access_token: "${SECRET}"', (match) => (i === 0 ? match : 'access_token: "${OTHER}"')),
    );
    const { lines } = await folder.loadText(texts.join('---\n'), { env });
    expect(lines).toEqual([
      expect.stringMatching(/warning: spec\.config\.\w+: trigger t0 uses another bot_token/),
    ]);
  });
});

describe('the alternative form of a BusinessMessenger trigger', () => {
  const messenger = (spec: string) =>
    `apiVersion: example.com/v1\nkind: Trigger\nmetadata: { name: t }\nspec:\n${spec}`;
  const form = `  platform: whatsapp
  webhook: { path: /webhook/messenger }
  routing:
    rules:
      - { match: { text_contains: [Help, support] }, agent: echo }
    default_agent: echo
  timeout_seconds: 7
`;
  const businessmessenger = {
    bot_token: env.SECRET,
    phone_number_id: '100',
    verify_token: env.OTHER,
    app_secret: env.OTHER,
    api_version: 'v24.0',
  };
  const platforms = { businessmessenger };

  test('has the credentials of the platform, its own path, and rules in lower case', async () => {
    const { triggers, lines } = await folder.loadText(messenger(form), { platforms });
    expect(lines).toEqual([]);
    expect(triggers).toMatchObject([
      {
        name: 't',
        type: 'BusinessMessenger',
        config: { ...businessmessenger, path: '/webhook/messenger' },
        commands: [],
        rules: [{ contains: ['help', 'support'], target: { kind: 'agent', name: 'echo' } }],
        default_target: { kind: 'agent', name: 'echo' },
        timeout_seconds: 7,
      },
    ]);
  });

  test("has the platform's path by default, and the gateway's default agent", async () => {
    const { triggers } = await folder.loadText(messenger('  platform: WhatsApp\n'), {
      platforms: { businessmessenger: { ...businessmessenger, webhook_path: '/hooks/chat' } },
      defaultAgent: 'echo',
    });
    expect(triggers).toMatchObject([
      { config: { path: '/hooks/chat' }, default_target: { kind: 'agent', name: 'echo' }, rules: [] },
    ]);
  });

  test('is disabled with its platform', async () => {
    const off = { businessmessenger: { ...businessmessenger, enabled: false } };
    expect((await folder.loadText(messenger(form), { platforms: off })).triggers).toMatchObject([
      { enabled: false },
    ]);
  });

  test('without credentials is refused with the place to set them; in a lenient check this is a warning', async () => {
    const { triggers, lines } = await folder.loadText(messenger(form));
    expect(triggers).toEqual([]);
    expect(lines).toEqual([
      't.yaml:5:13: spec.platform: credentials are missing: set access_token, phone_number_id, verify_token under platforms.businessmessenger in the gateway file, or as NAME_env',
    ]);
    const alone = await folder.loadText(messenger(form), { isLenient: true });
    expect(alone.errors).toEqual([]);
    expect(alone.lines).toHaveLength(1);
  });

  test('refuses unknown agents and reserved paths', async () => {
    const text = messenger(
      form.replace('}, agent: echo', '}, agent: ech').replace('/webhook/messenger', '/mcp/messenger'),
    );
    const { errors } = await folder.loadText(text, { platforms });
    expect(errors).toEqual([
      expect.stringMatching(/^t\.yaml:6:20: spec\.config\.path: \/mcp and all paths below it/),
      't.yaml:9:61: spec.routing.rules[0].agent: there is no agent ech; did you mean echo?',
    ]);
  });
});

test('the example of BusinessMessenger is valid without warnings', async () => {
  const root = resolve(import.meta.dirname, '../../../../..');
  const files = [join(root, 'examples/messengers/support.yaml'), join(root, 'examples/agents')];
  const names = ['ACCESS_TOKEN', 'PHONE_NUMBER_ID', 'VERIFY_TOKEN', 'APP_SECRET'];
  const exampleEnv = Object.fromEntries(names.map((name) => [`BUSINESS_${name}`, `the-${name}`]));
  const { triggers, lines } = await folder.load({ files, env: exampleEnv });
  expect(lines).toEqual([]);
  expect(triggers).toMatchObject([
    { name: 'support', commands: [{ command: 'status' }, { command: 'deploy' }, { command: 'button:yes' }] },
  ]);
});
