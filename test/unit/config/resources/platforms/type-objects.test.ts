// What every type of triggers says of itself, without anybody asking which type it is.

import { describe, expect, test } from 'vitest';
import { makeAdapters } from '../../../../../actors/platforms/adapters.ts';
import { platformsSchema } from '../../../../../config/resources/platform-schema.ts';
import { givenBy } from '../../../../../config/resources/triggers/trigger-config.ts';
import {
  platformOf,
  triggerTypes,
  typeNames,
} from '../../../../../config/resources/triggers/trigger-types.ts';
import { wayInTo } from '../../../../../config/resources/triggers/way-in.ts';
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

describe.each(typeNames)('%s', (name) => {
  const type = triggerTypes[name];
  const { properties } = type.config as {
    readonly properties: Record<string, { readonly default?: unknown }>;
  };

  test('has a path with a default of its own exactly where it has a webhook', () => {
    expect(Object.hasOwn(properties, 'path')).toBe(type.webhook !== undefined);
    if (type.webhook === undefined) return;
    const paths = typeNames.map((each) => {
      const { path } = triggerTypes[each].config.properties as Record<string, { readonly default?: string }>;
      return path?.default;
    });
    expect(paths.filter((path) => path === properties.path?.default)).toHaveLength(1);
  });

  test('takes webhook_path from the settings of its platform exactly where it has a webhook', () => {
    const schema = platformsSchema as unknown as PlatformsSchema;
    const settings = schema.properties[platformOf(name)]?.properties ?? {};
    expect(Object.hasOwn(settings, 'webhook_path')).toBe(type.webhook !== undefined);
    expect(givenBy({ webhook_path: '/hooks/mine' }, type)).toEqual(
      type.webhook === undefined ? {} : { path: '/hooks/mine' },
    );
  });

  test('has mentions exactly where its adapter knows what a mention is', () => {
    expect(adapters.ofType(name).outbound?.mentions !== undefined).toBe(type.mentions !== undefined);
  });

  test('can do without proof only where it says what proves', () => {
    expect(Object.hasOwn(properties, 'insecure_allow_unverified')).toBe(type.proof !== undefined);
  });
});

test('maturity is labelled as the contract has it', () => {
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

test('a person is told how events come in, and where anything can be posted without proof', () => {
  const url = 'http://127.0.0.1:8080';
  const open = httpTrigger('ask', { webhook_secret: undefined, methods: ['POST', 'PUT'], path: '/ask' });
  expect(wayInTo(open, url)).toEqual({ text: `POST, PUT ${url}/ask`, openUrl: `${url}/ask` });
  const own = httpTrigger('ask', { webhook_secret: 's', host: '0.0.0.0', port: 9000, path: '/ask' });
  expect(wayInTo(own, url)).toEqual({ text: 'POST http://127.0.0.1:9000/ask', openUrl: undefined });
  expect(wayInTo(repoHostTrigger('repo'), url).text).toMatch(/^POST http:..127\.0\.0\.1:8080\//);
  expect(wayInTo(manualTrigger('deploy'), url).text).toBe('by hand: triggers run deploy');
  expect(wayInTo(scheduleTrigger('nightly', { cron: '0 3 * * *', timezone: 'UTC' }), url).text).toBe(
    '0 3 * * * (UTC)',
  );
});
