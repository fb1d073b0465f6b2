// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
// Triggers of the third repository host: event names in both notations, and ambiguous pairs.

import { describe, expect, test } from 'vitest';
import { triggerTypes } from '../../../../../config/resources/triggers/trigger-types.ts';
import { repoHostCTrigger } from '../../../../fixtures/automation/triggers.ts';
import { ResourceFolder, triggerText } from '../resource-folder.ts';

const folder = new ResourceFolder();

const env = { SECRET: 'a-secret-of-the-trigger' };
const secret = 'webhook_secret: "${SECRET}"';

describe('a trigger of type RepoHostC', () => {
  test('has default values for all optional settings, also if its type is the vendor name', async () => {
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

  test("accepts the vendor's field name, and events with a colon, with a dot or alone", async () => {
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
    ['webhook_secret_previous: "${SECRET}"', 'requires webhook_secret, which is missing'],
  ])('refuses { %s }', async (config, problem) => {
    const proof = config.startsWith('webhook') ? 'insecure_allow_unverified: true' : secret;
    const { errors } = await folder.loadConfig('RepoHostC', `${proof}, ${config}`, { env });
    expect(errors.join('\n')).toContain(problem);
  });
});

test('an event command written once with a colon and once with a dot is refused as a duplicate', async () => {
  const commands = '  commands: { "pullrequest:created": { agent: a }, pullrequest.created: { agent: a } }';
  const { errors } = await folder.loadText(triggerText('RepoHostC', secret, commands), { env });
  expect(errors.join('\n')).toContain('is the same command as pullrequest:created');
});

describe('two triggers of type RepoHostC', () => {
  const isAmbiguous = triggerTypes.RepoHostC.isAmbiguous!;
  const triggerFor = (command: string, config: Parameters<typeof repoHostCTrigger>[1] = {}) => ({
    ...repoHostCTrigger('t', config),
    default_target: undefined,
    commands: [{ command, target: { kind: 'agent', name: 'a' }, description: undefined, parameters: [] }],
  });

  test.each([
    [
      'a command in both notations',
      triggerFor('pullrequest:created'),
      triggerFor('pullrequest.created'),
      true,
    ],
    ['different commands', triggerFor('pullrequest:created'), triggerFor('repo:push'), false],
    [
      'a list with the common command in another notation',
      triggerFor('repo:push', { repo_events: ['repo.push'] }),
      triggerFor('repo.push', { repo_events: ['repo'] }),
      true,
    ],
    [
      'a list without the command',
      triggerFor('repo:push', { repo_events: ['repo.fork'] }),
      triggerFor('repo:push'),
      false,
    ],
    [
      'other branches, with pull requests',
      triggerFor('pullrequest', { branches: ['main'] }),
      triggerFor('pullrequest', { branches: ['next'] }),
      false,
    ],
    [
      'other branches, with pushes, which may have several',
      triggerFor('repo:push', { branches: ['main'] }),
      triggerFor('repo.push', { branches: ['next'] }),
      true,
    ],
    ['the same comment command', triggerFor('/deploy'), triggerFor('/deploy'), true],
    ['different secrets', triggerFor('repo'), triggerFor('repo', { webhook_secret: 'b' }), false],
  ])('with %s are ambiguous: $3', (_, a, b, expected) => {
    expect(isAmbiguous(a as never, b as never)).toBe(expected);
  });
});
