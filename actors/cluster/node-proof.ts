// Mutual authentication of nodes. By default both nodes use a key derived from the secret (TLS-PSK), so the
// handshake with a different secret fails. If certificates are configured, both nodes present one, and each
// request contains a bearer token derived from the secret.
//
// No request is sent to a peer before it has proven that it knows the secret, or has presented a certificate
// for the requested host from the configured authority.

import { timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ConnectionOptions, TlsOptions } from 'node:tls';
import { derivedKey } from './derived-key.ts';

export interface NodeProofOptions {
  readonly secret: string;
  /** File paths. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string } | undefined;
}

const IDENTITY = 'actor-gateway';
const PSK = {
  ciphers: 'ECDHE-PSK-CHACHA20-POLY1305',
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.2',
} as const;

export interface NodeProof {
  readonly client: ConnectionOptions;
  readonly server: TlsOptions;
  /** Bearer token for each request, if the handshake does not prove the secret. */
  readonly bearer: string | undefined;
  /** Returns whether the bearer token is valid. */
  isValid(bearer: string | undefined): boolean;
}

/** Loads the files. Rejects if one cannot be read. */
export async function nodeProof({ secret, tls }: NodeProofOptions): Promise<NodeProof> {
  if (tls === undefined) {
    const psk = derivedKey(secret, 'connections');
    return {
      client: {
        ...PSK,
        pskCallback: () => ({ identity: IDENTITY, psk }),
        // PSK uses no certificates: the key authenticates both peers.
        checkServerIdentity: () => undefined,
      },
      server: { ...PSK, pskCallback: (_, identity) => (identity === IDENTITY ? psk : null) },
      bearer: undefined,
      isValid: () => true,
    };
  }
  const [cert, key, ca] = await Promise.all([tls.cert, tls.key, tls.ca].map((path) => readFile(path)));
  const files = { cert, key, ca, minVersion: 'TLSv1.3' } as const;
  const bearer = derivedKey(secret, 'bearer').toString('base64url');
  return {
    client: files,
    server: { ...files, requestCert: true, rejectUnauthorized: true },
    bearer,
    isValid: (received) => isSame(received, bearer),
  };
}

function isSame(received: string | undefined, expected: string): boolean {
  const [a, b] = [Buffer.from(received ?? ''), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
