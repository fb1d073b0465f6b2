// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.

import { describe, expect, test } from 'vitest';
import { ResourceFolder, triggerText } from '../resource-folder.ts';

const folder = new ResourceFolder();

const env = { SECRET: 'a-secret-of-the-trigger', OTHER: 'another-secret-of-it', TOKEN: 'a-token-of-the-api' };
const verifiedConfig = 'webhook_secret: "${SECRET}", base_url: "https://acme.example"';
const account = 'email: bot@acme.example, api_token: "${TOKEN}"';

describe('a trigger of type IssueTracker', () => {
  test('has every default', async () => {
    const { trigger, lines } = await folder.loadConfig('IssueTracker', verifiedConfig, { env });
    expect(lines).toEqual([]);
    expect(trigger).toMatchObject({
      type: 'IssueTracker',
      config: {
        webhook_secret: env.SECRET,
        webhook_secret_previous: undefined,
        auth_mode: 'hmac',
        auth_header: 'x-webhook-secret',
        signed_path: undefined,
        base_url: 'https://acme.example',
        api_token: undefined,
        email: undefined,
        projects: [],
        issue_types: [],
        jql_filter: undefined,
        ignore_senders: [],
        path: '/webhook/issuetracker',
        replay_window_seconds: undefined,
        insecure_allow_unverified: false,
      },
    });
  });

  test('normalizes headers, senders and URLs', async () => {
    const config = `webhook_secret: "\${SECRET}", base_url: "https://ACME.example/tracker//", auth_mode: static,
      auth_header: Authorization, ignore_senders: ["Ada Lovelace"]`;
    const { trigger, lines } = await folder.loadConfig('Jira', config, { env });
    expect(lines).toEqual([]);
    expect(trigger?.config).toMatchObject({
      base_url: 'https://acme.example/tracker',
      auth_header: 'authorization',
      ignore_senders: ['ada lovelace'],
    });
  });

  test.each([
    ['base_url: tracker', 'spec.config.base_url: expected an address that begins with https:// or http://'],
    ['base_url: "https://a:b@t.example"', 'contains a user name or password'],
    ['base_url: "https://t.example/?x=1"', 'contains a query or a fragment'],
    ['base_url: "https://t.example/rest/api/3"', 'must be the base URL: remove /rest/api/3'],
    ['base_url: "https://t.example/browse/TES-41"', 'remove /browse/TES-41'],
    ['base_url: "https://t.example", email: a@b', 'spec.config: email and api_token must be set together'],
    [
      'base_url: "https://t.example", api_token: "${TOKEN}"',
      'spec.config: email and api_token must be set together',
    ],
    [
      'base_url: "https://t.example", jql_filter: "priority = High"',
      'spec.config.jql_filter: needs email and api_token: the tracker evaluates the filter',
    ],
    [
      'base_url: "https://t.example", projects: [ops]',
      'spec.config.projects[0]: expected the key of a project, such as OPS',
    ],
    ['base_url: "https://t.example", auth_mode: basic', 'spec.config.auth_mode: expected'],
    ['base_url: "https://t.example", auth_header: "a b"', 'expected the name of an HTTP header'],
    ['base_url: "https://t.example", signed_path: hook', 'expected a path such as /webhook/name'],
    ['email: a@b', 'spec.config.base_url: required, but missing'],
  ])('refuses { %s }', async (config, problem) => {
    const { errors } = await folder.loadConfig('IssueTracker', `webhook_secret: "\${SECRET}", ${config}`, {
      env,
    });
    expect(errors.join('\n')).toContain(problem);
    expect(errors.join('\n')).not.toContain(env.SECRET);
  });

  test('with a JQL filter and an account is valid', async () => {
    const config = `${verifiedConfig}, ${account}, jql_filter: "priority = High"`;
    const { trigger, lines } = await folder.loadConfig('IssueTracker', config, { env });
    expect(lines).toEqual([]);
    expect(trigger?.config).toMatchObject({ jql_filter: 'priority = High' });
  });

  test('without a secret is refused, or causes a warning on loopback', async () => {
    const bare = 'base_url: "https://t.example"';
    expect((await folder.loadConfig('IssueTracker', bare, { env })).errors.join()).toContain(
      'senders are not verified: set a webhook_secret',
    );
    const open = await folder.loadConfig('IssueTracker', `${bare}, insecure_allow_unverified: true`, { env });
    expect(open.errors).toEqual([]);
    expect(open.trigger?.config).toMatchObject({ webhook_secret: '' });
    const previous = `${bare}, insecure_allow_unverified: true, webhook_secret_previous: "\${OTHER}"`;
    expect((await folder.loadConfig('IssueTracker', previous, { env })).errors.join()).toContain(
      'requires webhook_secret, which is missing',
    );
  });

  test('warns about fields that its auth_mode does not use', async () => {
    const { errors, lines } = await folder.loadConfig(
      'IssueTracker',
      `${verifiedConfig}, auth_header: X-Own, signed_path: /hook`,
      { env },
    );
    expect(errors).toEqual([]);
    expect(lines).toEqual([
      expect.stringContaining('warning: spec.config.auth_header: only has an effect with auth_mode: static'),
      expect.stringContaining('warning: spec.config.signed_path: only has an effect with auth_mode: jwt'),
    ]);
  });
});

describe('commands of an issue tracker', () => {
  const load = (command: string) =>
    folder.loadText(
      triggerText('IssueTracker', verifiedConfig, `  commands: { "${command}": { agent: echo } }`),
      {
        env,
      },
    );

  test.each([
    'tracker:issue_created',
    'tracker:issue_updated',
    'tracker:issue_deleted',
    'comment_created',
    'sprint_started',
    'sprint_closed',
  ])('may be %s', async (command) => {
    const { errors, triggers } = await load(command);
    expect(errors).toEqual([]);
    expect(triggers[0]?.commands).toMatchObject([{ command }]);
  });

  test.each([
    ['jira:issue_created', 'there is no event jira:issue_created; write tracker:issue_created'],
    ['issue_updated', 'there is no event issue_updated; write tracker:issue_updated'],
    ['/tracker:issue_created', 'there is no event /tracker:issue_created; write tracker:issue_created'],
    ['tracker:comment_created', 'there is no event tracker:comment_created; write comment_created'],
    ['tracker:issue_create', 'there is no event tracker:issue_create; did you mean tracker:issue_created?'],
    [
      'board_configuration',
      'there is no event board_configuration; events are tracker:issue_created, tracker:issue_updated, tracker:issue_deleted, comment_created, sprint_started, sprint_closed',
    ],
  ])('cannot be %s', async (command, message) => {
    const { errors } = await load(command);
    expect(errors).toEqual([expect.stringContaining(message)]);
  });
});

describe('two IssueTracker triggers with the same path', () => {
  const BUGS = 'projects: [TES], issue_types: [Bug]';
  const answering = (command: string) => `  commands: { "${command}": { agent: echo } }`;
  const created = answering('tracker:issue_created');

  test.each([
    ['the same settings', '', created, '', created, true],
    ['other projects', 'projects: [TES]', created, 'projects: [OPS]', created, false],
    ['a project and all', 'projects: [TES]', created, '', created, true],
    ['other types', BUGS, created, 'issue_types: [Task]', created, false],
    ['types in another case', BUGS, created, 'issue_types: [bug]', created, true],
    ['other commands', '', created, '', answering('comment_created'), false],
    [
      'other projects, and sprints',
      'projects: [TES]',
      answering('sprint_started'),
      'projects: [OPS]',
      answering('sprint_started'),
      true,
    ],
    ['other secrets', 'webhook_secret: "${OTHER}"', created, '', created, false],
    [
      'a previous secret',
      'webhook_secret: "${OTHER}"',
      created,
      'webhook_secret_previous: "${OTHER}"',
      created,
      true,
    ],
    ['another auth_mode', 'auth_mode: static', created, '', created, false],
    ['other trackers', 'base_url: "https://other.example"', created, '', created, false],
  ])('are ambiguous with %s: $5', async (_, first, commandsOfOne, other, commandsOfOther, isAmbiguous) => {
    const config = (more: string) => {
      const fieldName = more.split(/[:,]/)[0] ?? '';
      const common = verifiedConfig.split(', ').filter((part) => !part.startsWith(`${fieldName}:`));
      return [...common, ...(more === '' ? [] : [more])].join(', ');
    };
    const text = [
      triggerText('IssueTracker', config(first), commandsOfOne),
      triggerText('IssueTracker', config(other), commandsOfOther).replace('name: t', 'name: u'),
    ].join('\n---\n');
    const { lines, errors } = await folder.loadText(text, { env });
    expect(errors).toEqual([]);
    const warnings = lines.filter((line) => line.includes('accepts the same events'));
    expect(warnings).toHaveLength(isAmbiguous ? 1 : 0);
  });
});
