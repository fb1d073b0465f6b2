// Loads the gateway file (gateway.yaml) and its catalog (the list of servers): parse, substitute, validate,
// apply defaults. All problems of both files, and of triggers and agents if they are enabled, are reported
// together in a ConfigError; nothing else is thrown. A reload calls the same function and compares the
// result. A catalog can also be loaded alone, with default gateway settings.

import { dirname, resolve } from 'node:path';
import { type Catalog, type ServerEntry, withCredentials } from './catalog/catalog-schema.ts';
import { foreignFormatHint } from './catalog/dialects/foreign-formats.ts';
import { readCatalog } from './catalog/read-catalog.ts';
import { type ConfigDigests, gatewayDigests, treeDigest } from './config-hash.ts';
import { isCredentialName } from './credentials/credential-names.ts';
import { platformsIn } from './gateway-file/daemon-form.ts';
import { type GatewayConfig, gatewaySchema } from './gateway-file/gateway-schema.ts';
import { withListenAddr } from './gateway-file/listen-override.ts';
import { profileProblems } from './gateway-file/profile-checks.ts';
import { exposureMessages, readGateway, warnOfExposure } from './gateway-file/read-gateway.ts';
import { folderKinds } from './gateway-file/resource-folders.ts';
import { environmentBeside } from './reader/env-file.ts';
import { isTomlPath, parseFileTree } from './reader/file-tree.ts';
import { fillDefaults, type Written } from './reader/fill-defaults.ts';
import { ConfigError, hasError, type Problem } from './reader/problem.ts';
import { SchemaReader } from './reader/schema-reader.ts';
import { SecretValues } from './reader/secret-values.ts';
import { readSourceFile, SourceFile } from './reader/source-file.ts';
import type { Environment } from './reader/substitute.ts';
import type { YamlTree } from './reader/yaml-tree.ts';
import { loadConfiguredResources } from './resources/configured-resources.ts';
import type { ResourceSettings } from './resources/gateway-resources.ts';
import { pathFault } from './resources/resource-files.ts';

export interface LoadedConfig {
  readonly config: GatewayConfig;
  readonly catalog: Catalog;
  /** Credentials to redact in all output (A9, ARCHITECTURE.md), longest first. */
  readonly secrets: readonly string[];
  readonly warnings: readonly Problem[];
  /** Absolute path; '' if the catalog is loaded alone. */
  readonly configPath: string;
  /** Absolute path; '' if no catalog is set. */
  readonly catalogPath: string;
  /** Environment for `${VAR}` in the files: the process environment and the `.env` next to the file. */
  readonly environment: Environment;
  /** Digests of both files for config-hash.ts. Triggers, agents, fleets and flows have a separate digest. */
  readonly digests: Omit<ConfigDigests, 'resources'>;
}

export interface LoadOptions {
  /**
   * Isolation for entries that do not set it: `shared` means that all clients share connections, `session`
   * that each client session has its own. Default: shared for local, session for remote servers.
   */
  readonly defaultIsolation?: ServerEntry['isolation'] | undefined;
  /**
   * True if the caller loads triggers next. Then their folders are checked, and errors include the problems
   * of their files.
   */
  readonly hasTriggers?: boolean;
  /** True if the gateway will listen on the address. Then an exposed address causes a warning. */
  readonly isListening?: boolean;
  /** File whose folder contains the `.env`. @default the gateway file */
  readonly envBeside?: string;
  /** @default loadCatalog */
  readonly catalogLoader?: CatalogLoader;
  /** Valid `host:port` that replaces the listen address of the file. */
  readonly listen?: string | undefined;
}

/** A gateway file, or a catalog alone. Paths are relative to the working directory. */
export type LoadTarget = { readonly config: string } | { readonly catalog: string };

/** Default listen address if only a catalog is loaded. */
export const DEFAULT_LISTEN = '127.0.0.1:8080';

/** Loads a target. Throws a ConfigError. */
export function loadTarget(
  target: LoadTarget,
  env: Environment,
  options: LoadOptions = {},
): Promise<LoadedConfig> {
  if ('config' in target) return loadConfig(target.config, env, options);
  return loadCatalogAlone(target.catalog, env, options);
}

/**
 * Loads a gateway file, with `${VAR}` from `env` and the `.env` next to the file. `path` is relative to the
 * working directory. Throws a ConfigError, which includes the catalog's problems if `catalog_path` is valid.
 */
export async function loadConfig(
  path: string,
  processEnv: Environment,
  options: LoadOptions = {},
): Promise<LoadedConfig> {
  const configPath = resolve(path);
  const {
    environment: env,
    fromFile,
    problems: envProblems,
  } = await environmentBeside(resolve(options.envBeside ?? path), processEnv);
  const secrets = new SecretValues();
  const source = await readSourceFile(configPath);
  if (!(source instanceof SourceFile)) {
    throw new ConfigError([new SourceFile(configPath, '').problem(0, source.reason)]);
  }
  const reader = new SchemaReader(source, env, secrets);
  const { hasTriggers = false, isListening = false, listen } = options;
  let digests = { gateway: '', profiles: '' };
  const {
    value: config = {},
    problems,
    isBroken,
  } = await readTree(source, reader, 'listen_addr and catalog_path', async (root) => {
    const effectiveRoot = listen === undefined ? root : withListenAddr(root, listen);
    const read = await readConfig(reader, effectiveRoot, configPath);
    if (isListening) {
      warnOfExposure(reader, read);
      if (read.node?.tls !== undefined) {
        const { checkNodeFiles } = await import('./gateway-file/node-files.ts');
        await checkNodeFiles(reader, read);
      }
    }
    if (hasTriggers) await checkFolders(reader, read);
    digests = gatewayDigests(root, secrets.isSecretScalar);
    return read;
  });
  const { catalog_path: catalogPath } = config;
  const catalog = await loadOptionalCatalog(catalogPath, { env, fromFile }, secrets, options);
  if (catalog?.reason !== undefined) {
    problems.push(reader.problemAt('catalog_path', `${catalogPath}: ${catalog.reason}`));
  }
  problems.push(...profileProblems(reader, config.profiles, validCatalog(catalog)));
  const all = [
    ...envProblems,
    ...sortByPosition(problems),
    ...(catalog ? sortByPosition(catalog.problems) : []),
  ];
  if (!catalog || hasError(all)) {
    if (hasTriggers && !isBroken)
      all.push(...(await resourceProblems(reader, config, env, secrets, serverIds(catalog))));
    throw new ConfigError(all);
  }
  return {
    // Without errors, every required field is set.
    config: config as GatewayConfig,
    catalog: catalog.value ?? { servers: {} },
    secrets: secrets.list(),
    warnings: all,
    configPath,
    catalogPath: catalogPath ?? '',
    environment: env,
    digests: { ...digests, catalog: catalog.digest ?? '' },
  };
}

/**
 * Adds inherited variables from `.env` to the servers that name them. A server receives no other variables of
 * the file, and restarts if a reload changes a value. Inherited credentials are redacted in the server's
 * errors.
 */
function withInheritedVariables(
  { servers }: Catalog,
  { env, fromFile }: CatalogVariables,
  secrets: SecretValues,
): Catalog {
  const filled: Record<string, ServerEntry> = Object.create(null);
  const isProcessCredential = (name: string) => isCredentialName(name) && !Object.hasOwn(fromFile, name);
  const processCredentials = Object.keys(env).filter(isProcessCredential);
  for (const [id, entry] of Object.entries(servers)) {
    filled[id] = entry;
    if (entry.runtime !== 'stdio') continue;
    // `true` means all variables. Only the credentials among them have to be redacted.
    const names = entry.inherit_env === true ? processCredentials : entry.inherit_env;
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

/** Loads a catalog with default gateway settings. State folder and `.env` are next to the catalog. */
async function loadCatalogAlone(
  path: string,
  processEnv: Environment,
  options: LoadOptions,
): Promise<LoadedConfig> {
  const catalogPath = resolve(path);
  const { environment, fromFile, problems: envProblems } = await environmentBeside(catalogPath, processEnv);
  const secrets = new SecretValues();
  // Creates problems at the start of the catalog.
  const fileStart = new SourceFile(catalogPath, '');
  const load = options.catalogLoader ?? loadCatalog;
  const loaded = await load(catalogPath, { env: environment, fromFile }, secrets, options);
  const { value, problems, reason, digest = '' } = loaded;
  if (reason !== undefined) throw new ConfigError([fileStart.problem(0, reason)]);
  const { listen: listen_addr = DEFAULT_LISTEN, isListening } = options;
  const config = fillDefaults(gatewaySchema, {
    listen_addr,
    catalog_path: catalogPath,
    state_dir: resolve(dirname(catalogPath), '.gateway'),
  });
  const exposureWarnings = isListening
    ? exposureMessages(config).map((message) => fileStart.problem(0, message, 'warning'))
    : [];
  const warnings = [...envProblems, ...exposureWarnings, ...sortByPosition(problems)];
  if (value === undefined || hasError(warnings)) throw new ConfigError(warnings);
  const digests = { gateway: '', profiles: '', catalog: digest };
  return {
    ...{
      config,
      catalog: value,
      secrets: secrets.list(),
      warnings,
      configPath: '',
      catalogPath,
      environment,
    },
    digests,
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

/** Reports missing resource folders as problems of the gateway file. */
async function checkFolders(reader: SchemaReader, { spec }: Written<GatewayConfig>): Promise<void> {
  for (const kind of folderKinds) {
    const folder = spec?.[kind]?.directory;
    const fault = folder === undefined ? undefined : await pathFault(folder);
    if (fault !== undefined) reader.report(`spec.${kind}.directory`, `${folder}: ${fault}`);
  }
}

/**
 * Returns the problems of the resource files (triggers, agents, fleets, flows). If shared settings are
 * invalid, the files are not checked: further problems would be misleading.
 */
async function resourceProblems(
  reader: SchemaReader,
  config: Written<GatewayConfig>,
  env: Environment,
  secrets: SecretValues,
  servers: readonly string[] | undefined,
): Promise<readonly Problem[]> {
  if (['spec', 'platforms', 'providers', 'prices'].some((path) => reader.isFaulty(path))) return [];
  const listen_addr = reader.isFaulty('listen_addr') ? undefined : config.listen_addr;
  const settings = { ...config, listen_addr } as ResourceSettings;
  return (await loadConfiguredResources(settings, env, servers, { secrets }))?.problems ?? [];
}

/**
 * Returns the ids of all servers; undefined if the catalog is invalid, because an invalid entry may be the
 * requested server.
 */
function serverIds(catalog: LoadedCatalog | undefined): readonly string[] | undefined {
  const valid = validCatalog(catalog);
  return valid === undefined ? undefined : Object.keys(valid.servers);
}

function validCatalog(catalog: LoadedCatalog | undefined): Catalog | undefined {
  return !catalog || hasError(catalog.problems) ? undefined : catalog.value;
}

export interface LoadedCatalog {
  readonly value?: Catalog | undefined;
  readonly problems: readonly Problem[];
  readonly digest?: string;
  /** Reason why the file cannot be read. */
  readonly reason?: string;
}

/** Returns an empty catalog for '', because files for triggers need none; undefined for an invalid path. */
async function loadOptionalCatalog(
  path: string | undefined,
  variables: CatalogVariables,
  secrets: SecretValues,
  options: LoadOptions,
): Promise<LoadedCatalog | undefined> {
  if (path === undefined) return undefined;
  if (path === '') return { problems: [] };
  return (options.catalogLoader ?? loadCatalog)(path, variables, secrets, options);
}

export interface CatalogVariables {
  /** Environment for `${VAR}` in the catalog. */
  readonly env: Environment;
  /** Variables of the `.env` file, which servers inherit by name. */
  readonly fromFile: Readonly<Record<string, string>>;
}

/** Loads the catalog with inherited variables, and adds its credentials to `secrets`. */
export type CatalogLoader = (
  path: string,
  variables: CatalogVariables,
  secrets: SecretValues,
  options: Pick<LoadOptions, 'defaultIsolation'>,
) => Promise<LoadedCatalog>;

export async function loadCatalog(
  path: string,
  variables: CatalogVariables,
  secrets: SecretValues,
  { defaultIsolation }: Pick<LoadOptions, 'defaultIsolation'>,
): Promise<LoadedCatalog> {
  const source = await readSourceFile(path);
  if (!(source instanceof SourceFile)) return { problems: [], reason: source.reason };
  const reader = new SchemaReader(source, variables.env, secrets);
  let digest = '';
  const read = await readTree(source, reader, 'servers (servers: {} for none)', (root) => {
    const catalog = readCatalog(reader, root, path, defaultIsolation);
    digest = treeDigest(root, secrets.isSecretScalar);
    return catalog;
  });
  // A file with broken syntax may be a valid file of another client in a format other than YAML.
  const hint = read.isBroken && !isTomlPath(path) ? foreignFormatHint(undefined, source.text) : undefined;
  if (hint !== undefined) read.problems.unshift(source.problem(0, hint));
  const { value } = read;
  if (value === undefined || hasError(read.problems)) return { ...read, digest };
  return { ...read, digest, value: withInheritedVariables(value, variables, secrets) };
}

/**
 * Parses a file and reads its tree. With broken syntax, reports syntax errors only: other problems would be
 * misleading. `content` is the expected content, for the error about an empty file.
 */
async function readTree<T>(
  source: SourceFile,
  reader: SchemaReader,
  content: string,
  read: (root: YamlTree) => T | Promise<T>,
): Promise<{ value: T | undefined; problems: Problem[]; isBroken: boolean }> {
  const { root, problems, isBroken } = await parseFileTree(source);
  if (root === undefined) {
    if (problems.length === 0) problems.push(source.problem(0, `the file is empty; expected ${content}`));
    return { value: undefined, problems, isBroken };
  }
  const value = await read(root);
  return { value, problems: isBroken ? problems : [...problems, ...reader.problems], isBroken };
}

function sortByPosition(problems: readonly Problem[]): Problem[] {
  return [...problems].sort((a, b) => a.line - b.line || a.column - b.column);
}
