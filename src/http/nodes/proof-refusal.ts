// Recognises connection errors that mean a refused proof: a node does not accept the peer's certificate or
// key.

/** Error codes if this node refuses the peer's certificate. */
const CERTIFICATE_CODES =
  /^(?:ERR_TLS_CERT_|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_|PATH_LENGTH_)/;

export function isProofRefusal(error: Error): boolean {
  const { code = '', message } = error as NodeJS.ErrnoException;
  if (CERTIFICATE_CODES.test(code)) return true;
  // The other node has sent a TLS alert.
  return /^(?:ERR_SSL_|EPROTO$)/.test(code) && /alert/i.test(`${code} ${message}`);
}
