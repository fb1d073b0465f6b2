// How parameters get into the address. Octokit's routes write `{path}` and `{ref}` as one segment; here each part of them
// becomes a segment of its own, encoded by itself, so that the slashes stay and nothing else gets through. A search query
// goes through the template too: otherwise Octokit takes its plus signs for spaces (`c++`).

interface Placed {
  readonly route: string;
  readonly parameters: Record<string, unknown>;
}

/** `route` and `parameters` as Octokit has to be given them. */
export function placedInPath(route: string, parameters: object): Placed {
  const given: Record<string, unknown> = { ...parameters };
  if (route.startsWith('GET /search/')) return { route: `${route}{?q}`, parameters: given };
  const placed = route.replace(/\/\{(path|ref)\}/g, (whole, name: string) => {
    const value = given[name];
    if (typeof value !== 'string') return whole;
    delete given[name];
    if (value === '') return '';
    return value
      .split('/')
      .map((part, index) => {
        given[`${name}_${index}`] = part;
        return `/{${name}_${index}}`;
      })
      .join('');
  });
  return { route: placed, parameters: given };
}
