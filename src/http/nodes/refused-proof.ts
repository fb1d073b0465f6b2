// Tells a handshake in which one end does not take the proof of the other from a connection that could not be made.

const OF_TLS =
  /^(?:ERR_SSL_|ERR_TLS_|EPROTO$|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_|PATH_LENGTH_)/;

export function isRefusedProof(error: Error): boolean {
  return 'code' in error && typeof error.code === 'string' && OF_TLS.test(error.code);
}
