// Error for a request with no usable response. `mayHaveArrived` is false only if the platform certainly has
// not processed the request. The message contains the host and a system error code. It contains no URL path,
// query, header or foreign text, because these may contain a token. For the same reason, fetch errors are not
// attached as the cause.

import { isProxyConnectionError } from './proxy-connection-error.ts';

export type FaultKind =
  /** The connection could not be established. */
  | 'unreachable'
  /** The connection is not secure, for example due to an invalid certificate. A retry does not help. */
  | 'insecure'
  /** The connection was lost before the response was complete. */
  | 'broken'
  /** The deadline has passed. */
  | 'timeout'
  /** The caller's signal was aborted. */
  | 'aborted'
  /** The response exceeds the maximum size. */
  | 'too-large'
  /** The response is a forbidden redirect. `code` contains the reason. */
  | 'redirected'
  /** Connections to the IP address of the host are forbidden. */
  | 'forbidden';

export interface FaultDetails {
  readonly kind: FaultKind;
  readonly code?: string;
  readonly mayHaveArrived: boolean;
  readonly status?: number | undefined;
}

export class RequestFault extends Error {
  readonly kind: FaultKind;
  /** Error code such as `ECONNREFUSED`; empty if there is none. */
  readonly code: string;
  readonly mayHaveArrived: boolean;
  /** Status of the response, if started. */
  readonly status: number | undefined;

  constructor(message: string, { kind, code = '', mayHaveArrived, status }: FaultDetails) {
    super(message);
    this.name = 'RequestFault';
    this.kind = kind;
    this.code = code;
    this.mayHaveArrived = mayHaveArrived;
    this.status = status;
  }
}

/** Certificate and TLS errors, before the request is sent. */
const TLS_CODE = /^(CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_)/;
const UNSENT_CODE = /^(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/** Converts an error of `fetch` or of reading its body. `status` is the response's, if it had started. */
export function connectionFault(error: unknown, host: string, status: number | undefined): RequestFault {
  const proxyError = causesOf(error).find(isProxyConnectionError);
  if (proxyError !== undefined)
    return new RequestFault(`${host} could not be reached: ${proxyError.message}`, {
      kind: 'unreachable',
      code: proxyError.code,
      mayHaveArrived: false,
    });
  const { code, wasSent } = rootCause(error);
  if (TLS_CODE.test(code) && status === undefined)
    return new RequestFault(`the connection to ${host} is not secure: ${code}`, {
      kind: 'insecure',
      code,
      mayHaveArrived: false,
    });
  const reason = code === '' ? 'the connection failed' : code;
  if (!wasSent)
    return new RequestFault(`${host} could not be reached: ${reason}`, {
      kind: 'unreachable',
      code,
      mayHaveArrived: false,
    });
  return new RequestFault(`the connection to ${host} was lost: ${reason}`, {
    kind: 'broken',
    code,
    mayHaveArrived: true,
    status,
  });
}

/** Returns the first system error code among the causes. */
function rootCause(error: unknown): { readonly code: string; readonly wasSent: boolean } {
  for (const cause of causesOf(error)) {
    const { code, syscall } = cause as { readonly code?: unknown; readonly syscall?: unknown };
    // fetch reports blocked ports with this message.
    if (cause.message === 'bad port') return { code: 'bad port', wasSent: false };
    if (typeof code !== 'string') continue;
    // An AggregateError contains the connection attempts to all addresses of the host.
    const isConnecting = syscall === 'connect' || cause instanceof AggregateError || UNSENT_CODE.test(code);
    return { code, wasSent: !isConnecting };
  }
  return { code: '', wasSent: true };
}

function causesOf(error: unknown): readonly Error[] {
  const causes: Error[] = [];
  for (let cause = error; cause instanceof Error; cause = cause.cause) causes.push(cause);
  return causes;
}
