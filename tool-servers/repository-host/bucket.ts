// What counts together in the host's limits.

/**
 * `code_search` is a part of search with a limit of its own, and `write` counts as core at the host, which advises a pace for it.
 */
export type Bucket = 'core' | 'write' | 'search' | 'code_search';

/** The bucket an endpoint such as `GET /search/code` counts in. */
export function bucketOf(endpoint: string): Bucket {
  if (!endpoint.startsWith('GET ')) return 'write';
  if (endpoint.startsWith('GET /search/code')) return 'code_search';
  return endpoint.startsWith('GET /search/') ? 'search' : 'core';
}
