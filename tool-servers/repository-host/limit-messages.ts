// Messages about rate limits: progress messages during waits, and errors that state when to retry.

import { ToolError } from '../tool-error.ts';
import type { Access } from './access.ts';
import type { Bucket } from './bucket.ts';
import type { RateBlock } from './rate-meter.ts';

const NAMES: Readonly<Record<Bucket, string>> = {
  core: 'API',
  write: 'API',
  search: 'search',
  code_search: 'code search',
};

/** Returns the rest of the progress message "Waiting … s for". */
export function waitReason({ why }: RateBlock, bucket: Bucket): string {
  if (why === 'secondary') return 'a pause requested by the host after too many requests';
  if (why === 'pace' && bucket === 'write') return 'a write slot (one write per second)';
  return `the ${NAMES[bucket]} rate limit of the host to reset`;
}

/** Returns the error for waits that exceed the wait budget. */
export function limitError(
  { waitMs, why }: RateBlock,
  bucket: Bucket,
  { access, maxWaitMs }: { readonly access: Access; readonly maxWaitMs: number },
): ToolError {
  if (why === 'pace' && bucket === 'write')
    return new ToolError(
      'Too many writing calls are waiting (one write per second). This one was not sent; retry when others have completed.',
    );
  const seconds = Math.ceil(waitMs / 1000);
  const until = new Date(Date.now() + waitMs).toISOString().replace(/\.\d+Z$/, 'Z');
  const cause =
    why === 'secondary'
      ? 'The host rejected too many requests in a short time and requested a pause'
      : `The ${NAMES[bucket]} rate limit of the host is exhausted`;
  const tokenAdvice =
    access.token === undefined ? ' A token in REPOHOST_PERSONAL_ACCESS_TOKEN raises the limits.' : '';
  return new ToolError(
    `${cause} until ${until} (${seconds} s); the wait limit of a call is ${maxWaitMs / 1000} s. Retry after that time.${tokenAdvice}`,
  );
}
