// Expands a route template to a request. Each segment is encoded; only the slashes in `{path}` and `{ref}`
// stay, because these may contain several segments. Other parameters become the query of GET requests, or the
// body of writing requests.

import type { ApiRequest } from '../../libs/rest/http-api.ts';
import { segment } from '../../libs/rest/path.ts';

/** Throws a RangeError if a value is invalid in URLs. */
export function toApiRequest(route: string, parameters: object): ApiRequest {
  const [method = '', template = ''] = route.split(' ');
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
