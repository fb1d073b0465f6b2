// Loads the gateway file and the catalog that it names: read, parse, substitute, check, fill. Either everything
// is good, or a ConfigError reports every problem of both files at once; nothing else is ever thrown.
// A reload calls the same function again and compares.

import { resolve } from 'node:path';
import type { Catalog, ServerEntry } from './catalog-schema.ts';
import { platformsIn } from './daemon-form.ts';
import type { Written } from './fill-defaults.ts';
import type { GatewayConfig } from './gateway-schema.ts';
import { ConfigError, hasError, type Problem } from './problem.ts';
import { readCatalog } from './read-catalog.ts';
import { readGateway } from './read-gateway.ts';
import { SchemaReader } from './schema-reader.ts';
import { SecretValues } from './secret-values.ts';
import { readSourceFile, SourceFile } from './source-file.ts';
import type { Environment } from './substitute.ts';
import { parseYamlTree, type YamlTree } from './yaml-tree.ts';

export interface Loaded {
  readonly config: GatewayConfig;
  readonly catalog: Catalog;
  /** Values to strike from everything that is shown (A9), the longest first; each has six characters or more. */
  readonly secrets: readonly string[];
  readonly warnings: readonly Problem[];
  /** Absolute. */
  readonly configPath: string;
  /** Absolute; '' without one. */
  readonly catalogPath: string;
}

export interface LoadOptions {
  /** For the entries that do not say; without it a local server is shared and a remote one is not. */
  readonly defaultIsolation?: ServerEntry['isolation'];
}

/**
 * Loads the configuration whose gateway file is `path` (relative to the working directory), with `${VAR}` from
 * `env`. Throws a ConfigError; the catalog's problems are in it even when the gateway file has its own, as long
 * as `catalog_path` can be made out.
 */
export async function loadConfig(path: string, env: Environment, options: LoadOptions = {}): Promise<Loaded> {
  const configPath = resolve(path);
  const secrets = new SecretValues();
  const source = await readSourceFile(configPath);
  if (!(source instanceof SourceFile)) {
    throw new ConfigError([new SourceFile(configPath, '').problem(0, source.reason)]);
  }
  const reader = new SchemaReader(source, env, secrets);
  const { value: config = {}, problems } = await readTree(
    source,
    reader,
    'listen_addr and catalog_path',
    (root) => readConfig(reader, root, configPath),
  );
  const { catalog_path: catalogPath } = config;
  const catalog =
    catalogPath === '' ? noCatalog : catalogPath && (await loadCatalog(catalogPath, env, secrets, options));
  if (typeof catalog === 'object' && catalog.reason !== undefined) {
    problems.push(reader.problemAt('catalog_path', `${catalogPath}: ${catalog.reason}`));
  }
  const all = [...inOrder(problems), ...(catalog ? inOrder(catalog.problems) : [])];
  if (!catalog || hasError(all)) throw new ConfigError(all);
  return {
    config: config as GatewayConfig,
    catalog: catalog.value ?? { servers: {} },
    secrets: secrets.list(),
    warnings: all,
    configPath,
    catalogPath: catalogPath ?? '',
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
  const { readPlatforms } = await import('./read-platforms.ts');
  return { ...config, platforms: readPlatforms(reader, platforms) };
}

interface LoadedCatalog {
  readonly value?: Catalog | undefined;
  readonly problems: readonly Problem[];
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
  return readTree(source, reader, 'servers (servers: {} for none)', (root) =>
    readCatalog(reader, root, path, secrets, defaultIsolation),
  );
}

/** What a broken syntax makes of the rest would only mislead, so then the syntax is all that is reported. */
async function readTree<T>(
  source: SourceFile,
  reader: SchemaReader,
  content: string,
  read: (root: YamlTree) => T | Promise<T>,
): Promise<{ value: T | undefined; problems: Problem[] }> {
  const { root, problems, isBroken } = parseYamlTree(source);
  if (root === undefined) {
    if (problems.length === 0) problems.push(source.problem(0, `the file is empty; expected ${content}`));
    return { value: undefined, problems };
  }
  const value = await read(root);
  return { value, problems: isBroken ? problems : [...problems, ...reader.problems] };
}

function inOrder(problems: readonly Problem[]): Problem[] {
  return [...problems].sort((a, b) => a.line - b.line || a.column - b.column);
}
