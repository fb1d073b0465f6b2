// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
// Files of ChatWorkspace triggers: accepted and refused values.

import { describe, expect, test } from 'vitest';
import { appOf } from '../../../../../config/resources/fields/workspace-app.ts';
import { ResourceFolder, triggerText } from '../resource-folder.ts';

const folder = new ResourceFolder();

const env = {
  BOT: 'xoxb-111-222-abcdef',
  ELSEWHERE: 'xoxb-999-222-abcdef',
  ROTATED: 'xoxb-111-222-rotated',
  APP: 'xapp-1-A0123ABC-333-fedcba',
  OTHER_APP: 'xapp-1-A0999XYZ-333-fedcba',
  SECRET: 'the-signing-secret',
  WRONG: 'not-a-token',
};

const bot = 'bot_token: "${BOT}"';
const socket = `${bot}, app_token: "\${APP}"`;
const http = `${bot}, signing_secret: "\${SECRET}"`;

describe('a trigger of type ChatWorkspace', () => {
  test('has every default, and its mode follows from its credentials', async () => {
    const { trigger, lines, secrets } = await folder.loadConfig('ChatWorkspace', socket, { env });
    expect(lines).toEqual([]);
    expect(secrets).toEqual(expect.arrayContaining([env.BOT, env.APP]));
    expect(trigger?.config).toEqual({
      bot_token: env.BOT,
      app_token: env.APP,
      signing_secret: undefined,
      app_id: undefined,
      mode: 'socket',
      approval_allowed_users: [],
      channels: [],
      users: [],
      events: [],
      patterns: [],
      bots: 'ignore',
      path: '/webhook/chatworkspace',
      api_root: 'https://slack.com/api',
    });
    const signed = await folder.loadConfig('ChatWorkspace', http, { env });
    expect(signed.trigger?.config).toMatchObject({ mode: 'http' });
    const both = `${socket}, signing_secret: "\${SECRET}"`;
    expect((await folder.loadConfig('ChatWorkspace', both, { env })).trigger?.config).toMatchObject({
      mode: 'socket',
    });
    const config = await folder.loadConfig('ChatWorkspace', `${both}, mode: http`, { env });
    expect(config.trigger?.config).toMatchObject({ mode: 'http' });
  });

  test('accepts every field', async () => {
    const config = `${http}, app_id: A0123ABC, channels: ["#ops", C0123], users: ["*"], events: [app_mention, message],
      patterns: ["(?i)help"], bots: allow, path: /in/chat, api_root: "http://127.0.0.1:8081/api/"`;
    const { trigger, lines } = await folder.loadConfig('ChatWorkspace', config, { env });
    expect(lines).toEqual([]);
    expect(trigger?.config).toMatchObject({
      app_id: 'A0123ABC',
      channels: ['#ops', 'C0123'],
      bots: 'allow',
      path: '/in/chat',
      api_root: 'http://127.0.0.1:8081/api',
    });
  });

  test.each([
    ['signing_secret: "${SECRET}"', 'spec.config.bot_token: required, but missing'],
    [bot, 'spec.config: has no source of events: set an app_token (socket) or a signing_secret (http)'],
    [`${http}, mode: socket`, 'spec.config.mode: socket needs an app_token'],
    [`${socket}, mode: http`, 'spec.config.mode: http needs a signing_secret'],
    [
      `${http}, events: [messages]`,
      'spec.config.events[0]: expected one of app_mention, message, found "messages"',
    ],
    [
      `${http}, patterns: ["(a"]`,
      'spec.config.patterns[0]: is not a regular expression (RE2 syntax): missing closing )',
    ],
    [
      `${socket}, app_id: A0999XYZ`,
      'spec.config.app_id: differs from the app of the app_token, which is A0123ABC',
    ],
    [`${http}, app_id: a-b`, 'spec.config.app_id: expected an id such as A0123ABCDEF'],
    [
      `${http}, api_root: "https://a:b@example.com"`,
      'spec.config.api_root: contains a user name or password',
    ],
    [
      `${http}, path: /mcp/chat`,
      'spec.config.path: /mcp and all paths below it are reserved for the gateway',
    ],
  ])('with %s is refused at its line', async (config, message) => {
    const { errors } = await folder.loadConfig('ChatWorkspace', config, { env });
    expect(errors.join('\n')).toContain(message);
    expect(errors).toHaveLength(1);
  });

  test('warns about swapped tokens', async () => {
    const config = 'bot_token: "${APP}", app_token: "${BOT}"';
    const { errors, lines } = await folder.loadConfig('ChatWorkspace', config, { env });
    expect(errors).toEqual([]);
    expect(lines.join('\n')).toContain('bot_token: does not look like a bot token, which begins with xoxb-');
    expect(lines.join('\n')).toContain('app_token: does not look like an app-level token');
  });

  test.each([
    ['/deploy', true],
    ['/deploy-it_2', true],
    ['Approve-all', true],
    ['/Deploy', false],
    ['/deploy it', false],
    [`/${'a'.repeat(33)}`, false],
  ])('may have the command %s: %s', async (command, isGood) => {
    const text = triggerText('ChatWorkspace', http, `  commands:\n    "${command}": { agent: echo }`);
    const { errors } = await folder.loadText(text, { env });
    expect(errors.length === 0).toBe(isGood);
  });
});

describe('the app of a trigger', () => {
  const none = { app_token: undefined, app_id: undefined, signing_secret: undefined };

  test('has the id in the app token, otherwise the app_id, otherwise a digest of the secret', () => {
    expect(appOf({ ...none, app_token: env.APP, app_id: 'A5' })).toBe('A0123ABC');
    // App tokens that contain no id are hashed. The signing secret does not change the hash.
    const tokenAlone = appOf({ ...none, app_token: 'of another form' });
    expect(appOf({ ...none, app_token: 'of another form', signing_secret: 's' })).toBe(tokenAlone);
    expect(appOf({ ...none, app_id: 'A5', signing_secret: 's' })).toBe('A5');
    const appName = appOf({ ...none, signing_secret: env.SECRET });
    expect(appName).toMatch(/^[0-9a-f]{16}$/);
    expect(appOf({ ...none, signing_secret: 'another' })).not.toBe(appName);
  });

  const two = (a: string, b: string) =>
    folder.loadText(
      [triggerText('ChatWorkspace', a), triggerText('ChatWorkspace', b).replace('name: t', 'name: u')].join(
        '\n---\n',
      ),
      { env },
    );

  test.each([
    ['', '', 1],
    ['channels: ["#ops"]', 'channels: [ops]', 1],
    ['channels: ["#ops"]', 'channels: ["#web"]', 0],
    ['channels: ["#ops"]', '', 0],
    ['users: [U1]', 'users: [U2]', 0],
    ['app_id: A1', 'app_id: A2', 0],
  ])('of the triggers %j and %j causes %i warnings that both accept the same events', async (a, b, count) => {
    const { lines } = await two([http, a].filter(Boolean).join(', '), [http, b].filter(Boolean).join(', '));
    expect(lines.filter((line) => line.includes('accepts the same events'))).toHaveLength(count);
  });

  test('causes a warning if two triggers have different credentials or modes', async () => {
    const tokens = await two(socket, socket.replace('${BOT}', '${ROTATED}'));
    expect(tokens.lines.join('\n')).toContain('uses another bot_token');
    const otherApp = await two(socket, socket.replace('${BOT}', '${ELSEWHERE}'));
    expect(otherApp.lines.join('\n')).not.toContain('another bot_token');
    const modes = await two(`${socket}, signing_secret: "\${SECRET}"`, `${http}, app_id: A0123ABC`);
    expect(modes.errors.join('\n')).toContain('an app receives its events in a single way');
    const apart = await two(socket, socket.replace('${APP}', '${OTHER_APP}'));
    expect(apart.lines.join('\n')).not.toContain('accepts the same events');
  });
});
