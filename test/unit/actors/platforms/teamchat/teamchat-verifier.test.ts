// Authentication of activities: verdicts on a table of tokens, compared with the vendor's library; and a key
// provider that rotates keys or is unavailable.

import {
  AuthenticationConstants,
  ChannelValidation,
  JwtTokenValidation,
  SimpleCredentialProvider,
} from 'botframework-connector';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { isRefusal, type VerificationResult } from '../../../../../actors/identity/principal.ts';
import { teamChatVerifier } from '../../../../../actors/platforms/teamchat/verifier.ts';
import type { WebhookRequest } from '../../../../../actors/platforms/webhooks/webhook.ts';
import { teamChatMetadata } from '../../../../../config/resources/platforms/teamchat.ts';
import { type ApiResponse, HttpApi } from '../../../../../libs/rest/http-api.ts';
import type { SigningKey } from '../../../../fixtures/key-server.ts';
import { type Members, personalChat, personOf } from '../../../../fixtures/team-platform/activities.ts';
import { CONNECTOR, TeamIdentity } from '../../../../fixtures/team-platform/team-identity.ts';
import { APP_ID, TeamPlatform } from '../../../../fixtures/team-platform/team-platform.ts';

const EMULATOR = 'd6d49420-f39b-4df7-a1dc-d59a935871db';
const OWN_TENANT = 'c0ffee00-0000-4000-8000-000000000001';
const OTHER_TENANT = 'c0ffee00-0000-4000-8000-000000000002';

let platform: TeamPlatform;
/** Key of an unknown provider. */
let foreignKey: SigningKey;

beforeAll(async () => {
  platform = await new TeamPlatform().start();
  foreignKey = await TeamIdentity.newKey('stranger');
  ChannelValidation.OpenIdMetadataEndpoint = platform.metadataUrl;
  Object.assign(AuthenticationConstants, { ToBotFromEmulatorOpenIdMetadataUrl: platform.metadataUrl });
  // The vendor's library logs each refused token.
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

/** Returns a verifier that loads its keys from the metadata address. */
const verifierFor = (metadata = platform.metadataUrl, tenant_id: string | undefined = OWN_TENANT) =>
  teamChatVerifier({ app_id: APP_ID, tenant_id, openid_metadata_url: metadata });

const requestWith = (authorization: string) => ({ headers: { authorization } }) as unknown as WebhookRequest;

async function verdictOf(
  authorization: string,
  of: Members = activity,
  verifier = verifierFor(),
): Promise<VerificationResult> {
  const request = requestWith(authorization);
  if (!verifier.hasProof(request)) return { kind: 'missing', reason: '' };
  return verifier.verify(request, Buffer.from(JSON.stringify(of)));
}

/** Returns true if the vendor's library accepts the token, with the same keys. */
async function isAcceptedByVendor(authorization: string, of: Members = activity): Promise<boolean> {
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
  /** Returns the header, and the activity if it is not the default one. */
  make(identity: TeamIdentity): Promise<readonly [authorization: string, activity?: Members]>;
  readonly isAccepted: boolean;
  /** Verdict of the vendor's library, if it differs. */
  readonly isAcceptedByVendor?: boolean;
}

const bearer = async (token: Promise<string>) => [`Bearer ${await token}`] as const;
const url = () => String(activity.serviceUrl);
const connector = (name: string, isAccepted: boolean, claims: Members, more: Partial<Case> = {}): Case => ({
  name,
  isAccepted,
  make: (identity) => bearer(identity.token(url(), claims)),
  ...more,
});
const tenant = (
  name: string,
  isAccepted: boolean,
  version: '1.0' | '2.0',
  of: string,
  claims: Members = {},
): Case => ({
  name,
  isAccepted,
  make: (identity) => bearer(identity.tenantToken(of, version, claims)),
});
const withActivity = (name: string, isAccepted: boolean, more: Members): Case => ({
  name,
  isAccepted,
  make: async (identity) => [`Bearer ${await identity.token(url())}`, { ...activity, ...more }],
});

const table: readonly Case[] = [
  connector('accepts a valid token', true, {}),
  connector('accepts a token that expired four minutes ago', true, { exp: seconds() - 240 }),
  connector('rejects a token that expired six minutes ago', false, { exp: seconds() - 360 }),
  connector('accepts a token that is valid in four minutes', true, {
    nbf: seconds() + 240,
    exp: seconds() + 600,
  }),
  connector('rejects a token that is valid in six minutes', false, {
    nbf: seconds() + 360,
    exp: seconds() + 600,
  }),
  connector('rejects a token for another app', false, { aud: 'another' }),
  connector('rejects a token without audience', false, { aud: undefined }),
  connector('rejects a token without issuer', false, { iss: undefined }),
  connector('rejects a token of another issuer', false, { iss: 'https://evil.example' }),
  connector('rejects a token of an issuer with the same prefix', false, { iss: `${CONNECTOR}.evil.example` }),
  connector('rejects a token of a government connector', false, { iss: 'https://api.botframework.us' }),
  connector('rejects a token for another service', false, { serviceurl: 'https://evil.example/' }),
  connector('rejects a token without service', false, { serviceurl: undefined }),
  connector('rejects a token whose service claim is spelled differently', false, {
    serviceurl: undefined,
    serviceUrl: 'x',
  }),
  connector('rejects a token without expiry', false, { exp: undefined }, { isAcceptedByVendor: true }),
  withActivity('rejects a channel that the key is not endorsed for', false, { channelId: 'slack' }),
  withActivity('rejects an activity with another service', false, {
    serviceUrl: 'https://smba.trafficmanager.net/',
  }),
  {
    name: 'accepts a key without endorsements from a custom provider',
    isAccepted: true,
    make: async (identity) => {
      const [key] = identity.keys.filter(({ kid }) => kid === 'bare');
      return bearer(identity.token(url(), {}, key && { key }));
    },
  },
  {
    name: 'rejects a key that the provider does not have',
    isAccepted: false,
    make: async (identity) => bearer(identity.token(url(), {}, { key: { ...foreignKey, kid: 'unknown' } })),
  },
  {
    name: 'rejects a foreign key with the id of a valid one',
    isAccepted: false,
    make: async (identity) =>
      bearer(identity.token(url(), {}, { key: { ...foreignKey, kid: identity.key.kid } })),
  },
  {
    name: 'rejects a missing token',
    isAccepted: false,
    make: async () => ['Bearer '],
  },
  {
    name: 'rejects another scheme',
    isAccepted: false,
    make: async (identity) => [`Basic ${await identity.token(url())}`],
  },
  {
    name: 'rejects a missing signature',
    isAccepted: false,
    make: async (identity) => [`Bearer ${(await identity.token(url())).replace(/[^.]*$/, '')}`],
  },
  {
    name: 'rejects the algorithm none',
    isAccepted: false,
    make: async (identity) => {
      const [, payload] = (await identity.token(url())).split('.');
      const header = Buffer.from(JSON.stringify({ alg: 'none', kid: identity.key.kid })).toString(
        'base64url',
      );
      return [`Bearer ${header}.${payload}.`];
    },
  },
  tenant('accepts the emulator, version 1.0', true, '1.0', EMULATOR),
  tenant('accepts the emulator, version 2.0', true, '2.0', EMULATOR),
  tenant('accepts the tenant of the bot, version 1.0', true, '1.0', OWN_TENANT),
  tenant('accepts the tenant of the bot, version 2.0', true, '2.0', OWN_TENANT),
  tenant('rejects another app of the tenant', false, '2.0', OWN_TENANT, { azp: 'another' }),
  tenant('rejects a user who signs in to the app', false, '2.0', OWN_TENANT, { azp: undefined, sub: 'ada' }),
  tenant('rejects an unknown version', false, '2.0', OWN_TENANT, { ver: '3.0' }),
  tenant('rejects the app claim of the other version', false, '1.0', OWN_TENANT, {
    appid: undefined,
    azp: APP_ID,
  }),
];

describe('the verifier', () => {
  beforeAll(async () => {
    const { identity } = platform;
    identity.keys = [await TeamIdentity.newKey('bare', null), ...identity.keys];
  });

  test.each(table)("$name, like the vendor's library or more strictly", async (each) => {
    const [authorization, of = activity] = await each.make(platform.identity);
    const verdict = await verdictOf(authorization, of);
    expect(isRefusal(verdict) ? verdict.reason || 'refused' : 'accepted').toEqual(
      each.isAccepted ? 'accepted' : expect.not.stringMatching(/^accepted$/),
    );
    expect(await isAcceptedByVendor(authorization, of)).toBe(each.isAcceptedByVendor ?? each.isAccepted);
  });

  test("rejects keys without endorsements from the vendor's provider", async () => {
    const { identity } = platform;
    const originalRequest = HttpApi.prototype.request;
    const answers = [
      { jwks_uri: 'https://login.botframework.com/keys' },
      { keys: identity.keys.map(({ jwk }) => jwk) },
    ];
    const requestSpy = vi.spyOn(HttpApi.prototype, 'request').mockImplementation(async function (
      this: HttpApi,
      request,
    ) {
      const json = answers.shift();
      return json === undefined
        ? originalRequest.call(this, request)
        : ({ status: 200, isOk: true, text: '', json } as ApiResponse);
    });
    try {
      const verifier = verifierFor(teamChatMetadata);
      const [bare] = identity.keys.filter(({ kid }) => kid === 'bare');
      const endorsed = `Bearer ${await identity.token(url())}`;
      expect(await verdictOf(endorsed, activity, verifier)).toMatchObject({ kind: 'token' });
      const unendorsed = `Bearer ${await identity.token(url(), {}, bare && { key: bare })}`;
      expect(await verdictOf(unendorsed, activity, verifier)).toMatchObject({
        kind: 'wrong',
        reason: expect.stringContaining('not endorsed'),
      });
    } finally {
      requestSpy.mockRestore();
    }
  });

  test("rejects a token of another tenant, and a token whose tenant differs from its issuer; the vendor's library accepts both", async () => {
    const { identity } = platform;
    const foreign = `Bearer ${await identity.tenantToken(OTHER_TENANT, '2.0')}`;
    const mixed = `Bearer ${await identity.tenantToken(OWN_TENANT, '2.0', { tid: OTHER_TENANT })}`;
    expect(await verdictOf(foreign)).toMatchObject({
      kind: 'wrong',
      reason: 'the token is from another issuer',
    });
    expect(await verdictOf(mixed)).toMatchObject({
      kind: 'wrong',
      reason: 'the token has another tenant than its issuer',
    });
    expect(await isAcceptedByVendor(foreign)).toBe(true);
    expect(await isAcceptedByVendor(mixed)).toBe(true);
  });

  test("rejects a token with a changed character, as the vendor's library does", async () => {
    const token = await platform.identity.token(url());
    await fc.assert(
      fc.asyncProperty(fc.nat(token.length - 1), fc.integer({ min: 1, max: 63 }), async (at, by) => {
        const characters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
        const before = characters.indexOf(token.charAt(at));
        // The last character of a part has unused bits, so some changes have no effect.
        fc.pre(before !== -1 && !/^(\.|$)/.test(token.slice(at + 1)));
        const character = characters.charAt((before + by) % 64);
        const broken = `Bearer ${token.slice(0, at)}${character}${token.slice(at + 1)}`;
        expect(isRefusal(await verdictOf(broken))).toBe(true);
        expect(await isAcceptedByVendor(broken)).toBe(false);
      }),
      { numRuns: 60 },
    );
  });

  test('does not repeat the token in its error', async () => {
    const token = await platform.identity.token(url(), { aud: 'a-secret-audience' });
    expect(JSON.stringify(await verdictOf(`Bearer ${token}`))).not.toMatch(/a-secret-audience|eyJ/);
  });
});

test('30 tokens of unknown keys cause at most three requests for keys', async () => {
  await using own = await startedPlatform();
  const verifier = verifierFor(own.platform.metadataUrl);
  const of = own.platform.activities.message(personalChat('bob'), personOf('bob'), 'hi');
  for (let n = 0; n < 30; n += 1) {
    const token = await own.platform.identity.token(
      String(of.serviceUrl),
      {},
      { key: { ...foreignKey, kid: `k${n}` } },
    );
    expect(await verdictOf(`Bearer ${token}`, of, verifier)).toMatchObject({ kind: 'wrong' });
  }
  expect(own.platform.identity.requestCounts.keys).toBeLessThanOrEqual(3);
});

test('tokens are rejected while the provider is unavailable, and accepted afterwards', async () => {
  await using own = await startedPlatform();
  const { identity, activities, metadataUrl } = own.platform;
  const verifier = verifierFor(metadataUrl);
  const of = activities.message(personalChat('bob'), personOf('bob'), 'hi');
  const verify = async () => verdictOf(`Bearer ${await identity.token(String(of.serviceUrl))}`, of, verifier);
  identity.status = 500;
  expect(await verify()).toMatchObject({ kind: 'unavailable' });
  identity.status = undefined;
  await expect.poll(verify, { timeout: 20_000, interval: 200 }).toMatchObject({ kind: 'token' });
});

async function startedPlatform() {
  const started = await new TeamPlatform().start();
  return { platform: started, [Symbol.asyncDispose]: () => started.stop() };
}
