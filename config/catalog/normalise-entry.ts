// One catalog entry from what was written to what the gateway works with: which of the two kinds it is, the
// defaults that depend on it, paths made absolute, and the rules between fields.

import { resolve } from 'node:path';
import type { Static } from 'typebox';
import { joinPath } from '../reader/field-path.ts';
import { fillDefaults, type Written } from '../reader/fill-defaults.ts';
import type { SchemaReader } from '../reader/schema-reader.ts';
import {
  clientFields,
  type desktopEntrySchema,
  type RemoteEntry,
  remoteEntrySchema,
  remoteKeys,
  type ServerEntry,
  type StdioEntry,
  stdioEntrySchema,
  stdioKeys,
  withCredentials,
} from './catalog-schema.ts';
import { isOwnHeader } from './own-headers.ts';

export type WrittenEntry = Written<Static<typeof desktopEntrySchema>>;

/** `folder` is the catalog's. Gives undefined, with problems reported, for an entry of no kind. */
export function normaliseEntry(
  reader: SchemaReader,
  written: WrittenEntry,
  path: string,
  folder: string,
): ServerEntry | undefined {
  const at = (key: string) => joinPath(path, key);
  const isLocal = reader.has(at('command'));
  if (isLocal === reader.has(at('url'))) {
    const message = isLocal
      ? 'has both command and url; a server is either local or remote'
      : 'needs a command (a local server) or a url (a remote one)';
    reader.reportKey(path, message);
    return undefined;
  }
  refuseStrayKeys(reader, at, isLocal);
  const runtime = chosenRuntime(reader, written, at, isLocal);
  const fields = Object.fromEntries(
    Object.entries(written).filter(([key]) => !Object.hasOwn(clientFields, key)),
  );
  const common = {
    ...fields,
    enabled: isEnabled(reader, written, at),
    tools: chosenTools(reader, written, at),
  };
  const entry = isLocal
    ? localEntry(reader, common, at, folder)
    : remoteEntry(reader, common, runtime === 'sse' ? 'sse' : 'http', at);
  checkPairs(reader, entry, at);
  return withCredentials(entry, reader.credentialsBelow(path));
}

type At = (key: string) => string;

function refuseStrayKeys(reader: SchemaReader, at: At, isLocal: boolean): void {
  const [side, other] = isLocal ? ['command', 'remote servers (url)'] : ['url', 'local servers (command)'];
  for (const key of isLocal ? remoteKeys : stdioKeys) {
    if (!reader.has(at(key))) continue;
    // In a desktop client's file it is no harm: many write `args: []` and `env: {}` everywhere.
    reader.reportKey(at(key), `is for ${other} only, and this one has a ${side}`, reader.unknownKeys);
  }
}

/** A desktop client's `type` says the same as `runtime`. */
function chosenRuntime(reader: SchemaReader, { runtime, type }: WrittenEntry, at: At, isLocal: boolean) {
  const fromType = type === undefined ? undefined : type === 'stdio' || type === 'sse' ? type : 'http';
  for (const [key, said] of [
    ['runtime', runtime],
    ['type', fromType],
  ] as const) {
    if (said !== undefined && (said === 'stdio') !== isLocal) {
      reader.report(
        at(key),
        isLocal ? 'contradicts command, which means stdio' : 'contradicts url, which means http or sse',
      );
    }
  }
  if (runtime !== undefined && fromType !== undefined && runtime !== fromType) {
    reader.report(at('type'), `contradicts runtime, which is ${runtime}`);
  }
  return runtime ?? fromType;
}

function isEnabled(reader: SchemaReader, { enabled, disabled }: WrittenEntry, at: At): boolean {
  if (enabled !== undefined && enabled === disabled) {
    reader.report(at('disabled'), `contradicts enabled, which is ${enabled}`);
  }
  return enabled ?? !disabled;
}

/** A tool that its user has switched off in the client is not to come back by the gateway. */
function chosenTools(reader: SchemaReader, written: WrittenEntry, at: At): WrittenEntry['tools'] {
  const { tools = {}, disabledTools = [], excludeTools = [] } = written;
  let { allow } = tools;
  for (const key of ['enabledTools', 'includeTools'] as const) {
    const offered = written[key];
    if (offered === undefined) continue;
    if (allow !== undefined)
      reader.reportKey(at(key), 'says once more which tools are allowed; leave one list');
    allow ??= offered;
  }
  const deny = [...(tools.deny ?? []), ...disabledTools, ...excludeTools];
  return { ...tools, ...(allow === undefined ? {} : { allow }), ...(deny.length === 0 ? {} : { deny }) };
}

function localEntry(reader: SchemaReader, written: WrittenEntry, at: At, folder: string): StdioEntry {
  const { command = '' } = written;
  // A path may hold spaces: only the name of a program is taken for the beginning of a line.
  if (/\s/.test(command) && !/^\S*\//.test(command) && !reader.has(at('args'))) {
    reader.report(
      at('command'),
      'is one program and not a shell line; put what follows it into args',
      'warning',
    );
  }
  const pool = { ...written.pool, max: written.pool?.max ?? (written.isolation === 'session' ? 32 : 1) };
  const filled = fillDefaults(stdioEntrySchema, { ...written, pool, command, runtime: 'stdio' });
  return {
    ...filled,
    // A bare name is looked up in PATH.
    command: command.includes('/') ? resolve(folder, command) : command,
    cwd: resolve(folder, filled.cwd),
    inherit_env: filled.inherit_env === false ? [] : filled.inherit_env,
  };
}

function remoteEntry(
  reader: SchemaReader,
  written: WrittenEntry,
  runtime: RemoteEntry['runtime'],
  at: At,
): RemoteEntry {
  const isShared = written.isolation === 'shared';
  if (runtime === 'sse' && written.era !== undefined && written.era !== 'legacy')
    reader.report(at('era'), 'must be legacy: the sse transport is older than the modern era');
  const pool = { ...written.pool, max: written.pool?.max ?? (isShared ? 1 : 1000) };
  const url = checkedUrl(reader, written.url, at('url'));
  checkHeaders(reader, written.headers ?? {}, at('headers'));
  return fillDefaults(remoteEntrySchema, { ...written, pool, url, runtime });
}

/** No message repeats the address: its query may hold a key. */
function checkedUrl(reader: SchemaReader, text: string | undefined, path: string): string {
  if (text === undefined) return '';
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    reader.report(path, 'expected an address that begins with http:// or https://');
    return '';
  }
  if (url.username !== '' || url.password !== '') {
    reader.report(path, 'holds a user name or password; send them in headers (Authorization) instead');
  }
  url.hash = '';
  return url.href;
}

function checkHeaders(
  reader: SchemaReader,
  headers: Readonly<Record<string, string | undefined>>,
  path: string,
): void {
  const seen = new Map<string, string>();
  for (const name of Object.keys(headers)) {
    const key = name.toLowerCase();
    const earlier = seen.get(key);
    if (earlier !== undefined) reader.reportKey(joinPath(path, name), `is the same header as ${earlier}`);
    if (isOwnHeader(key)) reader.reportKey(joinPath(path, name), 'is set by the gateway itself');
    seen.set(key, name);
  }
}

function checkPairs(reader: SchemaReader, entry: ServerEntry, at: At): void {
  const { request_timeout_seconds: request, max_request_seconds: most, restart } = entry;
  if (request > most) {
    const key = reader.has(at('request_timeout_seconds')) ? 'request_timeout_seconds' : 'max_request_seconds';
    reader.report(
      at(key),
      `request_timeout_seconds (${request}) must not exceed max_request_seconds (${most})`,
    );
  }
  if (restart.min_backoff_ms > restart.max_backoff_seconds * 1000) {
    const message = `min_backoff_ms (${restart.min_backoff_ms}) must not exceed max_backoff_seconds (${restart.max_backoff_seconds})`;
    reader.report(at('restart'), message);
  }
}
