// Check of the claim `iat`, which jose does not compare with the clock.

import type { JWTPayload } from 'jose';

/** Returns true if the token claims an issue time in the future, beyond the tolerance. */
export function isIssuedLater({ iat }: JWTPayload, toleranceSeconds: number): boolean {
  return iat !== undefined && iat > Date.now() / 1000 + toleranceSeconds;
}
