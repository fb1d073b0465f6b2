// From the gateway file's tree to a GatewayConfig: the rules that a schema cannot say.

import { dirname, resolve } from 'node:path';
import { jwtFault } from '../jwt-schema.ts';
import { joinPath } from '../reader/field-path.ts';
import { fillDefaults, type Written } from '../reader/fill-defaults.ts';
import type { SchemaReader } from '../reader/schema-reader.ts';
import { shellForm } from '../reader/substitute.ts';
import { memberOf, textOf, withoutMembers } from '../reader/yaml-members.ts';
import type { YamlTree } from '../reader/yaml-tree.ts';
import { daemonListenAddr, isDaemonForm, withAllOnTop, withoutPlatforms } from './daemon-form.ts';
import { authHabits, gatewayHabits } from './gateway-habits.ts';
import { type GatewayConfig, gatewaySchema } from './gateway-schema.ts';
import { isLoopback, parseListenAddr } from './listen-addr.ts';
import { checkNode, withAbsoluteFiles } from './node-checks.ts';
import { checkProviderAddresses } from './provider-checks.ts';

/** Without `platforms`. Relative paths are relative to the folder of `file`. With problems reported the result is a best effort. */
export function readGateway(reader: SchemaReader, root: YamlTree, file: string): Written<GatewayConfig> {
  if (isResource(reader, root)) return {};
  const isDaemon = isDaemonForm(root);
  // In the form of a resource there is a default for where to listen, and servers are not what it is about.
  const schema = isDaemon ? { ...gatewaySchema, required: [] } : gatewaySchema;
  const own = withoutCatalog(reader, isDaemon ? withAllOnTop(reader, withoutPlatforms(root)) : root);
  reader.knowHabits('', gatewayHabits(root));
  reader.knowHabits('auth', authHabits);
  const written = reader.read(schema, own, '') as Written<GatewayConfig> | undefined;
  if (written === undefined) return {};
  const filled: Written<GatewayConfig> = fillDefaults(gatewaySchema, written);
  const listen_addr = isDaemon ? daemonListenAddr(reader, filled) : filled.listen_addr;
  const config = { ...filled, listen_addr };
  checkListenAddr(reader, listen_addr);
  checkInspector(reader, config);
  checkShellKeys(reader, own);
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
    allowed_hosts: config.allowed_hosts?.map((host) => host?.toLowerCase()),
    allowed_origins: config.allowed_origins?.map((origin) => origin && asBrowsersWriteIt(origin)),
    spec: withAbsoluteFolders(config.spec, folder),
  };
}

const catalogKeys = ['servers', 'mcpServers'];

/** Servers are written into the wrong file easily, or the catalog is given for the gateway file. */
function withoutCatalog(reader: SchemaReader, root: YamlTree): YamlTree {
  const found = root.kind === 'map' ? root.pairs.find(({ key }) => catalogKeys.includes(key)) : undefined;
  if (found === undefined) return root;
  reader.place(found.key, found.keyOffset, found.value.offset);
  reader.reportKey(
    found.key,
    'belongs in the catalog, a file of its own that catalog_path of the gateway file names',
  );
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

/** Whether a trigger, an agent, a fleet or a flow was given for the gateway file, whose form is alike; that is reported. */
function isResource(reader: SchemaReader, root: YamlTree): boolean {
  const kind = memberOf(root, 'kind');
  const written = textOf(kind) ?? '';
  if (kind === undefined || !Object.hasOwn(folderOfKind, written)) return false;
  const folder = folderOfKind[written as keyof typeof folderOfKind];
  reader.place('kind', kind.offset, kind.offset);
  reader.report(
    'kind',
    `${written} files belong in the folder that spec.${folder}.directory of the gateway file names`,
  );
  return true;
}

/** '' for no catalog, undefined for one that was written badly. */
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

/** Whoever can reach the listener can watch: what is asked for in so many words must not be half safe. */
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
    `needs an api_key while the gateway listens on ${listen_addr}; set one, or inspector.insecure: true if everybody there may watch`,
  );
}

/** Whoever has no token (the commands, the inspector, an operator whose identity provider is away) has the key. */
function checkAuth(reader: SchemaReader, { auth, api_key }: Written<GatewayConfig>): void {
  const { jwt } = auth ?? {};
  if (jwt === undefined) return;
  if (api_key === '' && !reader.isFaulty('api_key'))
    reader.report('auth.jwt', 'needs an api_key: without one everybody may ask');
  const fault = jwtFault(jwt);
  if (fault !== undefined) reader.report(`auth.jwt.${fault.field}`, fault.message);
}

/** In values that may be meant for a shell these are left alone; a key is for none. */
const otherShellForm = /^(?:\$(?:env:)?[A-Za-z_]\w*|%\w+%|\$\(.*\)|`.*`)$/;

/** Nobody means these very characters to be the key; the warning that other fields get is not enough. */
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

const SHELL_KEY = `would be these very characters, which are replaced in a shell and not here; write \${NAME} for a variable. A key that really is so has to come from one`;

function isShellKey(key: YamlTree | undefined): boolean {
  if (key?.kind !== 'scalar') return false;
  const text = String(key.value);
  return shellForm(text) !== undefined || otherShellForm.test(text);
}

/** Beyond loopback and without a key: what a start and --check tell alike. */
export function warnOfExposure(reader: SchemaReader, config: Written<GatewayConfig>): void {
  if (reader.isFaulty('api_key')) return;
  const place = ['listen_addr', 'spec.server.host'].find((path) => reader.has(path)) ?? 'listen_addr';
  for (const message of exposures(config)) reader.report(place, message, 'warning');
}

/** What is to be said of an address that is open to others while there is no key. */
export function exposures({ listen_addr, api_key, inspector }: Written<GatewayConfig>): string[] {
  const host = /^(.*):\d+$/.exec(listen_addr ?? '')?.[1];
  if (host === undefined || isLoopback(host) || api_key !== '') return [];
  const open =
    'LISTENING BEYOND LOOPBACK WITHOUT A KEY: whoever reaches this address can call every tool; set api_key';
  if (inspector?.enabled !== undefined) return [open];
  return [open, 'the inspector is off: this address is open to others and there is no api_key'];
}

/**
 * A key that a variable should have given must not be lost with the variable. An empty default, as in `${NAME:-}`, says that
 * no key is fine; that is not proposed.
 */
function checkEmptyKey(reader: SchemaReader, root: YamlTree): void {
  const key = memberOf(root, 'api_key');
  const written = key?.kind === 'scalar' ? String(key.value) : '';
  if (/^\$\{\w+:-\}$/.test(written)) return;
  if (written.includes('${'))
    reader.report(
      'api_key',
      `is empty, because its variable is set to nothing; give that a value, or remove api_key if no key is meant`,
    );
  else reader.report('api_key', 'is empty, so authentication is off; remove it if that is meant', 'warning');
}

/** Lower case, and without the port that the scheme implies. */
function asBrowsersWriteIt(origin: string): string {
  if (!/^https?:/i.test(origin) || !URL.canParse(origin)) return origin.toLowerCase();
  return new URL(origin).origin;
}
