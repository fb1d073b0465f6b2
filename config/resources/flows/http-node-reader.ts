// Reads the `config` of a flow's HTTP node, which sends a request. A URL that is completely the result of an
// expression must begin with one of the prefixes in `url_allow`.

import type { Template } from '../../expressions/template.ts';
import { readPrefix } from '../../expressions/url-prefix.ts';
import { joinPath } from '../../reader/field-path.ts';
import { memberOf } from '../../reader/yaml-members.ts';
import type { HttpMethod, NodeWork } from './flow.ts';
import type { NodeToRead } from './node-to-read.ts';

/** Returns the work of the node; undefined if the config has errors, which are reported. */
export function readHttpNode(node: NodeToRead): NodeWork | undefined {
  const { reader, compiler, config, id } = node;
  const pathOf = (key: string) => joinPath(node.path, key);
  const url = compiler.url(config.url as string | undefined, pathOf('url'), id, allowedPrefixes(node));
  if (url?.hasLiteralHost === true && reader.has(pathOf('url_allow')))
    reader.reportKey(pathOf('url_allow'), 'has no effect: the url contains its host', 'warning');
  const written = (config.headers ?? {}) as Readonly<Record<string, string>>;
  const headers = Object.entries(written).map(
    ([name, text]) => [name, compiler.template(text, joinPath(pathOf('headers'), name), id)] as const,
  );
  const tree = memberOf(node.tree, 'body');
  const body = compiler.value(tree, pathOf('body'), id);
  const method = config.method as HttpMethod;
  if (tree !== undefined && (method === 'GET' || method === 'HEAD'))
    reader.reportKey(pathOf('body'), `a ${method} has no body`);
  const isValid =
    headers.every(([, each]) => each !== undefined) && (tree === undefined || body !== undefined);
  if (url === undefined || !isValid) return undefined;
  return {
    type: 'HTTP',
    method,
    url,
    // A literal host was chosen by the author of the file, so its address may be private.
    allow_private: (config.allow_private as boolean | undefined) ?? url.hasLiteralHost,
    headers: Object.fromEntries(headers) as Record<string, Template>,
    body,
    timeout_seconds: config.timeout_seconds as number,
  };
}

/**
 * Returns the prefixes in `url_allow`; undefined if it is missing or empty. For an invalid value, which was
 * reported, returns an empty list, so that the URL is not reported too.
 */
function allowedPrefixes({ reader, path, config }: NodeToRead): readonly URL[] | undefined {
  const listPath = joinPath(path, 'url_allow');
  const written = config.url_allow as readonly (string | undefined)[] | undefined;
  if (written === undefined && reader.has(listPath)) return [];
  if (written === undefined || written.length === 0) return undefined;
  return written.flatMap((text, index) => {
    const prefix = text === undefined ? [] : readPrefix(text);
    if (typeof prefix !== 'string') return prefix;
    reader.report(joinPath(listPath, index), prefix);
    return [];
  });
}
