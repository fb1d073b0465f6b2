// How nodes prove themselves to each other. By default both ends have a key made of the secret (TLS-PSK): whoever has another one
// does not get past the handshake. Where certificates are configured, both ends show one, and a proof made of the secret goes with
// every request.
//
// NPF1  nothing of a request is sent to whoever has not shown that it has the secret, or a certificate for the host that was asked for
//       by who signs for nodes.

import { timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ConnectionOptions, TlsOptions } from 'node:tls';
import { derivedKey } from './derived-key.ts';

export interface NodeProofOptions {
  readonly secret: string;
  /** Paths of files. */
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
  /** Of each request, where the handshake does not prove the secret. */
  readonly bearer: string | undefined;
  /** Whether a request with that bearer may be answered. */
  isRight(given: string | undefined): boolean;
}

/** Rejects where a file cannot be read. */
export async function nodeProof({ secret, tls }: NodeProofOptions): Promise<NodeProof> {
  if (tls === undefined) {
    const psk = derivedKey(secret, 'connections');
    return {
      client: {
        ...PSK,
        pskCallback: () => ({ identity: IDENTITY, psk }),
        // There is no certificate: the key is the proof, at both ends.
        checkServerIdentity: () => undefined,
      },
      server: { ...PSK, pskCallback: (_, identity) => (identity === IDENTITY ? psk : null) },
      bearer: undefined,
      isRight: () => true,
    };
  }
  const [cert, key, ca] = await Promise.all([tls.cert, tls.key, tls.ca].map((path) => readFile(path)));
  const files = { cert, key, ca, minVersion: 'TLSv1.3' } as const;
  const bearer = derivedKey(secret, 'bearer').toString('base64url');
  return {
    client: files,
    server: { ...files, requestCert: true, rejectUnauthorized: true },
    bearer,
    isRight: (given) => isSame(given, bearer),
  };
}

function isSame(given: string | undefined, right: string): boolean {
  const [a, b] = [Buffer.from(given ?? ''), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}
