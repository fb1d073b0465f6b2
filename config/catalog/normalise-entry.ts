// Converts a catalog entry, as the file contains it, to a complete entry. Decides if the server is local (a
// program) or remote (a URL), applies the defaults of this kind, resolves paths, and checks rules that
// concern several fields.

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
import { containerRunIn } from './container-run.ts';
import { isOwnHeader } from './own-headers.ts';

export type WrittenEntry = Written<Static<typeof desktopEntrySchema>>;

/**
 * Paths of the entry are relative to `folder`. Returns undefined, with a problem reported, if the entry has
 * neither or both of command and url.
 */
export function normaliseEntry(
  reader: SchemaReader,
  written: WrittenEntry,
  path: string,
  folder: string,
): ServerEntry | undefined {
  const pathTo = (key: string) => joinPath(path, key);
  const isLocal = reader.has(pathTo('command'));
  if (isLocal === reader.has(pathTo('url'))) {
    const message = isLocal
      ? 'has both command and url; a server is either local or remote'
      : 'needs a command (local server) or a url (remote server)';
    reader.reportKey(path, message);
    return undefined;
  }
  refuseStrayKeys(reader, pathTo, isLocal);
  const runtime = selectRuntime(reader, written, pathTo, isLocal);
  const fields = Object.fromEntries(
    Object.entries(written).filter(([key]) => !Object.hasOwn(clientFields, key)),
  );
  const common = {
    ...fields,
    enabled: isEnabled(reader, written, pathTo),
    tools: selectTools(reader, written, pathTo),
  };
  const entry = isLocal
    ? localEntry(reader, common, pathTo, folder)
    : remoteEntry(reader, common, runtime === 'sse' ? 'sse' : 'http', pathTo);
  checkDurations(reader, entry, pathTo);
  return withCredentials(entry, reader.credentialsBelow(path));
}

/** Returns the path of a field of the entry. */
type PathTo = (key: string) => string;

/** Reports fields of the other kind of server, such as `headers` in the entry of a local server. */
function refuseStrayKeys(reader: SchemaReader, pathTo: PathTo, isLocal: boolean): void {
  const [side, other] = isLocal ? ['command', 'remote servers (url)'] : ['url', 'local servers (command)'];
  for (const key of isLocal ? remoteKeys : stdioKeys) {
    if (!reader.has(pathTo(key))) continue;
    // `unknownKeys` is the severity of unknown keys: `warning` in a desktop client's file, otherwise `error`.
    // Many clients write `args: []` in every entry.
    reader.reportKey(pathTo(key), `is for ${other} only; this server has a ${side}`, reader.unknownKeys);
  }
}

/** Combines `runtime` with a desktop client's `type`. */
function selectRuntime(
  reader: SchemaReader,
  { runtime, type }: WrittenEntry,
  pathTo: PathTo,
  isLocal: boolean,
) {
  const fromType = type === undefined ? undefined : type === 'stdio' || type === 'sse' ? type : 'http';
  for (const [key, value] of [
    ['runtime', runtime],
    ['type', fromType],
  ] as const) {
    if (value !== undefined && (value === 'stdio') !== isLocal) {
      reader.report(
        pathTo(key),
        isLocal ? 'contradicts command, which means stdio' : 'contradicts url, which means http or sse',
      );
    }
  }
  if (runtime !== undefined && fromType !== undefined && runtime !== fromType) {
    reader.report(pathTo('type'), `contradicts runtime, which is ${runtime}`);
  }
  return runtime ?? fromType;
}

function isEnabled(reader: SchemaReader, { enabled, disabled }: WrittenEntry, pathTo: PathTo): boolean {
  if (enabled !== undefined && enabled === disabled) {
    reader.report(pathTo('disabled'), `contradicts enabled, which is ${enabled}`);
  }
  return enabled ?? !disabled;
}

/** Combines the tool filters: tools disabled in the client stay disabled in the gateway. */
function selectTools(reader: SchemaReader, written: WrittenEntry, pathTo: PathTo): WrittenEntry['tools'] {
  const { tools = {}, disabledTools = [], excludeTools = [] } = written;
  let { allow } = tools;
  for (const key of ['enabledTools', 'includeTools'] as const) {
    const offered = written[key];
    if (offered === undefined) continue;
    if (allow !== undefined)
      reader.reportKey(pathTo(key), 'is a second list of allowed tools; keep only one list');
    allow ??= offered;
  }
  const deny = [...(tools.deny ?? []), ...disabledTools, ...excludeTools];
  return { ...tools, ...(allow === undefined ? {} : { allow }), ...(deny.length === 0 ? {} : { deny }) };
}

function localEntry(reader: SchemaReader, written: WrittenEntry, pathTo: PathTo, folder: string): StdioEntry {
  const { command = '' } = written;
  // A path may contain spaces; only a bare program name is checked for a shell line.
  if (/\s/.test(command) && !/^\S*\//.test(command) && !reader.has(pathTo('args'))) {
    reader.report(
      pathTo('command'),
      'must be a program, not a shell line; put the arguments into args',
      'warning',
    );
  }
  // Invalid arguments are undefined; they are already reported.
  const args = (written.args ?? []).map((each) => each ?? '');
  const fault = containerRunIn(command, args)?.fault;
  if (fault !== undefined) reader.report(pathTo('args'), fault, 'warning');
  // The defaults are explained at `pool.max` in catalog-schema.ts.
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
  pathTo: PathTo,
): RemoteEntry {
  const isShared = written.isolation === 'shared';
  // Eras of the protocol: legacy has sessions, modern (from revision 2026-07-28) has stateless requests.
  if (runtime === 'sse' && written.era !== undefined && written.era !== 'legacy')
    reader.report(pathTo('era'), 'must be legacy: the sse transport does not support the modern era');
  // The defaults are explained at `pool.max` in catalog-schema.ts.
  const pool = { ...written.pool, max: written.pool?.max ?? (isShared ? 1 : 1000) };
  const url = checkedUrl(reader, written.url, pathTo('url'));
  checkHeaders(reader, written.headers ?? {}, pathTo('headers'));
  return fillDefaults(remoteEntrySchema, { ...written, pool, url, runtime });
}

/** Returns the URL without fragment; '' if invalid. Messages omit the URL, whose query may contain a key. */
function checkedUrl(reader: SchemaReader, text: string | undefined, path: string): string {
  if (text === undefined) return '';
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    reader.report(path, 'expected an address that begins with http:// or https://');
    return '';
  }
  if (url.username !== '' || url.password !== '') {
    reader.report(path, 'contains a user name or password; send them in headers (Authorization) instead');
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

/** Reports a duration that exceeds its maximum in another field. */
function checkDurations(reader: SchemaReader, entry: ServerEntry, pathTo: PathTo): void {
  const { request_timeout_seconds, max_request_seconds, restart } = entry;
  if (request_timeout_seconds > max_request_seconds) {
    const key = reader.has(pathTo('request_timeout_seconds'))
      ? 'request_timeout_seconds'
      : 'max_request_seconds';
    reader.report(
      pathTo(key),
      `request_timeout_seconds (${request_timeout_seconds}) must not exceed max_request_seconds (${max_request_seconds})`,
    );
  }
  if (restart.min_backoff_ms > restart.max_backoff_seconds * 1000) {
    const message = `min_backoff_ms (${restart.min_backoff_ms}) must not exceed max_backoff_seconds (${restart.max_backoff_seconds})`;
    reader.report(pathTo('restart'), message);
  }
}
