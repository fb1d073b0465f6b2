// The verifier of what a configuration file says about tokens. Loaded only where one says anything: without tokens a gateway
// starts without the code for them.

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
