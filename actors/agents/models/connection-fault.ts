// A provider that could not be reached, or whose connection broke off: the code of the system, and what that mostly means.

import type { ModelFault } from './model-errors.ts';

const meanings: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, 'nothing listens at the base_url of its provider'],
  [/^(?:ENOTFOUND|EAI_\w+)$/, 'the host in the base_url of its provider is not known here'],
  [/^(?:EPROTO|ERR_SSL_\w+)$/, 'what listens at the base_url of its provider speaks no TLS: is it http://?'],
  [
    /^(?:CERT_\w+|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|UNABLE_TO_\w+|ERR_TLS_CERT_\w+)$/,
    'its certificate is not trusted here: name the one it is signed with in NODE_EXTRA_CA_CERTS',
  ],
  [/^HPE_\w+$/, 'what listens at the base_url of its provider speaks no HTTP: is it https://?'],
];

/** Of what `fetch` rejected with, or a stream of it. */
export function connectionFault(error: unknown): ModelFault {
  const cause = (error as { readonly cause?: unknown } | null)?.cause;
  if ((cause as { readonly message?: unknown } | undefined)?.message === 'bad port')
    return {
      what: 'cannot be asked: the port in the base_url of its provider is never asked by fetch',
      isFinal: true,
      canOtherAnswer: true,
    };
  const code = [error, cause]
    .map((each) => (each as { readonly code?: unknown } | null | undefined)?.code)
    .find((each): each is string => typeof each === 'string' && /^[A-Z_]{2,40}$/.test(each));
  const meaning = meanings.find(([codes]) => codes.test(code ?? ''))?.[1];
  const why = code ?? 'the connection was closed';
  return {
    what: `could not be reached, or broke off: ${why}${meaning === undefined ? '' : ` (${meaning})`}`,
    isFinal: false,
  };
}
