// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
// Files of CommunityChat triggers: accepted and refused values.

import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { ed25519KeyFault } from '../../../../../config/resources/fields/ed25519-key.ts';
import { ResourceFolder, triggerText } from '../resource-folder.ts';

const folder = new ResourceFolder();

/** From RFC 8032, section 7.1, test 1. */
const KEY = 'D75A980182B10AB7D54BFED3C964073A0EE172F3DAA62325AF021A68F707511A';
const env = { TOKEN: 'MTQ1.the-token-of-the-bot', OTHER: 'MTQ1.another-token' };
const requiredFields = `bot_token: "\${TOKEN}", application_id: "1457469483726668048", public_key: "${KEY}"`;

/** `count` commands, one per line. */
const commands = (count: number, first = 0) =>
  Array.from({ length: count }, (_, index) => `    /c${first + index}: { agent: echo }`).join('\n');
const withCommands = (config: string, text: string) =>
  triggerText('CommunityChat', config, `  commands:\n${text}`);

let count = 0;
/** Loads a folder containing these files. */
async function load(texts: Readonly<Record<string, string>>) {
  count += 1;
  const directory = `several-${count}`;
  const files = Object.entries(texts).map(([name, text]) =>
    folder.write(`${directory}/${name}.yaml`, text.replace('name: t', `name: ${name}`)),
  );
  const { lines } = await folder.load({ files, env });
  const bare = lines
    .filter((line) => !line.includes('there is no agent'))
    .map((line) => line.replaceAll(`${directory}/`, ''));
  return { lines: bare, errors: bare.filter((line) => !line.includes(': warning: ')) };
}

describe('a trigger of type CommunityChat', () => {
  test('has every default', async () => {
    const { trigger, lines, secrets } = await folder.loadConfig('Discord', requiredFields, { env });
    expect(lines).toEqual([]);
    expect(secrets).toContain(env.TOKEN);
    expect(trigger).toMatchObject({
      type: 'CommunityChat',
      on_failure: 'reply',
      mentions: 'none',
      config: {
        bot_token: env.TOKEN,
        application_id: '1457469483726668048',
        public_key: KEY.toLowerCase(),
        app_secret: undefined,
        guild_ids: [],
        allowed_roles: [],
        channels: [],
        register: 'global',
        max_skew_seconds: 300,
        path: '/webhook/communitychat',
        api_root: 'https://discord.com/api/v10',
      },
    });
  });

  test('accepts every field', async () => {
    const config = `${requiredFields}, app_secret: "\${OTHER}", guild_ids: ["1"], allowed_roles: ["2"], channels: ["#ops"],
      register: guilds, max_skew_seconds: 60, path: /in/chat, api_root: "http://127.0.0.1:8081/api/v10/"`;
    const { trigger, lines } = await folder.loadConfig('CommunityChat', config, { env });
    expect(lines).toEqual([]);
    expect(trigger).toMatchObject({
      config: { register: 'guilds', path: '/in/chat', api_root: 'http://127.0.0.1:8081/api/v10' },
    });
  });

  test.each([
    ['', 't.yaml:6:11: spec.config.bot_token: required, but missing'],
    ['', 't.yaml:6:11: spec.config.public_key: required, but missing'],
    [requiredFields.replace(KEY, KEY.slice(2)), 'spec.config.public_key: expected 64 hexadecimal characters'],
    [`${requiredFields}, register: guilds`, 'spec.config.register: guilds needs guild_ids'],
    [`${requiredFields}, register: sometimes`, 'spec.config.register: expected'],
    [requiredFields.replace('1457', '14 57'), 'spec.config.application_id: expected an id of digits'],
    [
      `${requiredFields}, path: /mcp/chat`,
      'spec.config.path: /mcp and all paths below it are reserved for the gateway',
    ],
    [
      `${requiredFields}, api_root: "https://a:b@example.com"`,
      'spec.config.api_root: contains a user name or password',
    ],
  ])('with %s is refused at its line', async (config, message) => {
    const { errors } = await folder.loadConfig('CommunityChat', config, { env });
    expect(errors.join('\n')).toContain(message);
  });

  test.each(['/Deploy', '/x.y', `/${'x'.repeat(33)}`])(
    'refuses the command %s, which the platform would refuse',
    async (command) => {
      const { errors } = await load({ t: withCommands(requiredFields, `    "${command}": { agent: echo }`) });
      expect(errors.join('\n')).toContain(
        'the platform allows only commands of 1 to 32 characters a-z 0-9 - _',
      );
    },
  );

  test("refuses descriptions and parameters above the platform's limits, at their lines", async () => {
    const long = 'x'.repeat(101);
    const parameters = Array.from({ length: 26 }, (_, i) => `{ name: p${i} }`).join(', ');
    const text = `    /a: { agent: echo, description: ${long} }
    /b: { agent: echo, parameters: [{ name: Env }, { name: env, description: ${long} }] }
    /c: { agent: echo, parameters: [${parameters}] }`;
    const { errors } = await load({ t: withCommands(requiredFields, text) });
    expect(errors.join('\n')).toContain("has 101 characters; the platform's menu allows 100");
    const { errors: others } = await load({
      t: withCommands(requiredFields, text.split('\n').slice(1).join('\n')),
    });
    expect(others).toEqual([
      expect.stringMatching(
        /parameters\[0\]\.name: the platform allows only names of 1 to 32 characters a-z 0-9 - _$/,
      ),
      expect.stringMatching(
        /parameters\[1\]\.description: has 101 characters; the platform's menu allows 100$/,
      ),
      expect.stringMatching(/parameters: has 26 parameters; the platform allows 25$/),
    ]);
  });

  test('may have 96 commands besides the built-in commands, together with other triggers of its application', async () => {
    const files = (count: number, more = '') => ({
      a: withCommands(requiredFields, commands(50)),
      b: withCommands(requiredFields + more, commands(count, 50)),
    });
    const loaded = await load(files(46));
    expect(loaded.errors).toEqual([]);
    const { errors } = await load(files(47));
    expect(errors.join('\n')).toContain('have 101 commands; the platform allows 100');
    expect((await load(files(47, ', register: never'))).errors).toEqual([]);
  });

  test('warns about another token or key for the same application', async () => {
    const other = requiredFields.replace('TOKEN', 'OTHER');
    const { lines } = await load({
      a: withCommands(requiredFields, '    /a: { agent: echo }'),
      b: withCommands(other, '    /b: { agent: echo }'),
    });
    expect(lines.join('\n')).toContain('trigger a uses another bot_token');
  });

  test.each([
    [`02${'0'.repeat(62)}`, 'is not an Ed25519 public key'],
    ['0'.repeat(64), 'is a weak key: signatures could be forged'],
  ])('warns that every interaction is refused with the key %s', async (key, why) => {
    const { lines, errors } = await folder.loadConfig('CommunityChat', requiredFields.replace(KEY, key), {
      env,
    });
    expect(errors).toEqual([]);
    expect(lines).toEqual([
      expect.stringContaining(
        `warning: spec.config.public_key: ${why}, so every interaction is refused; copy it again from the platform`,
      ),
    ]);
  });

  test.each([
    ['channels: ["#ops"]', 1],
    ['channels: ["123", ops]', 1],
    ['channels: ["123"]', 0],
    ['channels: ["#ops"], guild_ids: ["1"]', 0],
  ])(
    'with %s causes warnings that channel names match on any chat server, in number %d',
    async (more, count) => {
      const { lines } = await folder.loadConfig('CommunityChat', `${requiredFields}, ${more}`, { env });
      expect(lines.filter((line) => line.includes('may match channels on any server'))).toHaveLength(count);
    },
  );

  test.each([
    ['', '', 1],
    [', channels: ["#ops"]', '', 0],
    [', channels: ["#ops"]', ', channels: [lobby]', 0],
    [', channels: ["#ops"]', ', channels: ["123"]', 1],
    [', guild_ids: ["1"]', ', guild_ids: ["2"]', 0],
    [', guild_ids: ["1"]', ', guild_ids: ["1", "2"]', 1],
    [', allowed_roles: ["1"]', ', allowed_roles: ["2"]', 1],
  ])(
    'with %j next to a trigger with %j and the same command causes warnings of ambiguity, in number %d',
    async (a, b, count) => {
      const { lines } = await load({
        a: withCommands(requiredFields + a, '    /x: { agent: echo }'),
        b: withCommands(requiredFields + b, '    /x: { agent: echo }'),
      });
      expect(lines.filter((line) => line.includes('by order of names'))).toHaveLength(count);
    },
  );
});

test('generated Ed25519 keys are accepted, and points of small order are refused', () => {
  for (let i = 0; i < 20; i += 1) {
    const { publicKey } = generateKeyPairSync('ed25519');
    const hex = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex');
    expect(ed25519KeyFault(hex)).toBeUndefined();
  }
  const weak = [
    '00'.repeat(32),
    `01${'00'.repeat(31)}`,
    `ec${'ff'.repeat(30)}7f`,
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  ];
  for (const hex of weak)
    expect([hex, ed25519KeyFault(hex)]).toEqual([hex, 'is a weak key: signatures could be forged']);
  // These keys are not points of the curve, or exceed the field.
  for (const hex of [`02${'00'.repeat(31)}`, 'ff'.repeat(32), `01${'00'.repeat(30)}80`])
    expect([hex, ed25519KeyFault(hex)]).toEqual([hex, 'is not an Ed25519 public key']);
});
