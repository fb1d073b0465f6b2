// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
// Triggers of the incident manager: accepted and refused values, and ambiguous pairs.

import { describe, expect, test } from 'vitest';
import { triggerTypes } from '../../../../../config/resources/triggers/trigger-types.ts';
import { incidentManagerTrigger } from '../../../../fixtures/automation/triggers.ts';
import { ResourceFolder, triggerText } from '../resource-folder.ts';

const folder = new ResourceFolder();

const env = { SECRET: 'a-secret-of-the-trigger', OTHER: 'another-secret-of-it', KEY: 'a-key-of-it' };
const events = 'routing_key: "${KEY}", webhook_secret: "${SECRET}"';
const notes = 'api_key: "${KEY}", email: bot@example.com, webhook_secret: "${SECRET}"';

describe('a trigger of type IncidentManager', () => {
  test('has default values for all optional settings', async () => {
    const { trigger, lines } = await folder.loadConfig('IncidentManager', events, { env });
    expect(lines).toEqual([]);
    expect(trigger).toMatchObject({
      type: 'IncidentManager',
      config: {
        api_key: undefined,
        email: undefined,
        routing_key: env.KEY,
        webhook_secret: env.SECRET,
        webhook_secrets: [],
        service_ids: [],
        urgencies: [],
        statuses: [],
        api_url: 'https://api.pagerduty.com',
        events_url: 'https://events.pagerduty.com',
        path: '/webhook/incidentmanager',
        insecure_allow_unverified: false,
      },
    });
  });

  test('warns about each literal secret', async () => {
    const config = 'routing_key: "${KEY}", webhook_secrets: ["${SECRET}", written-out]';
    const { lines } = await folder.loadConfig('IncidentManager', config, { env });
    expect(lines).toEqual([
      expect.stringMatching(
        /^t\.yaml:6:\d+: warning: spec\.config\.webhook_secrets\[1\]: is a literal secret; move it/,
      ),
    ]);
  });

  test('accepts every setting if its type is the vendor name', async () => {
    const config = `api_key: "\${KEY}", email: bot@example.com, routing_key: "\${KEY}",
      webhook_secrets: ["\${SECRET}", "\${OTHER}"], service_ids: [PF9KMXH], urgencies: [high, low],
      statuses: [triggered, acknowledged, resolved], api_url: "http://127.0.0.1:9/", events_url: "http://127.0.0.1:9/proxy/"`;
    const { trigger, lines } = await folder.loadConfig('PagerDuty', config, { env });
    expect(lines).toEqual([]);
    expect(trigger?.config).toMatchObject({
      email: 'bot@example.com',
      webhook_secret: undefined,
      webhook_secrets: [env.SECRET, env.OTHER],
      service_ids: ['PF9KMXH'],
      statuses: ['triggered', 'acknowledged', 'resolved'],
      api_url: 'http://127.0.0.1:9',
      events_url: 'http://127.0.0.1:9/proxy',
    });
  });

  test.each([
    ['webhook_secret: "${SECRET}"', 'spec.config: needs an api_key or a routing_key'],
    ['routing_key: "${KEY}"', 'spec.config: senders are not verified: set a webhook_secret'],
    ['routing_key: "${KEY}", webhook_secrets: []', 'spec.config: senders are not verified'],
    [`${notes.replace('bot@example.com', 'nobody')}`, 'spec.config.email: expected an email address'],
    [`${notes.replace('bot@example.com', '"a b@example.com"')}`, 'spec.config.email: expected an email'],
    [`${events}, urgencies: [medium]`, 'spec.config.urgencies[0]: '],
    [`${events}, statuses: [open]`, 'spec.config.statuses[0]: '],
    [`${events}, path: /mcp/x`, 'spec.config.path: /mcp and all paths below it are reserved for the gateway'],
    [`${events}, api_url: api`, 'spec.config.api_url: expected an address'],
    [
      `${events}, events_url: "https://events.pagerduty.com/v2/enqueue"`,
      'spec.config.events_url: must be the base URL: remove /v2/enqueue',
    ],
    [
      `${events}, api_url: "https://api.pagerduty.com/?a=b"`,
      'spec.config.api_url: must have neither a query nor a fragment',
    ],
  ])('refuses { %s }', async (config, problem) => {
    const { errors } = await folder.loadConfig('IncidentManager', config, { env });
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain(problem);
    expect(errors[0]).not.toContain(env.SECRET);
  });

  test.each([
    [
      'api_key: "${KEY}", webhook_secret: "${SECRET}"',
      'warning: spec.config.api_key: requires an email: the platform refuses notes without a user',
    ],
    [`${events}, email: a@example.com`, 'warning: spec.config.email: has no effect without an api_key'],
    [
      `${events}, service_ids: [Shop of ours]`,
      'warning: spec.config.service_ids[0]: "Shop of ours" is not the id of a service',
    ],
    [
      'routing_key: written-out, webhook_secret: "${SECRET}"',
      'warning: spec.config.routing_key: is a literal secret; move it to the environment',
    ],
  ])('warns about { %s }', async (config, warning) => {
    const { trigger, lines } = await folder.loadConfig('IncidentManager', config, { env });
    expect(trigger).toBeDefined();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(warning);
  });

  test.each(['incident', 'incident.triggered', 'incident.custom_field_values.updated'])(
    'may have the command %s',
    async (command) => {
      const text = triggerText('IncidentManager', events, `  commands: { ${command}: { agent: echo } }`);
      expect((await folder.loadText(text, { env })).errors).toEqual([]);
    },
  );

  test.each([
    ['incident.trigered', 'there is no event incident.trigered; did you mean incident.triggered?'],
    ['pagey.ping', 'pagey.ping is not supported'],
    ['service.updated', 'service.updated is not supported'],
    ['pull_request', 'there is no event pull_request; events are incident, incident.triggered, '],
  ])('refuses the command %s', async (command, problem) => {
    const text = triggerText('IncidentManager', events, `  commands: { ${command}: { agent: echo } }`);
    const { errors } = await folder.loadText(text, { env });
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain(problem);
  });
});

describe('two IncidentManager triggers with the same path', () => {
  const isAmbiguous = triggerTypes.IncidentManager.isAmbiguous!;
  const with_ = (config: Parameters<typeof incidentManagerTrigger>[1]) => incidentManagerTrigger('t', config);

  test.each([
    ['with one secret', {}, {}, true],
    ['with different secrets', { webhook_secret: 'a' }, { webhook_secret: 'b' }, false],
    [
      'with one of several secrets in common',
      { webhook_secret: 'a', webhook_secrets: ['c'] },
      { webhook_secret: undefined, webhook_secrets: ['b', 'c'] },
      true,
    ],
    ['for different services', { service_ids: ['P1'] }, { service_ids: ['P2'] }, false],
    ['for a service and for all', { service_ids: ['P1'] }, {}, true],
    ['for different urgencies', { urgencies: ['high'] }, { urgencies: ['low'] }, false],
    ['for different states', { statuses: ['triggered'] }, { statuses: ['resolved', 'acknowledged'] }, false],
    ['for states in common', { statuses: ['triggered', 'resolved'] }, { statuses: ['resolved'] }, true],
  ] as const)('are ambiguous %s: $3', (_, a, b, expected) => {
    expect(isAmbiguous(with_(a as never), with_(b as never))).toBe(expected);
  });

  test('without a common command are not ambiguous', () => {
    const a = { ...with_({}), default_target: undefined };
    expect(isAmbiguous(a, with_({}))).toBe(false);
  });
});
