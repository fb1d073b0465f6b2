// Loads the gateway file and the catalog that it names: read, parse, substitute, check, fill. Either everything
// is good, or a ConfigError reports every problem of both files at once, and of those of triggers and agents where there
// will be any; nothing else is ever thrown. A reload calls the same function again and compares. A catalog may also be
// loaded alone, and then every setting of a gateway file has its default.

import { dirname, resolve } from 'node:path';
import { type Catalog, type ServerEntry, withCredentials } from './catalog/catalog-schema.ts';
import { readCatalog } from './catalog/read-catalog.ts';
import { type ConfigPrints, gatewayPrints, treeDigest } from './config-hash.ts';
import { isCredentialName } from './credentials/credential-names.ts';
import { platformsIn } from './gateway-file/daemon-form.ts';
import { type GatewayConfig, gatewaySchema } from './gateway-file/gateway-schema.ts';
import { listeningAt } from './gateway-file/listen-override.ts';
import { profileProblems } from './gateway-file/profile-checks.ts';
import { exposures, readGateway, warnOfExposure } from './gateway-file/read-gateway.ts';
import { folderKinds, resourceFolders } from './gateway-file/resource-folders.ts';
import { environmentBeside } from './reader/env-file.ts';
import { fillDefaults, type Written } from './reader/fill-defaults.ts';
import { ConfigError, hasError, type Problem } from './reader/problem.ts';
import { SchemaReader } from './reader/schema-reader.ts';
import { SecretValues } from './reader/secret-values.ts';
import { readSourceFile, SourceFile } from './reader/source-file.ts';
import type { Environment } from './reader/substitute.ts';
import { parseYamlTree, type YamlTree } from './reader/yaml-tree.ts';
import type { ResourceSettings } from './resources/gateway-resources.ts';
import { placeFault } from './resources/resource-files.ts';

export interface Loaded {
  readonly config: GatewayConfig;
  readonly catalog: Catalog;
  /** Credentials to redact in all output (A9), the longest first. */
  readonly secrets: readonly string[];
  readonly warnings: readonly Problem[];
  /** Absolute; '' without one. */
  readonly configPath: string;
  /** Absolute; '' without one. */
  readonly catalogPath: string;
  /** What references were read with: that of the process, and the `.env` beside the file. */
  readonly environment: Environment;
  /** Of what the files say; the resources have their own. */
  readonly prints: Omit<ConfigPrints, 'resources'>;
}

export interface LoadOptions {
  /** For the entries that do not say; without it a local server is shared and a remote one is not. */
  readonly defaultIsolation?: ServerEntry['isolation'];
  /** The triggers will be loaded next: their folders must be there, and an error is told with the problems of their files. */
  readonly hasTriggers?: boolean;
  /** Somebody will listen as the file says: where that is open to all, that is a warning. */
  readonly isListening?: boolean;
  /** The file beside which `.env` is, where that is not the gateway file. */
  readonly envBeside?: string;
  /** `host:port`, a good one: where to listen, whatever the gateway file says. */
  readonly listen?: string | undefined;
}

/** What is to run: by a gateway file, or a catalog by itself. Paths are relative to the working directory. */
export type LoadTarget = { readonly config: string } | { readonly catalog: string };

/** Where a catalog without a gateway file is served. */
export const DEFAULT_LISTEN = '127.0.0.1:8080';

/** Loads either kind of target. Throws a ConfigError. */
export function loadTarget(target: LoadTarget, env: Environment, options: LoadOptions = {}): Promise<Loaded> {
  if ('config' in target) return loadConfig(target.config, env, options);
  return loadCatalogAlone(target.catalog, env, options);
}

/**
 * Loads the configuration whose gateway file is `path` (relative to the working directory), with `${VAR}` from
 * `env` and the `.env` beside the file. Throws a ConfigError; the catalog's problems are in it even when the gateway file has its own, as long
 * as `catalog_path` can be made out.
 */
export async function loadConfig(
  path: string,
  given: Environment,
  options: LoadOptions = {},
): Promise<Loaded> {
  const configPath = resolve(path);
  const {
    environment: env,
    fromFile,
    problems: envProblems,
  } = await environmentBeside(resolve(options.envBeside ?? path), given);
  const secrets = new SecretValues();
  const source = await readSourceFile(configPath);
  if (!(source instanceof SourceFile)) {
    throw new ConfigError([new SourceFile(configPath, '').problem(0, source.reason)]);
  }
  const reader = new SchemaReader(source, env, secrets);
  const { hasTriggers = false, isListening = false, listen } = options;
  let prints = { gateway: '', profiles: '' };
  const {
    value: config = {},
    problems,
    isBroken,
  } = await readTree(source, reader, 'listen_addr and catalog_path', async (root) => {
    const meant = listen === undefined ? root : listeningAt(root, listen);
    const read = await readConfig(reader, meant, configPath);
    if (isListening) {
      warnOfExposure(reader, read);
      if (read.node?.tls !== undefined) {
        const { checkNodeFiles } = await import('./gateway-file/node-files.ts');
        await checkNodeFiles(reader, read);
      }
    }
    if (hasTriggers) await checkFolders(reader, read);
    prints = gatewayPrints(root, secrets.isPlace);
    return read;
  });
  const { catalog_path: catalogPath } = config;
  const catalog =
    catalogPath === '' ? noCatalog : catalogPath && (await loadCatalog(catalogPath, env, secrets, options));
  if (typeof catalog === 'object' && catalog.reason !== undefined) {
    problems.push(reader.problemAt('catalog_path', `${catalogPath}: ${catalog.reason}`));
  }
  problems.push(...profileProblems(reader, config.profiles, goodCatalog(catalog)));
  const all = [...envProblems, ...inOrder(problems), ...(catalog ? inOrder(catalog.problems) : [])];
  if (!catalog || hasError(all)) {
    if (hasTriggers && !isBroken)
      all.push(...(await resourceProblems(reader, config, env, secrets, serverIds(catalog))));
    throw new ConfigError(all);
  }
  return {
    config: config as GatewayConfig,
    catalog: withInherited(catalog.value ?? { servers: {} }, env, fromFile, secrets),
    secrets: secrets.list(),
    warnings: all,
    configPath,
    catalogPath: catalogPath ?? '',
    environment: env,
    prints: { ...prints, catalog: catalog.print ?? '' },
  };
}

/**
 * What a server inherits by name and only `.env` has stands among its own variables: a process gets no more of the file than is
 * named, and a reload with a changed value changes the server. Inherited credentials count as the server's.
 */
function withInherited(
  { servers }: Catalog,
  env: Environment,
  fromFile: Readonly<Record<string, string>>,
  secrets: SecretValues,
): Catalog {
  const filled: Record<string, ServerEntry> = Object.create(null);
  const isOfProcess = (name: string) => isCredentialName(name) && !Object.hasOwn(fromFile, name);
  const keysOfProcess = Object.keys(env).filter(isOfProcess);
  for (const [id, entry] of Object.entries(servers)) {
    filled[id] = entry;
    if (entry.runtime !== 'stdio') continue;
    const names = entry.inherit_env === true ? keysOfProcess : entry.inherit_env;
    const credentials = names.flatMap((name) =>
      secrets.add(env[name] ?? '', isCredentialName(name) ? 'named' : 'supplied'),
    );
    const added = names.filter((name) => Object.hasOwn(fromFile, name));
    const inherited = Object.fromEntries(added.map((name) => [name, fromFile[name] ?? '']));
    const withVariables = added.length === 0 ? entry : { ...entry, env: { ...inherited, ...entry.env } };
    filled[id] = withCredentials(withVariables, credentials);
  }
  return { servers: filled };
}

/** State is kept beside the catalog, and so are variables in a `.env`. */
async function loadCatalogAlone(path: string, given: Environment, options: LoadOptions): Promise<Loaded> {
  const catalogPath = resolve(path);
  const { environment, fromFile, problems: envProblems } = await environmentBeside(catalogPath, given);
  const secrets = new SecretValues();
  const start = new SourceFile(catalogPath, '');
  const loaded = await loadCatalog(catalogPath, environment, secrets, options);
  const { value, problems, reason, print = '' } = loaded;
  if (reason !== undefined) throw new ConfigError([start.problem(0, reason)]);
  const { listen: listen_addr = DEFAULT_LISTEN, isListening } = options;
  const config = fillDefaults(gatewaySchema, {
    listen_addr,
    catalog_path: catalogPath,
    state_dir: resolve(dirname(catalogPath), '.gateway'),
  });
  const told = isListening ? exposures(config).map((message) => start.problem(0, message, 'warning')) : [];
  const warnings = [...envProblems, ...told, ...inOrder(problems)];
  if (value === undefined || hasError(warnings)) throw new ConfigError(warnings);
  const catalog = withInherited(value, environment, fromFile, secrets);
  const prints = { gateway: '', profiles: '', catalog: print };
  return {
    ...{ config, catalog, secrets: secrets.list(), warnings, configPath: '', catalogPath, environment },
    prints,
  };
}

async function readConfig(
  reader: SchemaReader,
  root: YamlTree,
  path: string,
): Promise<Written<GatewayConfig>> {
  const config = readGateway(reader, root, path);
  const platforms = platformsIn(root);
  if (platforms === undefined) return config;
  const { readPlatforms } = await import('./gateway-file/read-platforms.ts');
  return { ...config, platforms: readPlatforms(reader, platforms) };
}

/** A folder that is not there is a slip in this file. */
async function checkFolders(reader: SchemaReader, { spec }: Written<GatewayConfig>): Promise<void> {
  for (const kind of folderKinds) {
    const folder = spec?.[kind]?.directory;
    const fault = folder === undefined ? undefined : await placeFault(folder);
    if (fault !== undefined) reader.report(`spec.${kind}.directory`, `${folder}: ${fault}`);
  }
}

/** None where the settings that hold for all triggers are wrong themselves: what came of that would only mislead. */
async function resourceProblems(
  reader: SchemaReader,
  config: Written<GatewayConfig>,
  env: Environment,
  secrets: SecretValues,
  servers: readonly string[] | undefined,
): Promise<readonly Problem[]> {
  if (resourceFolders(config.spec).length === 0) return [];
  if (['spec', 'platforms', 'providers', 'prices'].some((path) => reader.isFaulty(path))) return [];
  const listen_addr = reader.isFaulty('listen_addr') ? undefined : config.listen_addr;
  const { loadGatewayResources } = await import('./resources/gateway-resources.ts');
  const settings = { ...config, listen_addr } as ResourceSettings;
  return (await loadGatewayResources(settings, env, secrets, servers)).problems;
}

/** Undefined where the catalog is bad: an entry that is may be the one that is meant. */
function serverIds(catalog: LoadedCatalog | undefined | ''): readonly string[] | undefined {
  const good = goodCatalog(catalog);
  return good === undefined ? undefined : Object.keys(good.servers);
}

function goodCatalog(catalog: LoadedCatalog | undefined | ''): Catalog | undefined {
  return !catalog || hasError(catalog.problems) ? undefined : catalog.value;
}

interface LoadedCatalog {
  readonly value?: Catalog | undefined;
  readonly problems: readonly Problem[];
  readonly print?: string;
  /** Why there is no file to speak of. */
  readonly reason?: string;
}

/** A file that is about triggers needs no servers. */
const noCatalog: LoadedCatalog = { problems: [] };

async function loadCatalog(
  path: string,
  env: Environment,
  secrets: SecretValues,
  { defaultIsolation }: LoadOptions,
): Promise<LoadedCatalog> {
  const source = await readSourceFile(path);
  if (!(source instanceof SourceFile)) return { problems: [], reason: source.reason };
  const reader = new SchemaReader(source, env, secrets);
  let print = '';
  const read = await readTree(source, reader, 'servers (servers: {} for none)', (root) => {
    const catalog = readCatalog(reader, root, path, defaultIsolation);
    print = treeDigest(root, secrets.isPlace);
    return catalog;
  });
  return { ...read, print };
}

/** What a broken syntax makes of the rest would only mislead, so then the syntax is all that is reported. */
async function readTree<T>(
  source: SourceFile,
  reader: SchemaReader,
  content: string,
  read: (root: YamlTree) => T | Promise<T>,
): Promise<{ value: T | undefined; problems: Problem[]; isBroken: boolean }> {
  const { root, problems, isBroken } = parseYamlTree(source);
  if (root === undefined) {
    if (problems.length === 0) problems.push(source.problem(0, `the file is empty; expected ${content}`));
    return { value: undefined, problems, isBroken };
  }
  const value = await read(root);
  return { value, problems: isBroken ? problems : [...problems, ...reader.problems], isBroken };
}

function inOrder(problems: readonly Problem[]): Problem[] {
  return [...problems].sort((a, b) => a.line - b.line || a.column - b.column);
}
