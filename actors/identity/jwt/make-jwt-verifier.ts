// Creates a verifier from the configuration. Loaded only if the configuration accepts tokens.

import { type JwtConfig, jwtSource } from '../../../config/jwt-schema.ts';
import { JwtVerifier } from './jwt-verifier.ts';
import { sharedKeys } from './shared-keys.ts';

export function makeJwtVerifier(config: JwtConfig): JwtVerifier {
  const { issuer, audience, claims, tolerance_seconds } = config;
  return new JwtVerifier({
    keys: sharedKeys(jwtSource(config)),
    issuer,
    audience: [audience],
    claims,
    toleranceSeconds: tolerance_seconds,
  });
}
