// How parameters get into a request. Templates write `{path}` and `{ref}` as one segment; here each part of them becomes a
// segment of its own, encoded by itself, so that the slashes stay and nothing else gets through. What the template does not
// name goes into the query of what reads, and into the body of what writes.

import type { ApiRequest } from '../../libs/rest/http-api.ts';
import { segment } from '../../libs/rest/path.ts';

/** @throws RangeError for a value that cannot be a part of an address */
export function placedInRequest(endpoint: string, parameters: object): ApiRequest {
  const [method = '', template = ''] = endpoint.split(' ');
  const rest: Record<string, unknown> = { ...parameters };
  const path = template.replace(/\/\{(\w+)\}/g, (_, name: string) => {
    const value = String(rest[name] ?? '');
    delete rest[name];
    if (name !== 'path' && name !== 'ref') return `/${segment(value)}`;
    return value === '' ? '' : `/${value.split('/').map(segment).join('/')}`;
  });
  if (method === 'GET') return { path, query: rest as ApiRequest['query'] & object };
  const isEmpty = Object.values(rest).every((value) => value === undefined);
  return { method, path, ...(isEmpty ? {} : { json: rest }) };
}
