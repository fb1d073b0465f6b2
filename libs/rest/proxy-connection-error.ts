// Failure of a connection through a forward proxy. No request has reached the server.

const NAME = 'ProxyConnectionError';

/** The message names the proxy, without credentials, and the remedy. */
export class ProxyConnectionError extends Error {
  override readonly name = NAME;
  /** System error code; empty if there is none. */
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/** Compares the name: the error may come from another bundle of the program with its own class. */
export function isProxyConnectionError(error: unknown): error is ProxyConnectionError {
  return error instanceof Error && error.name === NAME;
}
