// Tells that one end does not take the proof of the other from a connection that could not be made, or at whose other end something
// else speaks.

/** Of certificates that are not taken here. */
const OF_CERTIFICATES =
  /^(?:ERR_TLS_CERT_|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_|PATH_LENGTH_)/;

export function isRefusedProof(error: Error): boolean {
  const { code = '', message } = error as NodeJS.ErrnoException;
  if (OF_CERTIFICATES.test(code)) return true;
  // The other end has said so, in the words of the protocol.
  return /^(?:ERR_SSL_|EPROTO$)/.test(code) && /alert/i.test(`${code} ${message}`);
}
