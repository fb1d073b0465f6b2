// `file:` URIs of this machine (RFC 8089) to paths and back. A URI that two readers could understand in two ways is
// refused: an encoded slash, a NUL, a host, a fragment, and what the URL parser would silently drop or turn around.

import { fileURLToPath, pathToFileURL } from 'node:url';
import { ToolError } from '../../tool-error.ts';
import { MAX_URI_CHARS } from '../limits.ts';

export function pathToUri(path: string): string {
  return pathToFileURL(path).href;
}

/** @throws ToolError when `uri` names no path of this machine */
export function uriToPath(uri: string): string {
  const refuse = (why: string) =>
    new ToolError(`The URI ${why}. A file is named like file:///folder/name.txt.`);
  if (uri.length > MAX_URI_CHARS) throw refuse(`is longer than ${MAX_URI_CHARS} characters`);
  if (!/^file:\/\/[^/\\?#]*\//i.test(uri)) throw refuse('is no file URI with an absolute path');
  // The URL parser drops tabs and line ends, and makes slashes of backslashes.
  if (/[\p{Cc} \\]/u.test(uri))
    throw refuse('has a space, a backslash or a control character that is not percent-encoded');
  if (/[?#]/.test(uri))
    throw refuse('has a query or a fragment; as parts of a name write ? as %3F and # as %23');
  if (/%(?![0-9a-f]{2})/i.test(uri))
    throw refuse('has a % that encodes nothing; as part of a name write it as %25');
  if (/%00|%2f/i.test(uri)) throw refuse('has an encoded slash or NUL, which no name can hold');
  let path: string;
  try {
    const url = new URL(uri);
    if (url.host !== '') throw refuse('names another host');
    path = fileURLToPath(url);
  } catch (error) {
    if (error instanceof ToolError) throw error;
    throw refuse('cannot be understood');
  }
  return path;
}
