// Reads the gateway file (gateway.yaml) from its parsed tree, and checks rules that the schema cannot
// express.

import { dirname, resolve } from 'node:path';
import { jwtFault } from '../jwt-schema.ts';
import { joinPath } from '../reader/field-path.ts';
import { fillDefaults, type Written } from '../reader/fill-defaults.ts';
import type { SchemaReader } from '../reader/schema-reader.ts';
import { shellForm } from '../reader/substitute.ts';
import { memberOf, textOf, withoutMembers } from '../reader/yaml-members.ts';
import type { YamlTree } from '../reader/yaml-tree.ts';
import { daemonListenAddr, isDaemonForm, liftSpecKeys, withoutPlatforms } from './daemon-form.ts';
import { authAdvice, gatewayAdvice } from './gateway-advice.ts';
import { type GatewayConfig, gatewaySchema } from './gateway-schema.ts';
import { isLoopback, parseListenAddr } from './listen-addr.ts';
import { checkNode, withAbsoluteFiles } from './node-checks.ts';
import { checkProviderAddresses } from './provider-checks.ts';

/**
 * Reads everything except `platforms`. Paths are relative to the folder of `file`. Reports problems to
 * `reader`; the result then contains the valid fields.
 */
export function readGateway(reader: SchemaReader, root: YamlTree, file: string): Written<GatewayConfig> {
  if (reportIfResource(reader, root)) return {};
  // The resource form (daemon-form.ts) has a default listen address and needs no catalog.
  const isDaemon = isDaemonForm(root);
  const schema = isDaemon ? { ...gatewaySchema, required: [] } : gatewaySchema;
  const settings = withoutCatalog(reader, isDaemon ? liftSpecKeys(reader, withoutPlatforms(root)) : root);
  reader.registerAdvice('', gatewayAdvice(root));
  reader.registerAdvice('auth', authAdvice);
  const written = reader.read(schema, settings, '') as Written<GatewayConfig> | undefined;
  if (written === undefined) return {};
  const filled: Written<GatewayConfig> = fillDefaults(gatewaySchema, written);
  const listen_addr = isDaemon ? daemonListenAddr(reader, filled) : filled.listen_addr;
  const config = { ...filled, listen_addr };
  checkListenAddr(reader, listen_addr);
  checkInspector(reader, config);
  checkShellKeys(reader, settings);
  checkProviderAddresses(reader, written.providers);
  checkAuth(reader, config);
  checkNode(reader, config);
  if (written.api_key === '') checkEmptyKey(reader, root);
  const folder = dirname(file);
  return {
    ...config,
    catalog_path: catalogPath(reader, config, folder, isDaemon),
    state_dir: config.state_dir && resolve(folder, config.state_dir),
    node: withAbsoluteFiles(config.node, folder),
    audit: config.audit && { ...config.audit, path: config.audit.path && resolve(folder, config.audit.path) },
    allowed_hosts: config.allowed_hosts?.map((host) => host?.toLowerCase()),
    allowed_origins: config.allowed_origins?.map((origin) => origin && normaliseOrigin(origin)),
    spec: withAbsoluteFolders(config.spec, folder),
  };
}

const catalogKeys = ['servers', 'mcpServers'];

/** Reports and omits servers in the gateway file, which belong in the catalog. */
function withoutCatalog(reader: SchemaReader, root: YamlTree): YamlTree {
  const found = root.kind === 'map' ? root.pairs.find(({ key }) => catalogKeys.includes(key)) : undefined;
  if (found === undefined) return root;
  reader.recordPosition(found.key, found.keyOffset, found.value.offset);
  reader.reportKey(found.key, 'belongs in the catalog, the file named by catalog_path of the gateway file');
  return withoutMembers(root, [found.key]);
}

const folderOfKind = {
  Trigger: 'triggers',
  Agent: 'agents',
  Fleet: 'fleets',
  AgentFleet: 'fleets',
  Flow: 'flows',
  AgentFlow: 'flows',
} as const;

/**
 * Returns true and reports a problem if the file is a trigger, agent, fleet or flow: these have a similar
 * form.
 */
function reportIfResource(reader: SchemaReader, root: YamlTree): boolean {
  const kind = memberOf(root, 'kind');
  const kindName = textOf(kind) ?? '';
  if (kind === undefined || !Object.hasOwn(folderOfKind, kindName)) return false;
  const folder = folderOfKind[kindName as keyof typeof folderOfKind];
  reader.recordPosition('kind', kind.offset, kind.offset);
  reader.report(
    'kind',
    `${kindName} files belong in the folder named by spec.${folder}.directory of the gateway file`,
  );
  return true;
}

/** Returns the path of the catalog (list of servers): '' if none is set, undefined if the path is invalid. */
function catalogPath(
  reader: SchemaReader,
  { catalog_path }: Written<GatewayConfig>,
  folder: string,
  isDaemon: boolean,
): string | undefined {
  if (catalog_path !== undefined) return resolve(folder, catalog_path);
  return isDaemon && !reader.has('catalog_path') ? '' : undefined;
}

function withAbsoluteFolders(
  spec: Written<GatewayConfig>['spec'],
  folder: string,
): Written<GatewayConfig>['spec'] {
  const absolute = (path: string | undefined) => (path === undefined ? undefined : resolve(folder, path));
  return {
    ...spec,
    triggers: { ...spec?.triggers, directory: absolute(spec?.triggers?.directory) },
    agents: { directory: absolute(spec?.agents?.directory) },
    fleets: { directory: absolute(spec?.fleets?.directory) },
    flows: { directory: absolute(spec?.flows?.directory) },
  };
}

function checkListenAddr(reader: SchemaReader, text: string | undefined): void {
  if (text === undefined) return;
  try {
    parseListenAddr(text);
  } catch (error) {
    const field = ['listen_addr', 'spec.server.host'].find((path) => reader.has(path)) ?? 'listen_addr';
    reader.report(field, (error as TypeError).message);
  }
}

/** Reports an explicit `enabled: true` that exposes the inspector to other machines without an API key. */
function checkInspector(
  reader: SchemaReader,
  { inspector, listen_addr, api_key }: Written<GatewayConfig>,
): void {
  if (
    inspector?.enabled !== true ||
    inspector.insecure === true ||
    api_key !== '' ||
    listen_addr === undefined
  )
    return;
  const host = /^(.*):\d+$/.exec(listen_addr)?.[1];
  if (host === undefined || isLoopback(host)) return;
  reader.report(
    'inspector.enabled',
    `needs an api_key while the gateway listens on ${listen_addr}; set one, or inspector.insecure: true to allow every client to watch`,
  );
}

/**
 * Reports tokens without an api_key. Clients without a token need the key: commands, the inspector, and an
 * operator during an outage of the identity provider.
 */
function checkAuth(reader: SchemaReader, { auth, api_key }: Written<GatewayConfig>): void {
  const { jwt } = auth ?? {};
  if (jwt === undefined) return;
  if (api_key === '' && !reader.isFaulty('api_key'))
    reader.report('auth.jwt', 'needs an api_key: without it, authentication is off');
  const fault = jwtFault(jwt);
  if (fault !== undefined) reader.report(`auth.jwt.${fault.field}`, fault.message);
}

/** Further shell syntax, reported in API keys and secrets only: other values may contain it literally. */
const otherShellForm = /^(?:\$(?:env:)?[A-Za-z_]\w*|%\w+%|\$\(.*\)|`.*`)$/;

/** Reports shell syntax in API keys and secrets as an error. In other values it causes at most a warning. */
function checkShellKeys(reader: SchemaReader, root: YamlTree): void {
  const providers = memberOf(root, 'providers');
  const keys = [
    { path: 'api_key', key: memberOf(root, 'api_key') },
    { path: 'node.secret', key: memberOf(memberOf(root, 'node'), 'secret') },
    ...(providers?.kind === 'map' ? providers.pairs : []).map(({ key, value }) => ({
      path: joinPath(joinPath('providers', key), 'api_key'),
      key: memberOf(value, 'api_key'),
    })),
  ];
  for (const { path, key } of keys) if (isShellKey(key)) reader.report(path, SHELL_KEY);
}

const SHELL_KEY = `is shell syntax, which is not expanded here; write \${NAME} for a variable. A key with these characters must come from a variable`;

function isShellKey(key: YamlTree | undefined): boolean {
  if (key?.kind !== 'scalar') return false;
  const text = String(key.value);
  return shellForm(text) !== undefined || otherShellForm.test(text);
}

/** Warns of public listeners without authentication, at startup and with --check. */
export function warnOfExposure(reader: SchemaReader, config: Written<GatewayConfig>): void {
  if (reader.isFaulty('api_key')) return;
  const field = ['listen_addr', 'spec.server.host'].find((path) => reader.has(path)) ?? 'listen_addr';
  for (const message of exposureMessages(config)) reader.report(field, message, 'warning');
}

/** Returns the warnings for exposed addresses when no key is set. */
export function exposureMessages({ listen_addr, api_key, inspector }: Written<GatewayConfig>): string[] {
  const host = /^(.*):\d+$/.exec(listen_addr ?? '')?.[1];
  if (host === undefined || isLoopback(host) || api_key !== '') return [];
  const unauthenticated =
    'LISTENING BEYOND LOOPBACK WITHOUT A KEY: every client of this address can call every tool; set api_key';
  if (inspector?.enabled !== undefined) return [unauthenticated];
  return [
    unauthenticated,
    'the inspector is off: other machines can reach this address, and api_key is not set',
  ];
}

/**
 * Reports an empty `api_key`, because an empty variable must not disable authentication by accident.
 * `${NAME:-}` allows that explicitly, but is not suggested.
 */
function checkEmptyKey(reader: SchemaReader, root: YamlTree): void {
  const key = memberOf(root, 'api_key');
  const written = key?.kind === 'scalar' ? String(key.value) : '';
  if (/^\$\{\w+:-\}$/.test(written)) return;
  if (written.includes('${'))
    reader.report(
      'api_key',
      `is empty because its variable is empty; set the variable, or remove api_key to disable authentication`,
    );
  else
    reader.report('api_key', 'is empty, so authentication is off; remove it if this is intended', 'warning');
}

/** Returns the origin in lower case, without the default port of the scheme. */
function normaliseOrigin(origin: string): string {
  if (!/^https?:/i.test(origin) || !URL.canParse(origin)) return origin.toLowerCase();
  return new URL(origin).origin;
}
