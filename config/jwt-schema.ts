// Whose JSON Web Tokens are taken, in the gateway file and in triggers alike: one issuer, its keys, and what a token of it
// must say.

import * as Type from 'typebox';
import { seconds } from './duration-schema.ts';
import { isLoopback } from './gateway-file/listen-addr.ts';
import { text, textByKey } from './text-schema.ts';

export function jwtSchema(description: string) {
  return Type.Object(
    {
      issuer: text('The issuer, as the claim iss has it.'),
      audience: text('The audience: what aud must be, or have among its members.'),
      jwks_url: Type.Optional(
        text("The issuer's keys. Without it ISSUER/.well-known/openid-configuration says where they are."),
      ),
      claims: textByKey('^\\S+$', Type.String(), {
        description:
          'Claims that a token must have, with their values; of a list, or of the words of scope, one of them.',
      }),
      tolerance_seconds: seconds('How far the clocks of issuer and gateway may differ.', 60),
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

/** Where the keys are found, once `jwtFault` has found nothing. */
export function jwtSource({ issuer, jwks_url }: Pick<JwtConfig, 'issuer' | 'jwks_url'>) {
  if (jwks_url !== undefined) return { jwksUrl: new URL(jwks_url) };
  return { metadataUrl: new URL(`${issuer.replace(/\/$/, '')}${DISCOVERY}`), issuer };
}

/** What is wrong with the addresses, and in which field; no message repeats one, since it may hold a key. */
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
    : { field: 'issuer', message: `${fault}, so that its keys are not found by it; set jwks_url` };
}

function addressFault(address: string): string | undefined {
  if (!URL.canParse(address)) return 'is no address';
  const { protocol, hostname, username, password } = new URL(address);
  if (username !== '' || password !== '') return 'holds a user name or password';
  if (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))) return undefined;
  return 'is not https';
}
