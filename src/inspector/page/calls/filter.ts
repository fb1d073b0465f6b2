// Filter of the call list in the address: `outcome` and `server`, and `before` for a later page.

/** Values of the result filter; '' for all. */
export const resultChoices = ['', 'failed', 'slow'] as const;

const PAGE = 100;

/** Returns the parameters of GET /history/calls for a query; other parameters are ignored. */
export function requestParams(query: string): URLSearchParams {
  const source = new URLSearchParams(query);
  const params = new URLSearchParams({ limit: `${PAGE}` });
  const server = source.get('server');
  if (server !== null && server !== '') params.set('of', `server:${server}`);
  for (const name of ['outcome', 'before']) {
    const value = source.get(name);
    if (value !== null && value !== '') params.set(name, value);
  }
  return params;
}

/** Returns the query with another value, or without it for ''. A changed filter starts at the newest page. */
export function withValue(query: string, name: 'outcome' | 'server' | 'before', value: string): string {
  const params = new URLSearchParams(query);
  if (name !== 'before') params.delete('before');
  if (value === '') params.delete(name);
  else params.set(name, value);
  return params.toString();
}
