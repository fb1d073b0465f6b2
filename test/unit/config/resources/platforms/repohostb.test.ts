// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.

import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { triggerTypes } from '../../../../../config/resources/triggers/trigger-types.ts';
import { repoHostBTrigger } from '../../../../fixtures/automation/triggers.ts';
import { ResourceFolder, triggerText } from '../resource-folder.ts';

const folder = new ResourceFolder();

const env = {
  SECRET: 'a-secret-of-the-trigger',
  SIGNING: `whsec_${btoa('a key of the tests')}`,
  BAD: 'whsec_secret',
};
const load = (config: string) =>
  folder.loadConfig('RepoHostB', `webhook_secret: "\${SECRET}"${config}`, { env });

describe('a trigger of type RepoHostB', () => {
  test('has every default', async () => {
    const { trigger, errors } = await load('');
    expect(errors).toEqual([]);
    expect(trigger).toMatchObject({
      type: 'RepoHostB',
      config: {
        webhook_secret: env.SECRET,
        repo_events: [],
        repositories: [],
        branches: [],
        path: '/webhook/repohostb',
        api_url: 'https://gitlab.com/api/v4',
        ignore_senders: [],
        commands_from: 'writers',
        insecure_allow_unverified: false,
      },
    });
  });

  test("may use the vendor's names for its type and its events", async () => {
    const config = 'webhook_secret: "${SECRET}", gitlab_events: [merge_request.open, pipeline.failed, push]';
    const { trigger, errors } = await folder.loadConfig('GitLab', config, { env });
    expect(errors).toEqual([]);
    expect(trigger).toMatchObject({
      type: 'RepoHostB',
      config: { repo_events: ['merge_request.open', 'pipeline.failed', 'push'] },
    });
  });

  test.each(['acme/*', 'acme/team/*', 'acme/**', 'acme/team/shop', '*', '**'])(
    'accepts repositories in nested groups: %s',
    async (repository) => {
      expect((await load(`, repositories: ["${repository}"]`)).errors).toEqual([]);
    },
  );

  test.each([
    ['repositories: [shop]', 'repositories[0]: must be group/project, such as my-group/*'],
    [
      'repo_events: [pull_request]',
      'repo_events[0]: there is no event pull_request; events are merge_request, issue,',
    ],
    [
      'repo_events: [merge_request.opened]',
      'repo_events[0]: merge_request has no action opened; did you mean merge_request.open?',
    ],
    ['repo_events: [push.create]', 'repo_events[0]: push has no actions; write push'],
    ['branches: [refs/heads/main]', 'branches[0]: must be the name of a branch'],
    ['api_url: "host"', 'api_url: expected an address that begins with https:// or http://'],
    ['webhook_secret_previous: "${BAD}"', 'webhook_secret_previous: begins with whsec_ like a signing token'],
  ])('refuses { %s }', async (config, problem) => {
    const { errors } = await load(`, ${config}`);
    expect(errors).toHaveLength(1);
    expect(errors[0]?.replace(/^t\.yaml:6:\d+: spec\.config\./, '')).toContain(problem);
  });

  test('accepts a signing token, and refuses an incomplete one without showing it', async () => {
    const { errors } = await folder.loadConfig('RepoHostB', 'webhook_secret: "${SIGNING}"', { env });
    expect(errors).toEqual([]);
    const bad = await folder.loadConfig('RepoHostB', 'webhook_secret: "${BAD}"', { env });
    expect(bad.errors).toEqual([
      't.yaml:6:29: spec.config.webhook_secret: begins with whsec_ like a signing token, but the rest is not valid base64; copy it completely',
    ]);
    expect(bad.errors.join()).not.toContain('not base64');
  });

  test('requires a secret', async () => {
    const { errors } = await folder.loadConfig('RepoHostB', 'repo_events: [push]');
    expect(errors.join()).toContain('webhook_secret');
  });

  test('has an example file that loads if only its credentials are set', async () => {
    const root = resolve(import.meta.dirname, '../../../../..');
    const files = [join(root, 'examples/repositories/merge-requests.yaml'), join(root, 'examples/agents')];
    const environment = { REPOHOSTB_WEBHOOK_SECRET: env.SIGNING, REPOHOSTB_TOKEN: 'a-token-of-it' };
    const { lines, triggers } = await folder.load({ files, env: environment });
    expect(lines).toEqual([
      expect.stringMatching(/warning: spec\.type: RepoHostB is Experimental: test it before relying on it$/),
    ]);
    expect(triggers).toMatchObject([{ config: { repositories: ['acme/**'] }, commands: { length: 3 } }]);
  });

  test('is experimental, with a warning', async () => {
    expect(triggerTypes.RepoHostB).toMatchObject({ maturity: 'Experimental' });
  });

  test.each(['merge_request.open', 'merge_request', 'note', '/deploy', 'pipeline.success'])(
    'has commands for events and for comments: %s',
    async (command) => {
      const commands = `  commands: { ${command}: { agent: echo } }`;
      const config = 'webhook_secret: "${SECRET}", token: "${SECRET}"';
      const text = triggerText('RepoHostB', config, commands);
      expect((await folder.loadText(text, { env })).errors).toEqual([]);
    },
  );

  test('is ambiguous with another trigger if both accept an issue, regardless of their branches', () => {
    const { isAmbiguous } = triggerTypes.RepoHostB;
    const commands = (command: string) => [
      { command, target: { kind: 'agent' as const, name: 'echo' }, description: undefined, parameters: [] },
    ];
    const of = (name: string, branch: string, command: string) => ({
      ...repoHostBTrigger(name, { branches: [branch] }),
      default_target: undefined,
      commands: commands(command),
    });
    expect(isAmbiguous?.(of('a', 'main', 'issue.open'), of('b', 'next', 'issue.open'))).toBe(true);
    expect(isAmbiguous?.(of('a', 'main', 'merge_request'), of('b', 'next', 'merge_request'))).toBe(false);
    expect(isAmbiguous?.(of('a', 'main', 'push'), of('b', 'main', 'push'))).toBe(true);
  });
});
