// Approval rules that the gateway cannot enforce are errors, in all kinds of resources.

import { describe, expect, test } from 'vitest';
import { findCallGuard } from '../../../../config/resources/call-guards.ts';
import type { LoadResourcesOptions } from '../../../../config/resources/load-resources.ts';
import { ResourceFolder } from './resource-folder.ts';

const folder = new ResourceFolder();

const resource = (kind: string, name: string, spec: string) =>
  `apiVersion: example.com/v1\nkind: ${kind}\nmetadata: { name: ${name} }\nspec: ${spec}\n`;

const MODEL = 'model: "ollama:m"';
const clerkAgent = (more = '') => resource('Agent', 'clerk', `{ ${MODEL}${more} }`);
const hook = (config: string, commands = '{ /pay: { agent: clerk } }') =>
  resource('Trigger', 'hook', `{ type: HTTP, config: { ${config} }, commands: ${commands} }`);
const messenger = (config: string, commands = '{ /pay: { agent: clerk } }') =>
  resource(
    'Trigger',
    'phone',
    `{ type: BusinessMessenger, config: { phone_number_id: "123", bot_token: t0ken, verify_token: v, ${config} }, commands: ${commands} }`,
  );
const INSECURE = 'insecure_allow_unverified: true';
const GUARDED = '{ /pay: { agent: clerk, requires_approval: true, approvers: [ada] } }';

async function load(documents: readonly string[], options: Partial<LoadResourcesOptions> = {}) {
  const file = folder.write('all.yaml', documents.join('---\n'));
  return folder.load({ files: [file], ...options });
}

/** Returns the errors, with positions. */
async function errors(...documents: readonly string[]): Promise<readonly string[]> {
  const { lines } = await load(documents);
  return lines.filter((line) => / approvals cannot be enforced: /.test(line));
}

describe('a trigger that allows unverified events', () => {
  test('cannot have a command with approval, because its requester is unverified', async () => {
    const [line, ...more] = await errors(clerkAgent(), hook(INSECURE, GUARDED));
    expect(more).toEqual([]);
    expect(line).toMatch(
      /^all\.yaml:9:\d+: spec\.config\.insecure_allow_unverified: approvals cannot be enforced: command pay requires approval, .*; give the trigger a webhook_secret, or required_headers with a value$/,
    );
  });

  test('can have a command with approval if a secret verifies its events', async () => {
    expect(
      await errors(clerkAgent(), hook(`${INSECURE}, webhook_secret: "0123456789abcdef"`, GUARDED)),
    ).toEqual([]);
    expect(await errors(clerkAgent(), hook('webhook_secret: "0123456789abcdef"', GUARDED))).toEqual([]);
    expect(await errors(clerkAgent(), hook(INSECURE))).toEqual([]);
  });

  test.each([
    ['approvers of a policy', clerkAgent(', policy: { ask: [pay], approvers: ["49170"] }'), ''],
    [
      'approvers of interrupted calls',
      clerkAgent(', interrupted_calls: ask, policy: { approvers: ["49170"] }'),
      '',
    ],
    [
      'approvers of the trigger',
      clerkAgent(', policy: { ask: [pay] }'),
      ', approval_allowed_users: ["49170"]',
    ],
    ['members of a channel', clerkAgent(', policy: { ask: [pay], approval_channel: "49170" }'), ''],
  ])('cannot receive approval decisions of %s', async (_, agent, config) => {
    const lines = await errors(agent, messenger(INSECURE + config));
    expect(lines).toEqual([
      expect.stringMatching(/agent clerk requires approval, .*; give the trigger an app_secret$/),
    ]);
    expect(await errors(agent, messenger(`app_secret: "0123456789abcdef"${config}`))).toEqual([]);
  });

  test('cannot receive decisions of a flow that it runs, or that requests approval in its chat', async () => {
    const flow = (rules: string) =>
      resource(
        'Flow',
        'deploy',
        `{ nodes: [{ id: ask, type: Approval, config: { message: ok, ${rules} } }] }`,
      );
    const bound = '{ /deploy: { flow: deploy } }';
    expect(await errors(flow('approvers: ["49170"]'), messenger(INSECURE, bound))).toEqual([
      expect.stringContaining('flow deploy requires approval'),
    ]);
    const channel = 'approval_channel: "businessmessenger/123/49170"';
    expect(await errors(clerkAgent(), flow(channel), messenger(INSECURE))).toEqual([
      expect.stringContaining('flow deploy requires approval'),
    ]);
    expect(await errors(clerkAgent(), flow('approvers: ["49170"]'), messenger(INSECURE))).toEqual([]);
  });

  test('can call an agent whose calls only the operator can approve', async () => {
    expect(await errors(clerkAgent(', policy: { ask: [pay] }'), messenger(INSECURE))).toEqual([]);
    expect(await errors(clerkAgent(', policy: { ask: [pay], approvers: [ada] }'), hook(INSECURE))).toEqual(
      [],
    );
  });
});

describe('a rule that guards calls by a policy or an approval', () => {
  const http = resource('Agent', 'clerk', '{ runtime: { http: { url: "http://127.0.0.1:1" } } }');
  const manual = (commands: string) =>
    resource('Trigger', 'ops', `{ type: Manual, config: {}, commands: ${commands} }`);
  const inline = `{ name: a, spec: { ${MODEL}, policy: { deny: [rm] } } }`;

  test.each([
    ['nothing', [clerkAgent()], undefined],
    ['an agent behind a URL', [http], undefined],
    ['a policy that denies', [clerkAgent(', policy: { deny: [rm] }')], ['agent', 'clerk', 'policy.deny']],
    ['a policy that asks', [clerkAgent(', policy: { ask: [pay] }')], ['agent', 'clerk', 'policy.ask']],
    [
      'interrupted calls',
      [clerkAgent(', interrupted_calls: ask')],
      ['agent', 'clerk', 'interrupted_calls: ask'],
    ],
    ['a command', [http, manual(GUARDED)], ['trigger', 'ops', 'requires_approval']],
    [
      'an inline agent of a fleet',
      [resource('AgentFleet', 'team', `{ agents: [${inline}], coordination: { mode: pipeline } }`)],
      ['fleet', 'team', 'policy.deny'],
    ],
    [
      'a step in a loop of a flow',
      [
        resource(
          'Flow',
          'deploy',
          '{ nodes: [{ id: each, type: Loop, config: { over: "[1]", nodes: [{ id: ask, type: Approval, config: { message: ok, approvers: [ada] } }] } }] }',
        ),
      ],
      ['flow', 'deploy', 'type: Approval'],
    ],
  ] as const)('is found in a configuration with %s', async (_, documents, expected) => {
    const loaded = await load(documents);
    expect(loaded.lines.filter((line) => !line.includes('warning: '))).toEqual([]);
    const guard = findCallGuard(loaded);
    expect(guard && [guard.kind, guard.name, guard.rule]).toEqual(expected);
  });

  test('causes one warning with its position if the gateway has no API key', async () => {
    const documents = [clerkAgent(', policy: { ask: [pay] }'), manual(GUARDED)];
    const warnings = async (hasKey?: boolean) =>
      (await load(documents, { hasKey })).lines.filter((line) =>
        line.includes('api_key is not set, so approvals'),
      );
    expect(await warnings(false)).toEqual([
      expect.stringMatching(
        /^all\.yaml:4:\d+: warning: spec\.policy: api_key is not set, so approvals and policies \(here policy\.ask\) depend on the operator token/,
      ),
    ]);
    expect([await warnings(true), await warnings()]).toEqual([[], []]);
  });
});
