// What proves an activity: the token that its sender signs for our bot, and that the token was made for this activity and no other.
// The platform's own library decides the same way, where it is not laxer (docs/sources/teamchat.md says where).
//
// TCV1  a token of the platform's connector is for our app, signed with a key that is endorsed for the activity's channel, and its
//       claim `serviceurl` is the activity's: who may send for one service can have answers sent to no other.
// TCV2  a token of a tenant comes from the emulator, or from the one tenant of the bot. Its issuer and `tid` name the same tenant, and
//       it was given to our app itself: a token with which a person signs in at the app is none.
// TCV3  with an address of a provider in the file all keys come from there, and one of them that says nothing of channels is for any.

import { type TeamChatConfig, teamChatMetadata } from '../../../config/resources/platforms/teamchat.ts';
import { bearerToken } from '../../identity/jwt/bearer-token.ts';
import { JwtVerifier, type VerifiedToken } from '../../identity/jwt/jwt-verifier.ts';
import { sharedKeys } from '../../identity/jwt/shared-keys.ts';
import { isRefusal, type Refusal, type Verdict } from '../../identity/principal.ts';
import { textMember } from '../payloads/payload-member.ts';
import type { Verifier } from '../webhooks/verified-subscribers.ts';
import { payloadOf } from './activity.ts';

const CONNECTOR = 'https://api.botframework.com';
/** Tenants in which the vendor gives tokens to its emulator. */
const EMULATOR_TENANTS = ['d6d49420-f39b-4df7-a1dc-d59a935871db', 'f8cdef31-a31e-4b4a-93e4-5f571e91255a'];
/** Where the keys of all tenants are found. */
const TENANTS_METADATA = 'https://login.microsoftonline.com/common/v2.0/.well-known/openid-configuration';
const TOLERANCE_SECONDS = 300;
const ALGORITHMS = ['RS256'];

export type TeamChatProof = Pick<TeamChatConfig, 'app_id' | 'tenant_id' | 'openid_metadata_url'>;

export function teamChatVerifier({ app_id, tenant_id, openid_metadata_url }: TeamChatProof): Verifier {
  const isOfVendor = openid_metadata_url === teamChatMetadata;
  const common = { audience: [app_id], algorithms: ALGORITHMS, toleranceSeconds: TOLERANCE_SECONDS };
  const connector = new JwtVerifier({
    ...common,
    keys: keysAt(openid_metadata_url),
    issuer: CONNECTOR,
  });
  const tenants = new JwtVerifier({
    ...common,
    keys: keysAt(isOfVendor ? TENANTS_METADATA : openid_metadata_url),
    issuer: tenantsOf(tenant_id).flatMap(issuersOf),
  });
  return {
    identity: JSON.stringify([app_id, tenant_id, openid_metadata_url]),
    isOpen: false,
    mayFit: ({ headers }) => bearerToken(headers) !== undefined,
    verify({ headers }, body) {
      const token = bearerToken(headers) ?? '';
      const isOfTenant = tenants.isNamed(token);
      const judge = (verified: VerifiedToken | Refusal): Verdict =>
        isRefusal(verified)
          ? verified
          : ((isOfTenant ? tenantFault(verified, app_id) : undefined) ??
            activityFault(verified, body, { isOfTenant, mustBeEndorsed: isOfVendor && !isOfTenant }) ??
            verified.principal);
      const verified = (isOfTenant ? tenants : connector).verify(token);
      return verified instanceof Promise ? verified.then(judge) : judge(verified);
    },
  };
}

const keysAt = (address: string) => sharedKeys({ metadataUrl: new URL(address) });

const tenantsOf = (tenant: string | undefined) =>
  tenant === undefined ? EMULATOR_TENANTS : [...EMULATOR_TENANTS, tenant];

/** In the two forms of its tokens. */
const issuersOf = (tenant: string) => [
  `https://sts.windows.net/${tenant}/`,
  `https://login.microsoftonline.com/${tenant}/v2.0`,
];

function tenantFault({ principal }: VerifiedToken, appId: string): Refusal | undefined {
  const { iss, tid, ver, appid, azp } = principal.claims;
  if (typeof tid !== 'string' || !issuersOf(tid).includes(String(iss)))
    return wrong('is of another tenant than its issuer');
  const whom = ver === '1.0' ? appid : ver === '2.0' ? azp : undefined;
  return whom === appId ? undefined : wrong('was not given to the app itself');
}

/** What is not there to be compared is refused as malformed once the token is known to be right. */
function activityFault(
  { key, principal }: VerifiedToken,
  body: Buffer,
  { isOfTenant, mustBeEndorsed }: { readonly isOfTenant: boolean; readonly mustBeEndorsed: boolean },
): Refusal | undefined {
  const payload = payloadOf(body);
  const channelId = textMember(payload, 'channelId');
  const { endorsements } = key as { readonly endorsements?: unknown };
  const endorsed: readonly unknown[] = Array.isArray(endorsements) ? endorsements : [];
  const isLimited = mustBeEndorsed || endorsed.length > 0;
  if (channelId !== undefined && isLimited && !endorsed.includes(channelId))
    return wrong("is signed with a key that is not endorsed for the activity's channelId");
  const serviceUrl = textMember(payload, 'serviceUrl');
  if (!isOfTenant && serviceUrl !== undefined && principal.claims.serviceurl !== serviceUrl)
    return wrong("is for another serviceUrl than the activity's");
  return undefined;
}

const wrong = (what: string): Refusal => ({ refused: 'wrong', why: `the token ${what}` });
