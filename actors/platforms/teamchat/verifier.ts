// Verifies the tokens of activities: signed for the bot, and issued for this activity. The rules are the same
// as in the platform's library, or stricter (docs/sources/teamchat.md).
//
// A connector token has the app as audience, a key endorsed for the activity's channel, and the activity's
// service URL in the claim `serviceurl`, so that a sender of one service cannot redirect replies to another.
// A tenant token is issued to the app itself, by the emulator or the bot's tenant, with the same tenant in
// issuer and `tid`; sign-in tokens of users are refused. With a configured provider, all keys come from it,
// and a key without endorsements is valid for every channel.

import { type TeamChatConfig, teamChatMetadata } from '../../../config/resources/platforms/teamchat.ts';
import { bearerToken } from '../../identity/jwt/bearer-token.ts';
import { JwtVerifier, type VerifiedToken } from '../../identity/jwt/jwt-verifier.ts';
import { sharedKeys } from '../../identity/jwt/shared-keys.ts';
import { isRefusal, type Refusal, type VerificationResult } from '../../identity/principal.ts';
import { textMember } from '../payloads/payload-member.ts';
import type { Verifier } from '../webhooks/verified-subscribers.ts';
import { payloadOf } from './activity.ts';

const CONNECTOR = 'https://api.botframework.com';
/** Tenants that issue tokens to the vendor's emulator. */
const EMULATOR_TENANTS = ['d6d49420-f39b-4df7-a1dc-d59a935871db', 'f8cdef31-a31e-4b4a-93e4-5f571e91255a'];
/** Metadata with the keys of all tenants. */
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
    hasProof: ({ headers }) => bearerToken(headers) !== undefined,
    verify({ headers }, body) {
      const token = bearerToken(headers) ?? '';
      const isOfTenant = tenants.claimsIssuer(token);
      const resultOf = (verified: VerifiedToken | Refusal): VerificationResult =>
        isRefusal(verified)
          ? verified
          : ((isOfTenant ? tenantFault(verified, app_id) : undefined) ??
            activityFault(verified, body, { isOfTenant, mustBeEndorsed: isOfVendor && !isOfTenant }) ??
            verified.principal);
      const verified = (isOfTenant ? tenants : connector).verify(token);
      return verified instanceof Promise ? verified.then(resultOf) : resultOf(verified);
    },
  };
}

const keysAt = (address: string) => sharedKeys({ metadataUrl: new URL(address) });

const tenantsOf = (tenant: string | undefined) =>
  tenant === undefined ? EMULATOR_TENANTS : [...EMULATOR_TENANTS, tenant];

/** Returns both forms of a tenant's issuer. */
const issuersOf = (tenant: string) => [
  `https://sts.windows.net/${tenant}/`,
  `https://login.microsoftonline.com/${tenant}/v2.0`,
];

function tenantFault({ principal }: VerifiedToken, appId: string): Refusal | undefined {
  const { iss, tid, ver, appid, azp } = principal.claims;
  if (typeof tid !== 'string' || !issuersOf(tid).includes(String(iss)))
    return wrong('has another tenant than its issuer');
  const issuedTo = ver === '1.0' ? appid : ver === '2.0' ? azp : undefined;
  return issuedTo === appId ? undefined : wrong('was not issued to the app itself');
}

/**
 * Checks that the token was issued for this activity. An activity that lacks these members is refused later,
 * as malformed.
 */
function activityFault(
  { key, principal }: VerifiedToken,
  body: Buffer,
  { isOfTenant, mustBeEndorsed }: { readonly isOfTenant: boolean; readonly mustBeEndorsed: boolean },
): Refusal | undefined {
  const payload = payloadOf(body);
  const channelId = textMember(payload, 'channelId');
  const { endorsements } = key as { readonly endorsements?: unknown };
  const endorsedChannels: readonly unknown[] = Array.isArray(endorsements) ? endorsements : [];
  const isLimited = mustBeEndorsed || endorsedChannels.length > 0;
  if (channelId !== undefined && isLimited && !endorsedChannels.includes(channelId))
    return wrong("is signed with a key that is not endorsed for the activity's channelId");
  const serviceUrl = textMember(payload, 'serviceUrl');
  if (!isOfTenant && serviceUrl !== undefined && principal.claims.serviceurl !== serviceUrl)
    return wrong("is for another serviceUrl than the activity's");
  return undefined;
}

const wrong = (fault: string): Refusal => ({ kind: 'wrong', reason: `the token ${fault}` });
