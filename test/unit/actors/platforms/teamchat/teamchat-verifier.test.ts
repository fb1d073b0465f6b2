// Who may send activities: the table of tokens beside what the vendor's own library decides of the same, and a provider that changes
// its keys or is away.

import {
  AuthenticationConstants,
  ChannelValidation,
  JwtTokenValidation,
  SimpleCredentialProvider,
} from 'botframework-connector';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { isRefusal, type Verdict } from '../../../../../actors/identity/principal.ts';
import { teamChatVerifier } from '../../../../../actors/platforms/teamchat/verifier.ts';
import type { WebhookRequest } from '../../../../../actors/platforms/webhooks/webhook.ts';
import { teamChatMetadata } from '../../../../../config/resources/platforms/teamchat.ts';
import { type ApiAnswer, HttpApi } from '../../../../../libs/rest/http-api.ts';
import type { SigningKey } from '../../../../fixtures/key-server.ts';
import { type Members, personalChat, personOf } from '../../../../fixtures/team-platform/activities.ts';
import { CONNECTOR, TeamIdentity } from '../../../../fixtures/team-platform/team-identity.ts';
import { APP_ID, TeamPlatform } from '../../../../fixtures/team-platform/team-platform.ts';

const EMULATOR = 'd6d49420-f39b-4df7-a1dc-d59a935871db';
const OWN_TENANT = 'c0ffee00-0000-4000-8000-000000000001';
const OTHER_TENANT = 'c0ffee00-0000-4000-8000-000000000002';

let platform: TeamPlatform;
/** Nobody's. */
let stranger: SigningKey;

beforeAll(async () => {
  platform = await new TeamPlatform().start();
  stranger = await TeamIdentity.newKey('stranger');
  ChannelValidation.OpenIdMetadataEndpoint = platform.metadataUrl;
  Object.assign(AuthenticationConstants, { ToBotFromEmulatorOpenIdMetadataUrl: platform.metadataUrl });
  // It tells the console of each token that it refuses.
  vi.spyOn(console, 'error').mockImplementation(() => {});
});
afterAll(async () => {
  vi.restoreAllMocks();
  await platform.stop();
});

let activity: Members;
beforeEach(() => {
  activity = platform.activities.message(personalChat('ada'), personOf('ada'), 'hello');
});

/** All keys come from the address in the file (TCV3). */
const verifierFor = (metadata = platform.metadataUrl, tenant_id: string | undefined = OWN_TENANT) =>
  teamChatVerifier({ app_id: APP_ID, tenant_id, openid_metadata_url: metadata });

const requestWith = (authorization: string) => ({ headers: { authorization } }) as unknown as WebhookRequest;

async function verdictOf(
  authorization: string,
  of: Members = activity,
  verifier = verifierFor(),
): Promise<Verdict> {
  const request = requestWith(authorization);
  if (!verifier.mayFit(request)) return { refused: 'missing', why: '' };
  return verifier.verify(request, Buffer.from(JSON.stringify(of)));
}

/** Of the vendor's library, with the same keys. */
async function isTakenByVendor(authorization: string, of: Members = activity): Promise<boolean> {
  const credentials = new SimpleCredentialProvider(APP_ID, '');
  try {
    const identity = await JwtTokenValidation.authenticateRequest(of, authorization, credentials, '');
    return identity.isAuthenticated;
  } catch {
    return false;
  }
}

const seconds = () => Math.floor(Date.now() / 1000);

interface Case {
  readonly name: string;
  /** What the header holds, and of which activity, where it is not the usual one. */
  make(identity: TeamIdentity): Promise<readonly [authorization: string, activity?: Members]>;
  readonly isTaken: boolean;
  /** Where the vendor's library decides otherwise. */
  readonly isTakenByVendor?: boolean;
}

const bearer = async (token: Promise<string>) => [`Bearer ${await token}`] as const;
const url = () => String(activity.serviceUrl);
const connector = (name: string, isTaken: boolean, claims: Members, more: Partial<Case> = {}): Case => ({
  name,
  isTaken,
  make: (identity) => bearer(identity.token(url(), claims)),
  ...more,
});
const tenant = (
  name: string,
  isTaken: boolean,
  version: '1.0' | '2.0',
  of: string,
  claims: Members = {},
): Case => ({
  name,
  isTaken,
  make: (identity) => bearer(identity.tenantToken(of, version, claims)),
});
const withActivity = (name: string, isTaken: boolean, more: Members): Case => ({
  name,
  isTaken,
  make: async (identity) => [`Bearer ${await identity.token(url())}`, { ...activity, ...more }],
});

const table: readonly Case[] = [
  connector('a right one', true, {}),
  connector('one that ended four minutes ago', true, { exp: seconds() - 240 }),
  connector('one that ended six minutes ago', false, { exp: seconds() - 360 }),
  connector('one that begins in four minutes', true, { nbf: seconds() + 240, exp: seconds() + 600 }),
  connector('one that begins in six minutes', false, { nbf: seconds() + 360, exp: seconds() + 600 }),
  connector('one for another app', false, { aud: 'another' }),
  connector('one for nobody', false, { aud: undefined }),
  connector('one of an issuer of no name', false, { iss: undefined }),
  connector('one of another issuer', false, { iss: 'https://evil.example' }),
  connector('one of an issuer that begins alike', false, { iss: `${CONNECTOR}.evil.example` }),
  connector('one of the connector of a government', false, { iss: 'https://api.botframework.us' }),
  connector('one for another service', false, { serviceurl: 'https://evil.example/' }),
  connector('one for no service', false, { serviceurl: undefined }),
  connector('one whose claim is spelt otherwise', false, { serviceurl: undefined, serviceUrl: 'x' }),
  connector('one that never ends', false, { exp: undefined }, { isTakenByVendor: true }),
  withActivity('an activity of a channel that the key is not endorsed for', false, { channelId: 'slack' }),
  withActivity('an activity with another service', false, { serviceUrl: 'https://smba.trafficmanager.net/' }),
  {
    name: 'a key of a provider of our own that says nothing of channels',
    isTaken: true,
    make: async (identity) => {
      const [key] = identity.keys.filter(({ kid }) => kid === 'bare');
      return bearer(identity.token(url(), {}, key && { key }));
    },
  },
  {
    name: 'a key that the provider does not have',
    isTaken: false,
    make: async (identity) => bearer(identity.token(url(), {}, { key: { ...stranger, kid: 'unknown' } })),
  },
  {
    name: 'a key of its own under the name of a right one',
    isTaken: false,
    make: async (identity) =>
      bearer(identity.token(url(), {}, { key: { ...stranger, kid: identity.key.kid } })),
  },
  {
    name: 'no token at all',
    isTaken: false,
    make: async () => ['Bearer '],
  },
  {
    name: 'another scheme',
    isTaken: false,
    make: async (identity) => [`Basic ${await identity.token(url())}`],
  },
  {
    name: 'no signature',
    isTaken: false,
    make: async (identity) => [`Bearer ${(await identity.token(url())).replace(/[^.]*$/, '')}`],
  },
  {
    name: 'no algorithm',
    isTaken: false,
    make: async (identity) => {
      const [, payload] = (await identity.token(url())).split('.');
      const header = Buffer.from(JSON.stringify({ alg: 'none', kid: identity.key.kid })).toString(
        'base64url',
      );
      return [`Bearer ${header}.${payload}.`];
    },
  },
  tenant('the emulator, first form', true, '1.0', EMULATOR),
  tenant('the emulator, second form', true, '2.0', EMULATOR),
  tenant('the tenant of the bot, first form', true, '1.0', OWN_TENANT),
  tenant('the tenant of the bot, second form', true, '2.0', OWN_TENANT),
  tenant('an app of the tenant that is another', false, '2.0', OWN_TENANT, { azp: 'another' }),
  tenant('a person who signs in at the app', false, '2.0', OWN_TENANT, { azp: undefined, sub: 'ada' }),
  tenant('a form that nobody knows', false, '2.0', OWN_TENANT, { ver: '3.0' }),
  tenant("the other form's member", false, '1.0', OWN_TENANT, { appid: undefined, azp: APP_ID }),
];

describe('a token', () => {
  beforeAll(async () => {
    const { identity } = platform;
    identity.keys = [await TeamIdentity.newKey('bare', null), ...identity.keys];
  });

  test.each(table)('$name: as the vendor decides, or more strictly (TCV1, TCV2)', async (each) => {
    const [authorization, of = activity] = await each.make(platform.identity);
    const verdict = await verdictOf(authorization, of);
    expect(isRefusal(verdict) ? verdict.why || 'refused' : 'taken').toEqual(
      each.isTaken ? 'taken' : expect.not.stringMatching(/^taken$/),
    );
    expect(await isTakenByVendor(authorization, of)).toBe(each.isTakenByVendor ?? each.isTaken);
  });

  test("with a key of the vendor's own provider that is endorsed for nothing is refused (TCV1)", async () => {
    const { identity } = platform;
    const ask = HttpApi.prototype.request;
    const answers = [
      { jwks_uri: 'https://login.botframework.com/keys' },
      { keys: identity.keys.map(({ jwk }) => jwk) },
    ];
    const asked = vi.spyOn(HttpApi.prototype, 'request').mockImplementation(async function (
      this: HttpApi,
      request,
    ) {
      const json = answers.shift();
      return json === undefined
        ? ask.call(this, request)
        : ({ status: 200, isOk: true, text: '', json } as ApiAnswer);
    });
    try {
      const verifier = verifierFor(teamChatMetadata);
      const [bare] = identity.keys.filter(({ kid }) => kid === 'bare');
      const right = `Bearer ${await identity.token(url())}`;
      expect(await verdictOf(right, activity, verifier)).toMatchObject({ kind: 'token' });
      const unlimited = `Bearer ${await identity.token(url(), {}, bare && { key: bare })}`;
      expect(await verdictOf(unlimited, activity, verifier)).toMatchObject({
        refused: 'wrong',
        why: expect.stringContaining('not endorsed'),
      });
    } finally {
      asked.mockRestore();
    }
  });

  test("of any other tenant is refused, and of one that is not that of its issuer; the vendor's library takes both", async () => {
    const { identity } = platform;
    const foreign = `Bearer ${await identity.tenantToken(OTHER_TENANT, '2.0')}`;
    const mixed = `Bearer ${await identity.tenantToken(OWN_TENANT, '2.0', { tid: OTHER_TENANT })}`;
    expect(await verdictOf(foreign)).toMatchObject({
      refused: 'wrong',
      why: 'the token is of another issuer',
    });
    expect(await verdictOf(mixed)).toMatchObject({
      refused: 'wrong',
      why: 'the token is of another tenant than its issuer',
    });
    expect(await isTakenByVendor(foreign)).toBe(true);
    expect(await isTakenByVendor(mixed)).toBe(true);
  });

  test("whose signature or claims differ in one sign is refused, by us and by the vendor's library", async () => {
    const token = await platform.identity.token(url());
    await fc.assert(
      fc.asyncProperty(fc.nat(token.length - 1), fc.integer({ min: 1, max: 63 }), async (at, by) => {
        const signs = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
        const before = signs.indexOf(token.charAt(at));
        // The last sign of a part has bits that say nothing.
        fc.pre(before !== -1 && !/^(\.|$)/.test(token.slice(at + 1)));
        const sign = signs.charAt((before + by) % 64);
        const broken = `Bearer ${token.slice(0, at)}${sign}${token.slice(at + 1)}`;
        expect(isRefusal(await verdictOf(broken))).toBe(true);
        expect(await isTakenByVendor(broken)).toBe(false);
      }),
      { numRuns: 60 },
    );
  });

  test('is repeated in nothing that is said of it', async () => {
    const token = await platform.identity.token(url(), { aud: 'a-secret-audience' });
    expect(JSON.stringify(await verdictOf(`Bearer ${token}`))).not.toMatch(/a-secret-audience|eyJ/);
  });
});

test('30 tokens of unknown keys have the provider asked for its keys no more than three times', async () => {
  await using own = await startedPlatform();
  const verifier = verifierFor(own.platform.metadataUrl);
  const of = own.platform.activities.message(personalChat('bob'), personOf('bob'), 'hi');
  for (let n = 0; n < 30; n += 1) {
    const token = await own.platform.identity.token(
      String(of.serviceUrl),
      {},
      { key: { ...stranger, kid: `k${n}` } },
    );
    expect(await verdictOf(`Bearer ${token}`, of, verifier)).toMatchObject({ refused: 'wrong' });
  }
  expect(own.platform.identity.asked.keys).toBeLessThanOrEqual(3);
});

test('while the provider is away nobody is let in, and once it is back they are', async () => {
  await using own = await startedPlatform();
  const { identity, activities, metadataUrl } = own.platform;
  const verifier = verifierFor(metadataUrl);
  const of = activities.message(personalChat('bob'), personOf('bob'), 'hi');
  const ask = async () => verdictOf(`Bearer ${await identity.token(String(of.serviceUrl))}`, of, verifier);
  identity.status = 500;
  expect(await ask()).toMatchObject({ refused: 'unavailable' });
  identity.status = undefined;
  await expect.poll(ask, { timeout: 20_000, interval: 200 }).toMatchObject({ kind: 'token' });
});

async function startedPlatform() {
  const started = await new TeamPlatform().start();
  return { platform: started, [Symbol.asyncDispose]: () => started.stop() };
}
