// Why a request has no answer that can be used, and whether it may have been carried out all the same.
//
// RF1  the message names the host and a word of the system's, never an address, a header or what anybody wrote: a token may be a
//      part of any of them. For the same reason no error of fetch's is kept as the cause.
// RF2  `mayHaveArrived` is false only where it is known that the platform has not carried the request out.

export type FaultKind =
  /** No connection came about. */
  | 'unreachable'
  /** The connection is not secure: a certificate, say. Trying again does not mend it. */
  | 'insecure'
  /** The connection was lost before the whole answer was here. */
  | 'broken'
  /** The time was over. */
  | 'timeout'
  /** The caller's signal was aborted. */
  | 'aborted'
  /** The answer is larger than what is read. */
  | 'too-large'
  /** The host sent the request on to where it must not go. `code` says why. */
  | 'redirected'
  /** Connections to the address are forbidden. */
  | 'forbidden';

export interface FaultDetails {
  readonly kind: FaultKind;
  readonly code?: string;
  readonly mayHaveArrived: boolean;
  readonly status?: number | undefined;
}

export class RequestFault extends Error {
  readonly kind: FaultKind;
  /** A word such as `ECONNREFUSED`; empty where there is none. */
  readonly code: string;
  readonly mayHaveArrived: boolean;
  /** Of the answer, where one had begun. */
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

/** Errors of a certificate or of its exchange, before anything was sent. */
const TLS_CODE = /^(CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_)/;
const UNSENT_CODE = /^(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/** What `fetch`, or the reading of its body, was rejected with; `status` is that of the answer, where one had begun. */
export function connectionFault(error: unknown, host: string, status: number | undefined): RequestFault {
  const { code, wasSent } = whatWentWrong(error);
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

/** The first word of the system's among the causes; never a text. */
function whatWentWrong(error: unknown): { readonly code: string; readonly wasSent: boolean } {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, syscall } = cause as { readonly code?: unknown; readonly syscall?: unknown };
    // What fetch says of ports that no browser would ask.
    if (cause.message === 'bad port') return { code: 'bad port', wasSent: false };
    if (typeof code !== 'string') continue;
    // Several at once are attempts to connect, one for each address of the host.
    const isConnecting = syscall === 'connect' || cause instanceof AggregateError || UNSENT_CODE.test(code);
    return { code, wasSent: !isConnecting };
  }
  return { code: '', wasSent: true };
}
