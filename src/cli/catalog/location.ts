// Finds the files that a command changes: the catalog, the `.env` file next to it, and the gateway file.

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { DEFAULT_REGISTRY } from '../../../config/gateway-file/gateway-schema.ts';
import { readGateway } from '../../../config/gateway-file/read-gateway.ts';
import { envFileBeside, environmentBeside } from '../../../config/reader/env-file.ts';
import { formatProblem, hasError } from '../../../config/reader/problem.ts';
import { SchemaReader } from '../../../config/reader/schema-reader.ts';
import { SecretValues } from '../../../config/reader/secret-values.ts';
import { readSourceFile, SourceFile } from '../../../config/reader/source-file.ts';
import type { Environment } from '../../../config/reader/substitute.ts';
import { parseYamlTree } from '../../../config/reader/yaml-tree.ts';
import { CommandLineError } from '../api/target-options.ts';
import { DEFAULT_CONFIG } from '../options.ts';

const DEFAULT_CATALOG = 'catalog.yaml';

export interface LocationOptions {
  readonly config?: string | undefined;
  readonly catalog?: string | undefined;
}

export interface CatalogLocation {
  /** Path of the gateway file as typed; undefined for a catalog that is used without gateway file. */
  readonly config: string | undefined;
  /** Absolute path. */
  readonly catalogPath: string;
  /** Absolute path. */
  readonly envPath: string;
  readonly registryUrl: string;
  /** Process environment plus the variables in `.env`. */
  readonly environment: Environment;
}

/** Returns the location. Throws CommandLineError if there is no catalog, or if `.env` is invalid. */
export async function locateCatalog(options: LocationOptions, env: Environment): Promise<CatalogLocation> {
  if (options.config !== undefined && options.catalog !== undefined)
    throw new CommandLineError('use either --config or --catalog, not both');
  const hasDefault = options.catalog === undefined && existsSync(DEFAULT_CONFIG);
  const config = options.config ?? (hasDefault ? DEFAULT_CONFIG : undefined);
  const standalonePath = resolve(options.catalog ?? DEFAULT_CATALOG);
  const path = config === undefined ? standalonePath : resolve(config);
  const { environment, problems } = await environmentBeside(path, env);
  if (hasError(problems)) throw new CommandLineError(problems.map(formatProblem).join('\n'));
  const { catalogPath, registryUrl } =
    config === undefined
      ? { catalogPath: standalonePath, registryUrl: DEFAULT_REGISTRY }
      : await readCatalogPath(config, environment);
  return { config, catalogPath, envPath: envFileBeside(path), registryUrl, environment };
}

/** Returns the registry from the gateway file, for commands that need no catalog. Throws CommandLineError. */
export async function findRegistry(configPath: string | undefined, env: Environment): Promise<string> {
  const config = configPath ?? (existsSync(DEFAULT_CONFIG) ? DEFAULT_CONFIG : undefined);
  if (config === undefined) return DEFAULT_REGISTRY;
  return (await readSettings(config, (await environmentBeside(resolve(config), env)).environment))
    .registryUrl;
}

async function readCatalogPath(config: string, env: Environment) {
  const { catalogPath, registryUrl, problems } = await readSettings(config, env);
  if (catalogPath === undefined)
    throw new CommandLineError([`${config} has no usable catalog_path`, ...problems].join('\n'));
  if (catalogPath === '')
    throw new CommandLineError(`${config} has no catalog; add catalog_path: ./catalog.yaml to it`);
  return { catalogPath, registryUrl };
}

async function readSettings(config: string, env: Environment) {
  const source = await readSourceFile(resolve(config));
  if (!(source instanceof SourceFile)) throw new CommandLineError(`${config}: ${source.reason}`);
  const reader = new SchemaReader(source, env, new SecretValues());
  // Other fields may reference variables that only the gateway's environment contains.
  reader.unsetVariables = 'warning';
  const { root, problems } = parseYamlTree(source);
  const { catalog_path, registry_url } = root === undefined ? {} : readGateway(reader, root, source.path);
  const isUsable = (path: string) => !reader.isFaulty(path) && !reader.isUnset(path);
  return {
    catalogPath: isUsable('catalog_path') ? catalog_path : undefined,
    registryUrl: registry_url !== undefined && isUsable('registry_url') ? registry_url : DEFAULT_REGISTRY,
    problems: [...problems, ...reader.problems].map(formatProblem),
  };
}
