// Parameters of list views: in the address of the page, and in the request for the list.

/** Returns the parameters of a request: the limit, and the values of these names that are not empty. */
export function listParams(query: string, names: readonly string[], limit: number): URLSearchParams {
  const source = new URLSearchParams(query);
  const params = new URLSearchParams({ limit: `${limit}` });
  for (const name of names) {
    const value = source.get(name);
    if (value !== null && value !== '') params.set(name, value);
  }
  return params;
}

/** Returns the query with another value of a parameter, or without the parameter for ''. */
export function withParam(query: string, name: string, value: string): string {
  const params = new URLSearchParams(query);
  if (value === '') params.delete(name);
  else params.set(name, value);
  return params.toString();
}
