// Converts local `file:` URIs (RFC 8089) to paths and back. Rejects ambiguous URIs: encoded slashes, NUL,
// hosts, fragments, and characters that the URL parser would silently drop or replace.

import { fileURLToPath, pathToFileURL } from 'node:url';
import { ToolError } from '../../tool-error.ts';
import { MAX_URI_CHARS } from '../limits.ts';

export function pathToUri(path: string): string {
  return pathToFileURL(path).href;
}

/** @throws ToolError unless `uri` refers to a local path */
export function uriToPath(uri: string): string {
  const refuse = (problem: string) =>
    new ToolError(`The URI ${problem}. Use the form file:///folder/name.txt.`);
  if (uri.length > MAX_URI_CHARS) throw refuse(`is longer than ${MAX_URI_CHARS} characters`);
  if (!/^file:\/\/[^/\\?#]*\//i.test(uri)) throw refuse('is not a file URI with an absolute path');
  // The URL parser drops tabs and line breaks, and converts backslashes to slashes.
  if (/[\p{Cc} \\]/u.test(uri))
    throw refuse('contains a space, a backslash or a control character that is not percent-encoded');
  if (/[?#]/.test(uri)) throw refuse('has a query or a fragment; encode ? as %3F and # as %23 in names');
  if (/%(?![0-9a-f]{2})/i.test(uri))
    throw refuse('contains an invalid percent-encoding; encode % as %25 in names');
  if (/%00|%2f/i.test(uri)) throw refuse('contains an encoded slash or NUL, which names cannot contain');
  let path: string;
  try {
    const url = new URL(uri);
    if (url.host !== '') throw refuse('names another host');
    path = fileURLToPath(url);
  } catch (error) {
    if (error instanceof ToolError) throw error;
    throw refuse('cannot be parsed');
  }
  return path;
}
