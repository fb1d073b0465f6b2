// Schema for JSON Web Tokens, shared by the gateway file and triggers: the issuer, its keys, and required
// claims.

import * as Type from 'typebox';
import { seconds } from './duration-schema.ts';
import { isLoopback } from './gateway-file/listen-addr.ts';
import { text, textByKey } from './text-schema.ts';

export function jwtSchema(description: string) {
  return Type.Object(
    {
      issuer: text('Issuer, as in the claim iss.'),
      audience: text('Audience; must be included in the claim aud.'),
      jwks_url: Type.Optional(
        text("URL of the issuer's keys. Default: from ISSUER/.well-known/openid-configuration."),
      ),
      claims: textByKey('^\\S+$', Type.String(), {
        description:
          'Required claims with their values. A claim with a list, or scope, must include the value.',
      }),
      tolerance_seconds: seconds('Maximum clock difference between issuer and gateway.', 60),
    },
    { description },
  );
}

export interface JwtConfig {
  readonly issuer: string;
  readonly audience: string;
  readonly jwks_url?: string | undefined;
  readonly claims: Readonly<Record<string, string>>;
  readonly tolerance_seconds: number;
}

const DISCOVERY = '/.well-known/openid-configuration';

/** Returns the location of the keys. Requires that `jwtFault` finds no problem. */
export function jwtSource({ issuer, jwks_url }: Pick<JwtConfig, 'issuer' | 'jwks_url'>) {
  if (jwks_url !== undefined) return { jwksUrl: new URL(jwks_url) };
  return { metadataUrl: new URL(`${issuer.replace(/\/$/, '')}${DISCOVERY}`), issuer };
}

/**
 * Returns the first problem with the addresses; `message` completes "FIELD …". Messages do not contain an
 * address, because it may contain a key.
 */
export function jwtFault({
  issuer,
  jwks_url,
}: {
  readonly issuer?: string | undefined;
  readonly jwks_url?: string | undefined;
}): { readonly field: 'issuer' | 'jwks_url'; readonly message: string } | undefined {
  if (jwks_url !== undefined) {
    const message = addressFault(jwks_url);
    return message === undefined ? undefined : { field: 'jwks_url', message };
  }
  const fault = issuer === undefined ? undefined : addressFault(issuer);
  return fault === undefined
    ? undefined
    : { field: 'issuer', message: `${fault}, so its keys cannot be found; set jwks_url` };
}

function addressFault(address: string): string | undefined {
  if (!URL.canParse(address)) return 'is not an address';
  const { protocol, hostname, username, password } = new URL(address);
  if (username !== '' || password !== '') return 'contains a user name or password';
  if (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))) return undefined;
  return 'is not https';
}
