// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are what is tested.
// Triggers of the third repository host: its names of events in both spellings, and which triggers are ambiguous.

import { describe, expect, test } from 'vitest';
import { triggerTypes } from '../../../../../config/resources/triggers/trigger-types.ts';
import { repoHostCTrigger } from '../../../../fixtures/automation/triggers.ts';
import { ResourceFolder, triggerText } from '../resource-folder.ts';

const folder = new ResourceFolder();

const env = { SECRET: 'a-secret-of-the-trigger' };
const secret = 'webhook_secret: "${SECRET}"';

describe('a trigger of type RepoHostC', () => {
  test('has every default, also under the name of the vendor', async () => {
    for (const type of ['RepoHostC', 'Bitbucket']) {
      const { trigger, errors } = await folder.loadConfig(type, secret, { env });
      expect(errors).toEqual([]);
      expect(trigger).toMatchObject({
        type: 'RepoHostC',
        config: {
          webhook_secret: env.SECRET,
          repo_events: [],
          repositories: [],
          branches: [],
          path: '/webhook/repohostc',
          token: undefined,
          api_url: 'https://api.bitbucket.org/2.0',
          commands_from: 'writers',
          insecure_allow_unverified: false,
        },
      });
    }
  });

  test('takes the vendor’s word for its events, and names of these with a colon, with a dot, or alone', async () => {
    const config = `${secret}, bitbucket_events: ["pullrequest:created", repo.push, issue], ignore_senders: [Bot]`;
    const { trigger, errors } = await folder.loadConfig('RepoHostC', config, { env });
    expect(errors).toEqual([]);
    expect(trigger?.config).toMatchObject({
      repo_events: ['pullrequest:created', 'repo.push', 'issue'],
      ignore_senders: ['bot'],
    });
  });

  test.each([
    [
      'repo_events: ["pullrequest:create"]',
      'pullrequest has no action create; did you mean pullrequest:created?',
    ],
    [
      'repo_events: [pullrequest.create]',
      'pullrequest has no action create; did you mean pullrequest.created?',
    ],
    ['repo_events: ["pull_request:created"]', 'there is no event pull_request; did you mean pullrequest?'],
    ['repo_events: [push]', 'there is no event push; events are pullrequest, repo, issue'],
    ['repo_events: ["repo:push:main"]', 'repo has no action push:main'],
    ['repositories: [acme]', 'must be owner/repo'],
    ['branches: [refs/heads/main]', 'must be the name of a branch'],
    ['webhook_secret_previous: "${SECRET}"', 'stands beside webhook_secret, which is missing'],
  ])('with { %s } is told so', async (config, problem) => {
    const proof = config.startsWith('webhook') ? 'insecure_allow_unverified: true' : secret;
    const { errors } = await folder.loadConfig('RepoHostC', `${proof}, ${config}`, { env });
    expect(errors.join('\n')).toContain(problem);
  });
});

test('one command in both spellings stands in a trigger once', async () => {
  const commands = '  commands: { "pullrequest:created": { agent: a }, pullrequest.created: { agent: a } }';
  const { errors } = await folder.loadText(triggerText('RepoHostC', secret, commands), { env });
  expect(errors.join('\n')).toContain('is the same command as pullrequest:created');
});

describe('two triggers of type RepoHostC', () => {
  const isAmbiguous = triggerTypes.RepoHostC.isAmbiguous!;
  const commanded = (command: string, config: Parameters<typeof repoHostCTrigger>[1] = {}) => ({
    ...repoHostCTrigger('t', config),
    default_target: undefined,
    commands: [{ command, target: { kind: 'agent', name: 'a' }, description: undefined, parameters: [] }],
  });

  test.each([
    ['a command in both spellings', commanded('pullrequest:created'), commanded('pullrequest.created'), true],
    ['different commands', commanded('pullrequest:created'), commanded('repo:push'), false],
    [
      'a list that has the command of both, in another spelling',
      commanded('repo:push', { repo_events: ['repo.push'] }),
      commanded('repo.push', { repo_events: ['repo'] }),
      true,
    ],
    [
      'a list without it',
      commanded('repo:push', { repo_events: ['repo.fork'] }),
      commanded('repo:push'),
      false,
    ],
    [
      'other branches, and pull requests',
      commanded('pullrequest', { branches: ['main'] }),
      commanded('pullrequest', { branches: ['next'] }),
      false,
    ],
    [
      'other branches, and pushes, which may be to several',
      commanded('repo:push', { branches: ['main'] }),
      commanded('repo.push', { branches: ['next'] }),
      true,
    ],
    ['one command that people write', commanded('/deploy'), commanded('/deploy'), true],
    ['secrets of their own', commanded('repo'), commanded('repo', { webhook_secret: 'b' }), false],
  ])('with %s', (_, a, b, expected) => {
    expect(isAmbiguous(a as never, b as never)).toBe(expected);
  });
});
