// What a caller is told about the host's limits: what a wait is for, and, where it would be too long, until when.

import { ToolError } from '../tool-error.ts';
import type { Access } from './access.ts';
import type { Bucket } from './bucket.ts';
import type { Closed } from './rate-meter.ts';

const NAMES: Readonly<Record<Bucket, string>> = {
  core: 'API',
  write: 'API',
  search: 'search',
  code_search: 'code search',
};

/** The object of "Waiting … s for". */
export function waitingFor({ why }: Closed, bucket: Bucket): string {
  if (why === 'secondary') return 'the pause that the host asked for after too many requests';
  if (why === 'pace' && bucket === 'write') return 'its turn: one request that writes begins each second';
  return `the host's ${NAMES[bucket]} limit to open again`;
}

/** What is thrown instead of a wait that is longer than the call's patience. */
export function limitRefusal(
  { waitMs, why }: Closed,
  bucket: Bucket,
  { access, maxWaitMs }: { readonly access: Access; readonly maxWaitMs: number },
): ToolError {
  if (why === 'pace' && bucket === 'write')
    return new ToolError(
      'Too many calls that write wait for their turn: one request begins each second. This one was not sent; call again when others are answered.',
    );
  const seconds = Math.ceil(waitMs / 1000);
  const until = new Date(Date.now() + waitMs).toISOString().replace(/\.\d+Z$/, 'Z');
  const what =
    why === 'secondary'
      ? 'The host refused too many requests in a short time and asked for a pause'
      : `The host's ${NAMES[bucket]} limit is used up`;
  const token =
    access.token === undefined
      ? ' With a token in REPOHOST_PERSONAL_ACCESS_TOKEN the limits are far higher.'
      : '';
  return new ToolError(
    `${what} until ${until}, in ${seconds} s; this call waits ${maxWaitMs / 1000} s at most. Call again then.${token}`,
  );
}
