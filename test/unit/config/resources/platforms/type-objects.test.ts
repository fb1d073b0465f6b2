import { describe, expect, test } from 'vitest';
import { makeAdapters } from '../../../../../actors/platforms/adapters.ts';
import { platformsSchema } from '../../../../../config/resources/platform-schema.ts';
import { platformDefaultsOf } from '../../../../../config/resources/triggers/trigger-config.ts';
import { describeTriggerSource } from '../../../../../config/resources/triggers/trigger-source.ts';
import {
  platformOf,
  triggerTypes,
  typeNames,
} from '../../../../../config/resources/triggers/trigger-types.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import {
  httpTrigger,
  manualTrigger,
  repoHostTrigger,
  scheduleTrigger,
} from '../../../../fixtures/automation/triggers.ts';

interface PlatformsSchema {
  readonly properties: Readonly<Record<string, { readonly properties: object }>>;
}

const adapters = makeAdapters(adapterServices());

describe.each(typeNames)('the trigger type %s', (name) => {
  const type = triggerTypes[name];
  const { properties } = type.config as {
    readonly properties: Record<string, { readonly default?: unknown }>;
  };

  test('has a path with a unique default if and only if it has a webhook', () => {
    expect(Object.hasOwn(properties, 'path')).toBe(type.webhook !== undefined);
    if (type.webhook === undefined) return;
    const paths = typeNames.map((each) => {
      const { path } = triggerTypes[each].config.properties as Record<string, { readonly default?: string }>;
      return path?.default;
    });
    expect(paths.filter((path) => path === properties.path?.default)).toHaveLength(1);
  });

  test('accepts webhook_path of its platform if and only if it has a webhook', () => {
    const schema = platformsSchema as unknown as PlatformsSchema;
    const settings = schema.properties[platformOf(name)]?.properties ?? {};
    expect(Object.hasOwn(settings, 'webhook_path')).toBe(type.webhook !== undefined);
    expect(platformDefaultsOf({ webhook_path: '/hooks/mine' }, type)).toEqual(
      type.webhook === undefined ? {} : { path: '/hooks/mine' },
    );
  });

  test('supports mentions in its configuration if and only if its adapter supports them', () => {
    expect(adapters.ofType(name).outbound?.mentions !== undefined).toBe(type.mentions !== undefined);
  });

  test('has a setting to allow unverified senders if and only if it can verify senders', () => {
    expect(Object.hasOwn(properties, 'insecure_allow_unverified')).toBe(type.proof !== undefined);
  });
});

test('the trigger types have the documented maturity labels', () => {
  const labels = typeNames.flatMap((name) => {
    const { maturity } = triggerTypes[name];
    return maturity === undefined ? [] : [[name, maturity]];
  });
  expect(Object.fromEntries(labels)).toEqual({
    HTTP: 'Stable',
    RepoHost: 'Stable',
    IssueTracker: 'Stable',
    RepoHostB: 'Experimental',
    RepoHostC: 'Experimental',
  });
});

test('the description of the source of a trigger includes its URL if anyone can post to it', () => {
  const url = 'http://127.0.0.1:8080';
  const open = httpTrigger('ask', { webhook_secret: undefined, methods: ['POST', 'PUT'], path: '/ask' });
  expect(describeTriggerSource(open, url)).toEqual({ text: `POST, PUT ${url}/ask`, openUrl: `${url}/ask` });
  const own = httpTrigger('ask', { webhook_secret: 's', host: '0.0.0.0', port: 9000, path: '/ask' });
  expect(describeTriggerSource(own, url)).toEqual({
    text: 'POST http://127.0.0.1:9000/ask',
    openUrl: undefined,
  });
  expect(describeTriggerSource(repoHostTrigger('repo'), url).text).toMatch(
    /^POST http:..127\.0\.0\.1:8080\//,
  );
  expect(describeTriggerSource(manualTrigger('deploy'), url).text).toBe('manual: triggers run deploy');
  expect(
    describeTriggerSource(scheduleTrigger('nightly', { cron: '0 3 * * *', timezone: 'UTC' }), url).text,
  ).toBe('0 3 * * * (UTC)');
});
