// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ResourceFolder, triggerText } from '../resource-folder.ts';

const folder = new ResourceFolder();

const env = {
  SECRET: 'a-secret-of-the-trigger',
  OTHER: 'another-secret-of-it',
  STANDARD: 'whsec_c2VjcmV0LW9mLWl0',
  EMPTY: '',
};
const beyondLoopback = { host: '0.0.0.0', port: 8080 };
const path = 'expected a path such as /webhook/name, of A-Z a-z 0-9 . _ ~ @ + = , - and /';

describe('a trigger of type HTTP', () => {
  test('has every default', async () => {
    const { trigger, lines } = await folder.loadConfig('HTTP', 'webhook_secret: "${SECRET}"', { env });
    expect(lines).toEqual([]);
    expect(trigger).toEqual({
      name: 't',
      type: 'HTTP',
      config: {
        path: '/',
        methods: ['POST'],
        webhook_secret: env.SECRET,
        webhook_secret_previous: undefined,
        scheme: 'hub',
        signature_header: 'x-hub-signature-256',
        required_headers: {},
        port: undefined,
        host: undefined,
        key: undefined,
        respond: 'async',
        respond_timeout_seconds: 30,
        replay_window_seconds: 0,
        insecure_allow_unverified: false,
      },
      commands: [],
      default_target: { kind: 'agent', name: 'echo' },
      enabled: true,
      labels: {},
      annotations: {},
      retry: { attempts: 6, min_backoff_seconds: 5, factor: 3, max_backoff_seconds: 600 },
      timeout_seconds: 300,
      on_failure: 'silent',
      mentions: 'none',
      file: expect.stringContaining('/t.yaml'),
      hash: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
  });

  test('accepts every field, with header names in lower case', async () => {
    const { trigger, lines } = await folder.loadConfig(
      'HTTP',
      `path: /in/alerts, methods: [PUT, POST, PUT], webhook_secret: "\${STANDARD}", webhook_secret_previous: "\${STANDARD}",
        scheme: standard, signature_header: X-Sig, required_headers: { X-Kind: "*", Authorization: "\${OTHER}" },
        port: 9000, host: "::1", key: "body:alert.id", respond: sync, respond_timeout_seconds: 2.5,
        replay_window_seconds: 60`,
      { env },
    );
    expect(lines).toEqual([]);
    expect(trigger?.config).toEqual({
      path: '/in/alerts',
      methods: ['PUT', 'POST'],
      webhook_secret: env.STANDARD,
      webhook_secret_previous: env.STANDARD,
      scheme: 'standard',
      signature_header: 'x-sig',
      required_headers: { 'x-kind': '*', authorization: env.OTHER },
      port: 9000,
      host: '::1',
      key: 'body:alert.id',
      respond: 'sync',
      respond_timeout_seconds: 2.5,
      replay_window_seconds: 60,
      insecure_allow_unverified: false,
    });
  });

  test('with its own port listens on loopback by default', async () => {
    const { trigger } = await folder.loadConfig('HTTP', 'webhook_secret: "${SECRET}", port: 9000', { env });
    expect(trigger?.config).toMatchObject({ port: 9000, host: '127.0.0.1' });
  });

  const secret = 'webhook_secret: "${SECRET}"';
  const jwt = 'jwt: { issuer: "https://id.example", audience: a }';
  const unproven =
    'senders are not verified: set a webhook_secret, or required_headers with a value, or insecure_allow_unverified: true (loopback only)';
  test.each([
    [`${secret}, path: hooks`, `6:48: spec.config.path: ${path}, found "hooks"`],
    [`${secret}, path: /a//b`, `6:48: spec.config.path: ${path}, found "/a//b"`],
    [`${secret}, path: /%68ealth`, `6:48: spec.config.path: ${path}, found "/%68ealth"`],
    [
      `${secret}, path: /a/../health`,
      '6:48: spec.config.path: must not contain . or .. as a segment: clients remove them',
    ],
    ...[
      '/health',
      '/servers/x',
      '/stats',
      '/mcp',
      '/rpc',
      '/admin',
      '/inspector/',
      '/triggers/a/b',
      '/agents',
      '/deliveries',
    ].map((own) => [
      `${secret}, path: ${own}`,
      `6:48: spec.config.path: /${own.split('/')[1]} and all paths below it are reserved for the gateway; choose another, such as /webhook${own}, or give the trigger a separate port`,
    ]),
    [
      `${secret}, methods: [post]`,
      '6:52: spec.config.methods[0]: expected one of GET, POST, PUT, PATCH, DELETE, found "post"',
    ],
    [`${secret}, methods: []`, '6:51: spec.config.methods: must contain at least one method'],
    [
      `${secret}, required_headers: { X-A: b, x-a: c }`,
      '6:60: spec.config.required_headers: names x-a twice',
    ],
    [
      'required_headers: { X-A: "${EMPTY}" }',
      '6:38: spec.config.required_headers.X-A: is empty and proves nothing; * accepts any value',
    ],
    [
      `${secret}, required_headers: { X-A: " " }`,
      '6:67: spec.config.required_headers.X-A: is empty and proves nothing; * accepts any value',
    ],
    ...['" a"', 'a¡', '¡a'].map((value) => [
      `${secret}, required_headers: { X-A: ${value} }`,
      '6:67: spec.config.required_headers.X-A: begins or ends with a blank or a non-ASCII character, which is lost in transit',
    ]),
    [
      `${secret}, key: alert`,
      '6:47: spec.config.key: expected header:NAME or body:MEMBER.MEMBER, found "alert"',
    ],
    [
      `${secret}, port: 8080`,
      '6:48: spec.config.port: is the port of the gateway; remove port and host to use its listener',
    ],
    [`${secret}, port: 70000`, '6:48: spec.config.port: expected a whole number <= 65535, found 70000'],
    ['path: /a', `6:11: spec.config: ${unproven}`],
    ['required_headers: { X-A: "*" }', `6:11: spec.config: ${unproven}`],
    [
      'webhook_secret: "${EMPTY}"',
      '6:29: spec.config.webhook_secret: expected non-empty text, found nothing in ${EMPTY}',
    ],
    [
      'webhook_secret_previous: "${OTHER}", required_headers: { X-A: b }',
      '6:13: spec.config.webhook_secret_previous: requires webhook_secret, which is missing',
    ],
    [
      `${secret}, scheme: standard`,
      '6:29: spec.config.webhook_secret: must be base64 with scheme standard, with or without a whsec_ prefix',
    ],
    ['scheme: jwt', '6:21: spec.config.scheme: needs jwt, with the issuer of the tokens'],
    [
      `scheme: jwt, ${jwt}, ${secret}`,
      '6:78: spec.config.webhook_secret: has no effect with scheme jwt, where only the token is signed',
    ],
    [`${secret}, ${jwt}`, '6:42: spec.config.jwt: has no effect without scheme: jwt'],
    [
      'scheme: jwt, jwt: { issuer: acme, audience: a }',
      '6:41: spec.config.jwt.issuer: is not an address, so its keys cannot be found; set jwks_url',
    ],
    ['scheme: standard, required_headers: { X-A: b }', '6:21: spec.config.scheme: needs a webhook_secret'],
  ])('refuses { %s }', async (config, problem) => {
    const { trigger, errors } = await folder.loadConfig('HTTP', config, { env });
    expect(errors).toEqual([`t.yaml:${problem}`]);
    expect(trigger).toBeUndefined();
  });

  test('may use a reserved path on its own port', async () => {
    const { errors } = await folder.loadConfig('HTTP', `${secret}, path: /mcp, port: 9000`, { env });
    expect(errors).toEqual([]);
  });

  test('is verified by tokens of an issuer', async () => {
    const { trigger, lines } = await folder.loadConfig('HTTP', `scheme: jwt, ${jwt}`);
    expect(lines).toEqual([]);
    expect(trigger?.config).toMatchObject({
      jwt: { issuer: 'https://id.example', audience: 'a', claims: {}, tolerance_seconds: 60 },
    });
  });

  test('is verified by a required header with a value', async () => {
    const { trigger, lines } = await folder.loadConfig('HTTP', 'required_headers: { X-Token: "${SECRET}" }', {
      env,
    });
    expect(lines).toEqual([]);
    expect(trigger?.config).toMatchObject({ webhook_secret: undefined });
  });
});

describe('an unverified source', () => {
  const open = 'insecure_allow_unverified: true';
  test.each(['HTTP', 'RepoHost'])('of type %s loads on loopback, with a warning', async (type) => {
    const { trigger, lines } = await folder.loadConfig(type, open);
    expect(lines).toEqual([
      't.yaml:6:40: warning: spec.config.insecure_allow_unverified: EVENTS ARE NOT VERIFIED: any program on this machine can send them',
    ]);
    expect(trigger?.config).toMatchObject({ insecure_allow_unverified: true });
  });

  test.each(['HTTP', 'RepoHost'])('of type %s is refused if other machines can reach it', async (type) => {
    const { triggers, errors } = await folder.loadConfig(type, open, { listen: beyondLoopback });
    expect(triggers).toEqual([]);
    expect(errors).toEqual([
      expect.stringContaining(
        'spec.config.insecure_allow_unverified: is for loopback only, but the listener is on 0.0.0.0',
      ),
    ]);
  });

  test.each([
    ['port: 9000', []],
    ['port: 9000, host: 0.0.0.0', [expect.stringContaining('is for loopback only')]],
  ])('is allowed or refused by the address of its own listener: %s', async (listener, expected) => {
    const { errors } = await folder.loadConfig('HTTP', `${open}, ${listener}`, { listen: beyondLoopback });
    expect(errors).toEqual(expected);
  });
});

describe('a trigger of type RepoHost', () => {
  test('refuses a previous secret without a current secret', async () => {
    const text = 'insecure_allow_unverified: true, webhook_secret_previous: "${SECRET}"';
    const { errors } = await folder.loadConfig('RepoHost', text, { env });
    expect(errors).toEqual([
      't.yaml:6:46: spec.config.webhook_secret_previous: requires webhook_secret, which is missing',
    ]);
  });

  test('has every default', async () => {
    const { trigger, lines } = await folder.loadConfig('RepoHost', 'webhook_secret: "${SECRET}"', { env });
    expect(lines).toEqual([]);
    expect(trigger?.config).toEqual({
      webhook_secret: env.SECRET,
      webhook_secret_previous: undefined,
      repo_events: [],
      repositories: [],
      branches: [],
      path: '/webhook/repohost',
      token: undefined,
      api_url: 'https://api.github.com',
      ignore_senders: [],
      commands_from: 'writers',
      reviews: 'none',
      replay_window_seconds: undefined,
      insecure_allow_unverified: false,
    });
  });

  test.each([
    [
      'repo_events: [pull_requests]',
      'repo_events[0]: there is no event pull_requests; did you mean pull_request?',
    ],
    [
      'repo_events: [pull_request.opend]',
      'repo_events[0]: pull_request has no action opend; did you mean pull_request.opened?',
    ],
    ['repo_events: [push.created]', 'repo_events[0]: push has no actions; write push'],
    [
      'repo_events: [deployment.zebra]',
      'repo_events[0]: deployment has no action zebra; its actions are created',
    ],
    [
      'repo_events: [__proto__]',
      expect.stringContaining('there is no event __proto__; events are pull_request,'),
    ],
    ['repositories: [acme]', 'repositories[0]: must be owner/repo, such as my-org/* or my-org/website'],
    ['repositories: ["acme/[a-z]"]', 'repositories[0]: may only contain the wildcards * ** and ?'],
    ['branches: [refs/heads/main]', 'branches[0]: must be the name of a branch, without refs/heads/'],
    ['branches: ["a b"]', 'branches[0]: must not contain spaces or any of ~ ^ : \\'],
    ['branches: [/a]', 'branches[0]: must not begin or end with a slash, or contain two in a row'],
    [
      'api_url: "ftp://x"',
      'api_url: expected an address that begins with https:// or http://, found "ftp://x"',
    ],
    [
      'api_url: "https://u:p@x"',
      'api_url: contains a user name or password, which do not belong in an address',
    ],
    ['path: /mcp', expect.stringContaining('/mcp and all paths below it are reserved for the gateway')],
  ])('refuses { %s }', async (config, problem) => {
    const { errors } = await folder.loadConfig('RepoHost', `webhook_secret: "\${SECRET}", ${config}`, {
      env,
    });
    expect(errors.map((line) => line.replace(/^t\.yaml:6:\d+: spec\.config\./, ''))).toEqual([problem]);
  });

  test('accepts patterns, and events with their actions', async () => {
    const { trigger, lines } = await folder.loadConfig(
      'RepoHost',
      'webhook_secret: "${SECRET}", repo_events: [push, issues.opened], repositories: ["acme/*", "*"], branches: [main, release/*], ignore_senders: [Renovate], api_url: "https://host.example/api/"',
      { env },
    );
    expect(lines).toEqual([]);
    expect(trigger?.config).toMatchObject({
      ignore_senders: ['renovate'],
      api_url: 'https://host.example/api',
    });
  });

  test.each([
    ['pull_request.opened', []],
    ['push', []],
    [
      'pull_request.open',
      [
        'spec.commands["pull_request.open"]: pull_request has no action open; did you mean pull_request.opened?',
      ],
    ],
    ['/push', []],
    ['/pull_request.opened', [expect.stringContaining('a command in a comment is a slash and a word')]],
  ])('has commands for events: %s', async (command, expected) => {
    const text = triggerText(
      'RepoHost',
      'webhook_secret: "${SECRET}", commands_from: everyone',
      `  commands: { ${command}: { agent: echo } }`,
    );
    const { errors } = await folder.loadText(text, { env });
    expect(errors.map((line) => line.replace(/^t\.yaml:7:15: /, ''))).toEqual(expected);
  });

  test.each([
    ['', 1],
    ['token: "${TOKEN}"', 0],
    ['commands_from: everyone', 0],
  ])('needs a token to accept comment commands from writers only: %s', async (more, count) => {
    const config = `webhook_secret: "\${SECRET}"${more === '' ? '' : `, ${more}`}`;
    const commands = '  commands:\n    push: { agent: echo }\n    /deploy: { agent: echo }';
    const { errors } = await folder.loadText(triggerText('RepoHost', config, commands), {
      env: { ...env, TOKEN: 'a-token-of-it' },
    });
    expect(errors).toEqual(
      Array(count).fill(
        't.yaml:9:5: spec.commands["/deploy"]: is only accepted from users with write access, which requires a token to check: set spec.config.token, or commands_from: everyone',
      ),
    );
  });

  test('causes a warning that reviews: allow has no effect without a token', async () => {
    const { lines } = await folder.loadConfig('RepoHost', 'webhook_secret: "${SECRET}", reviews: allow', {
      env,
    });
    expect(lines).toEqual(['t.yaml:6:42: warning: spec.config.reviews: has no effect without a token']);
  });

  test('has an example file that loads if only its credentials are set', async () => {
    const root = resolve(import.meta.dirname, '../../../../..');
    const files = [join(root, 'examples/repositories/requests.yaml'), join(root, 'examples/agents')];
    const environment = { WEBHOOK_SECRET: env.SECRET, REPOHOST_TOKEN: 'a-token-of-it' };
    const { lines, triggers } = await folder.load({ files, env: environment });
    expect(lines).toEqual([]);
    expect(triggers).toMatchObject([
      {
        config: { reviews: 'allow', commands_from: 'writers' },
        commands: [{ command: '/review' }, { command: '/deploy' }, { command: 'pull_request.opened' }],
      },
    ]);
  });

  test('may have comment commands if the platform settings contain the token', async () => {
    const text = triggerText(
      'RepoHost',
      'webhook_secret: "${SECRET}"',
      '  commands: { /deploy: { agent: echo } }',
    );
    const platforms = { repohost: { token: 'given-by-platform' } };
    expect((await folder.loadText(text, { env, platforms })).lines).toEqual([]);
  });
});

describe('a trigger of type Schedule', () => {
  test('has every default', async () => {
    const { trigger, lines } = await folder.loadConfig('Schedule', 'cron: "*/5 * * * *"');
    expect(lines).toEqual([]);
    expect(trigger?.config).toEqual({
      cron: '*/5 * * * *',
      timezone: 'UTC',
      catchup: 'none',
      overlap: 'queue',
    });
  });

  test.each([
    [
      'cron: "* * * *"',
      '6:19: spec.config.cron: expected 5 fields (minute, hour, day of month, month, day of week), or 6 with seconds first; found 4',
    ],
    [
      'cron: "* * * * *", timezone: Europe/Berln',
      '6:42: spec.config.timezone: is not a known time zone; did you mean Europe/Berlin?',
    ],
    [
      'cron: "* * * * *", timezone: "+02:00"',
      '6:42: spec.config.timezone: is not a known time zone; use a name such as Europe/Berlin or UTC',
    ],
    [
      'cron: "* * * * *", overlap: kill',
      '6:41: spec.config.overlap: expected one of skip, queue, replace, found "kill"',
    ],
    ['timezone: UTC', '6:11: spec.config.cron: required, but missing'],
  ])('refuses { %s }', async (config, problem) => {
    expect((await folder.loadConfig('Schedule', config)).errors).toEqual([`t.yaml:${problem}`]);
  });
});

describe('a trigger of type Manual', () => {
  test('has every default, and commands without slashes', async () => {
    const { trigger, lines } = await folder.loadConfig('Manual', 'allowed_commands: [/deploy, check]');
    expect(lines).toEqual([]);
    expect(trigger?.config).toEqual({
      require_confirmation: false,
      allowed_commands: ['deploy', 'check'],
      timeout: undefined,
    });
  });

  describe('warns if allowed_commands names a missing command', () => {
    const commands = '  commands: { /deploy: { agent: echo }, status: { agent: echo } }';
    const listed = (names: string) => `allowed_commands: [${names}]`;

    test('with a suggestion', async () => {
      const text = triggerText('Manual', listed('deplo, /status, deploy, ship'), commands);
      const { triggers, lines } = await folder.loadText(text);
      expect(lines).toEqual([
        't.yaml:6:32: warning: spec.config.allowed_commands[0]: there is no command deplo; did you mean deploy?',
        't.yaml:6:56: warning: spec.config.allowed_commands[3]: there is no command ship',
      ]);
      expect(triggers).toHaveLength(1);
    });

    test('unless there is a default agent', async () => {
      const text = triggerText('Manual', listed('deplo'), `${commands}\n  default_agent: echo`);
      expect((await folder.loadText(text)).lines).toEqual([]);
    });

    test('unless the gateway file sets allowed_commands for the platform', async () => {
      const platforms = { manual: { allowed_commands: ['ship', 'deploy'] } };
      const { triggers, lines } = await folder.loadText(triggerText('Manual', '', commands), { platforms });
      expect(lines).toEqual([]);
      expect(triggers).toMatchObject([{ config: { allowed_commands: ['ship', 'deploy'] } }]);
    });
  });

  test('has a timeout in whole seconds', async () => {
    const { errors } = await folder.loadConfig('Manual', 'timeout: 1.5');
    expect(errors).toEqual(['t.yaml:6:22: spec.config.timeout: expected a whole number >= 1, found 1.5']);
  });
});

describe('a trigger without spec.type', () => {
  const messenger = (spec: string) =>
    `apiVersion: example.com/v1\nkind: Trigger\nmetadata: { name: t }\nspec:\n${spec}`;

  test.each([
    ['a mapping', '{ type: slack }'],
    ['a mapping in lines', '\n    whatsapp: { token: x }'],
    ['a list', '[http]'],
    ['nothing', ''],
  ])(
    'with a platform that is %s gets one error, and is not read as a BusinessMessenger trigger',
    async (_, value) => {
      const { errors } = await folder.loadText(
        messenger(`  platform: ${value}\n  config: { path: /x }\n  default_agent: echo\n`),
      );
      expect(errors).toHaveLength(1);
      expect(errors[0]).toMatch(
        /^t\.yaml:[56]:\d+: spec\.platform: is not supported; a trigger needs spec\.type, /,
      );
      expect(errors[0]).toMatch(/Only the alternative form of BusinessMessenger has spec\.platform, as text/);
    },
  );

  test('with spec.routing and a mapping as spec.platform gets one error, about the platform', async () => {
    const { errors } = await folder.loadText(
      messenger('  platform: { name: whatsapp }\n  routing: { default_agent: echo }\n'),
    );
    expect(errors).toEqual(['t.yaml:5:13: spec.platform: expected text, found a mapping']);
  });

  test('with a wrong platform still has its alternative BusinessMessenger fields checked', async () => {
    const { errors } = await folder.loadText(
      messenger(`  platform: slack
  webhook: { path: hook }
  routing: { rules: [{ match: { text_contain: [a] } }] }
`),
    );
    expect(errors).toEqual([
      't.yaml:5:13: spec.platform: only supported for the business messenger; other triggers need spec.type',
      `t.yaml:6:20: spec.webhook.path: ${path}, found "hook"`,
      't.yaml:7:22: spec.routing.rules[0].agent: required, but missing',
      't.yaml:7:31: spec.routing.rules[0].match.text_contains: required, but missing',
      't.yaml:7:33: spec.routing.rules[0].match.text_contain: unknown key; did you mean text_contains?',
    ]);
  });
});

test('the `welcome` of a trigger is kept unchanged, and refused if the platform does not report new members', async () => {
  const load = (type: string, config: string, more: string) =>
    folder.loadText(triggerText(type, config, more), {
      env: { ...env, TOKEN: '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw' },
    });
  const bot = 'bot_token: "${TOKEN}"';
  expect((await load('BotMessenger', bot, '')).triggers[0]?.welcome).toBeUndefined();
  expect((await load('BotMessenger', bot, '  welcome: ""')).triggers[0]?.welcome).toBe('');
  expect((await load('BotMessenger', bot, '  welcome: Hello')).triggers[0]?.welcome).toBe('Hello');
  expect((await load('BotMessenger', bot, `  welcome: ${'x'.repeat(4_001)}`)).errors).toHaveLength(1);
  expect((await load('RepoHost', 'webhook_secret: "${STANDARD}"', '  welcome: Hello')).errors).toEqual([
    expect.stringMatching(/^t\.yaml:\d+:3: spec\.welcome: has no effect for this type/),
  ]);
});

test('the field `mentions` of a trigger has a default, and is refused if answers of its type cannot notify users', async () => {
  const load = (type: string, config: string, more: string) =>
    folder.loadText(triggerText(type, config, more), { env });
  const repo = 'webhook_secret: "${STANDARD}"';
  expect((await load('RepoHost', repo, '')).triggers[0]?.mentions).toBe('none');
  expect((await load('RepoHost', repo, '  mentions: allow')).triggers[0]?.mentions).toBe('allow');
  const bot = 'bot_token: "${TOKEN}"';
  const tokens = { env: { ...env, TOKEN: '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw' } };
  const bots = (more: string) => folder.loadText(triggerText('BotMessenger', bot, more), tokens);
  expect((await bots('')).triggers[0]?.mentions).toBe('allow');
  expect((await bots('  mentions: none')).triggers[0]?.mentions).toBe('none');
  for (const option of ['none', 'allow'])
    expect((await load('HTTP', repo, `  mentions: ${option}`)).errors).toEqual([
      expect.stringMatching(
        /^t\.yaml:\d+:3: spec\.mentions: has no effect for this type: its answers cannot notify users/,
      ),
    ]);
});
