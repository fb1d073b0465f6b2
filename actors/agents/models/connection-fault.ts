// Describes failed connections to model providers: the system's error code, with the usual cause.

import { isProxyConnectionError } from '../../../libs/rest/proxy-connection-error.ts';
import type { ModelFault } from './model-errors.ts';

const meanings: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, 'nothing listens at the base_url of its provider'],
  [/^(?:ENOTFOUND|EAI_\w+)$/, 'the host in the base_url of its provider is unknown'],
  [/^(?:EPROTO|ERR_SSL_\w+)$/, 'the server at the base_url of its provider does not use TLS: is it http://?'],
  [
    /^(?:CERT_\w+|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|UNABLE_TO_\w+|ERR_TLS_CERT_\w+)$/,
    'its certificate is not trusted: add its issuer to NODE_EXTRA_CA_CERTS',
  ],
  [/^HPE_\w+$/, 'the server at the base_url of its provider does not use HTTP: is it https://?'],
];

/** Converts an error of `fetch` or the response stream. */
export function connectionFault(error: unknown): ModelFault {
  const cause = (error as { readonly cause?: unknown } | null)?.cause;
  if ((cause as { readonly message?: unknown } | undefined)?.message === 'bad port')
    return {
      description: 'cannot be reached: fetch blocks the port in the base_url of its provider',
      isFinal: true,
      mayFallbackAnswer: true,
    };
  if (isProxyConnectionError(cause))
    return { description: `could not be reached: ${cause.message}`, isFinal: false };
  const code = [error, cause]
    .map((each) => (each as { readonly code?: unknown } | null | undefined)?.code)
    .find((each): each is string => typeof each === 'string' && /^[A-Z_]{2,40}$/.test(each));
  const meaning = meanings.find(([codes]) => codes.test(code ?? ''))?.[1];
  const why = code ?? 'the connection was closed';
  return {
    description: `could not be reached, or closed the connection: ${why}${meaning === undefined ? '' : ` (${meaning})`}`,
    isFinal: false,
  };
}
