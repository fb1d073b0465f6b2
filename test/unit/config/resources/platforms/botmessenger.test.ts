// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
// Files of BotMessenger triggers: accepted and refused values.

import { describe, expect, test } from 'vitest';
import { ResourceFolder, triggerText } from '../resource-folder.ts';

const folder = new ResourceFolder();

const TOKEN = '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw';
const env = {
  TOKEN,
  OTHER: `2${TOKEN}`,
  BAD: 'not-a-token',
  SECRET: 'the_secret-1',
  ROTATED: TOKEN.replace('AAH', 'BBH'),
};

const token = 'bot_token: "${TOKEN}"';
const webhook = `${token}, mode: webhook, secret_token: "\${SECRET}"`;

/** `count` commands, one per line. */
const commands = (count: number, first = 0) =>
  Array.from({ length: count }, (_, index) => `    c${first + index}: { agent: echo }`).join('\n');

describe('a trigger of type BotMessenger', () => {
  test('has every default', async () => {
    const { trigger, lines, secrets } = await folder.loadConfig('BotMessenger', token, { env });
    expect(lines).toEqual([]);
    expect(secrets).toContain(TOKEN);
    expect(trigger).toMatchObject({
      type: 'BotMessenger',
      config: {
        bot_token: TOKEN,
        chat_ids: [],
        users: [],
        patterns: [],
        bots: 'ignore',
        mode: 'polling',
        secret_token: undefined,
        webhook_url: undefined,
        path: '/webhook/botmessenger',
        api_root: 'https://api.telegram.org',
      },
    });
  });

  test('accepts every field', async () => {
    const config = `${webhook}, chat_ids: [-1001234567890, 5], users: ["@ann", "7"], patterns: ["(?i)help"], bots: allow,
      webhook_url: "https://gateway.example/in/bot", path: /in/bot, api_root: "http://127.0.0.1:8081/"`;
    const { trigger, lines } = await folder.loadConfig('BotMessenger', config, { env });
    expect(lines).toEqual([]);
    expect(trigger).toMatchObject({
      config: {
        chat_ids: [-1001234567890, 5],
        bots: 'allow',
        path: '/in/bot',
        api_root: 'http://127.0.0.1:8081',
      },
    });
  });

  test.each([
    ['', 't.yaml:6:11: spec.config.bot_token: required, but missing'],
    [`${token}, mode: webhook`, 't.yaml:6:42: spec.config.mode: webhook needs a secret_token'],
    [
      `${webhook}, webhook_url: "http://gateway.example/"`,
      'spec.config.webhook_url: must begin with https://, which the platform requires',
    ],
    [`${token}, chat_ids: ["-5"]`, 'spec.config.chat_ids[0]: expected a whole number'],
    [
      `${webhook}, path: /mcp/bot`,
      'spec.config.path: /mcp and all paths below it are reserved for the gateway',
    ],
    [
      `${token}, api_root: "https://a:b@example.com"`,
      'spec.config.api_root: contains a user name or password',
    ],
  ])('with %s is refused at its line', async (config, message) => {
    const { errors } = await folder.loadConfig('BotMessenger', config, { env });
    expect(errors.join('\n')).toContain(message);
  });

  test.each(['', 'bot_token: ""', 'bot_token: "${UNSET}"'])(
    'without a token is reported without a complaint about its form: %j',
    async (config) => {
      const { lines } = await folder.loadConfig('BotMessenger', config, { env });
      expect(lines).toEqual([expect.stringContaining('spec.config.bot_token: ')]);
    },
  );

  test.each([
    ['bot_token: "${BAD}"', 'bot_token: warning: does not look like a token'],
    [
      `${token}, webhook_url: "https://gateway.example/"`,
      'webhook_url: warning: has no effect without mode: webhook',
    ],
  ])('with %s is loaded with a warning', async (config, message) => {
    const { trigger, lines } = await folder.loadConfig('BotMessenger', config, { env });
    expect(trigger).toBeDefined();
    expect(lines.join('\n').replaceAll(/warning: spec\.config\.(\w+):/g, '$1: warning:')).toContain(message);
    expect(lines.join('\n')).not.toContain('not-a-token');
  });
});

describe('the commands of a bot', () => {
  const load = (lines: string) =>
    folder.loadText(triggerText('BotMessenger', token, `  commands:\n${lines}`), { env });

  test.each(['Deploy', 'de-ploy', '/de.ploy', 'a'.repeat(33)])(
    "refuse %s, which the platform's menu does not allow",
    async (name) => {
      const { errors } = await load(`    "${name}": { agent: echo }`);
      expect(errors).toEqual([
        expect.stringMatching(/^t\.yaml:8:5: .*the platform's menu allows only commands of 1 to 32/),
      ]);
    },
  );

  test('may be a hundred, with descriptions of 256 characters', async () => {
    const many = await load(commands(100));
    expect(many.errors).toEqual([]);
    const { errors } = await load(
      `${commands(101)}\n    c_1: { agent: echo, description: "${'x'.repeat(257)}" }`,
    );
    expect(errors).toEqual([
      expect.stringMatching(/^t\.yaml:108:5: .*exceeds the platform's menu, which allows 100 commands$/),
      expect.stringMatching(
        /^t\.yaml:109:\d+: .*description: has 257 characters; the platform's menu allows 256$/,
      ),
    ]);
  });
});

describe('several BotMessenger triggers', () => {
  let count = 0;
  async function load(...texts: readonly string[]): Promise<readonly string[]> {
    count += 1;
    const files = texts.map((text, index) =>
      folder.write(`several-${count}/${index}.yaml`, text.replace('name: t', `name: t${index}`)),
    );
    const loaded = await folder.load({ files, env });
    return loaded.lines
      .filter((line) => !line.includes('there is no agent'))
      .map((line) => line.replace(`several-${count}/`, ''));
  }
  const trigger = (config: string, more?: string) => triggerText('BotMessenger', config, more);

  test('share the command menu and its limit if they have the same bot', async () => {
    expect(await load(trigger(token), trigger(`${token}, chat_ids: [5]`))).toEqual([]);
    const more = (first: number) => `  commands:\n${commands(60, first)}`;
    expect(await load(trigger(token, more(0)), trigger(token, more(10)))).toEqual([]);
    expect(await load(trigger(token, more(0)), trigger(token, more(50)))).toEqual([
      expect.stringMatching(/^1\.yaml:8:5: spec\.commands: .*have 110 commands; its menu allows 100$/),
    ]);
  });

  test('are refused if they have the same bot and different modes', async () => {
    expect(await load(trigger(token), trigger(webhook))).toEqual([
      expect.stringMatching(
        /^1\.yaml:6:\d+: spec\.config\.mode: trigger t0 uses the same bot with a different mode/,
      ),
    ]);
  });

  test('cause a warning if they have two tokens of one bot and both are enabled', async () => {
    const two = (more?: string) => [trigger(token), trigger(token.replace('TOKEN', 'ROTATED'), more)];
    expect(await load(...two())).toEqual([
      expect.stringMatching(
        /^1\.yaml:6:\d+: warning: spec\.config\.bot_token: trigger t0 uses another bot_token/,
      ),
    ]);
    expect(await load(...two('  default_agent: echo\n  enabled: false'))).toEqual([]);
  });

  test('may share a path for different bots only with different secrets', async () => {
    const other = webhook.replace('TOKEN', 'OTHER');
    expect(await load(trigger(webhook), trigger(other.replace('SECRET', 'BAD')))).toEqual([]);
    expect(await load(trigger(webhook), trigger(other))).toEqual([
      expect.stringMatching(
        /^1\.yaml:6:\d+: spec\.config\.secret_token: trigger t0 uses the same secret_token/,
      ),
    ]);
  });
});
