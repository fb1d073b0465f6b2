// Rate limit buckets: groups of requests that the host counts together.

/**
 * `code_search` has its own limit within search. The host counts `write` as core and recommends a lower rate
 * for it.
 */
export type Bucket = 'core' | 'write' | 'search' | 'code_search';

/** Returns the bucket for a route such as `GET /search/code`. */
export function bucketOf(route: string): Bucket {
  if (!route.startsWith('GET ')) return 'write';
  if (route.startsWith('GET /search/code')) return 'code_search';
  return route.startsWith('GET /search/') ? 'search' : 'core';
}
