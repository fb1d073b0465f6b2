// The verifier of what a configuration file says about tokens. Loaded only where one says anything: without tokens a gateway
// starts without the code for them.
//
// MV1  whoever takes tokens of one issuer, routes and triggers alike, has its keys in common: they are fetched once, and kept over
//      a reload.

import { type JwtConfig, jwtSource } from '../../config/jwt-schema.ts';
import { WeakValues } from '../weak-values.ts';
import { JwtVerifier } from './jwt-verifier.ts';
import { KeySet, type KeySetOptions } from './key-set.ts';

const keySets = new WeakValues<KeySet>();

export function makeJwtVerifier(config: JwtConfig): JwtVerifier {
  const { issuer, audience, claims, tolerance_seconds } = config;
  return new JwtVerifier({
    keys: keysAt(jwtSource(config)),
    issuer,
    audience: [audience],
    claims,
    toleranceSeconds: tolerance_seconds,
  });
}

function keysAt(source: KeySetOptions['source']): KeySet {
  // The address as it is asked: an issuer is a part of what is expected there.
  return keySets.of(JSON.stringify(source), () => new KeySet({ source }));
}
