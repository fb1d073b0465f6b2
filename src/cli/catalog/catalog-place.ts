// Which catalog a command changes, and what lies around it: the gateway file that names it, and `.env`.

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
import { UsageError } from '../api/target-options.ts';
import { USUAL_CONFIG } from '../options.ts';

const USUAL_CATALOG = 'catalog.yaml';

export interface PlaceOptions {
  readonly config?: string | undefined;
  readonly catalog?: string | undefined;
}

export interface CatalogPlace {
  /** The gateway file, as it was named; undefined for a catalog by itself. */
  readonly config: string | undefined;
  /** Absolute. */
  readonly catalogPath: string;
  /** Absolute. */
  readonly envPath: string;
  readonly registryUrl: string;
  /** With the variables of `.env`. */
  readonly environment: Environment;
}

/** Finds it. Throws UsageError where no catalog is named, or `.env` is wrong. */
export async function findCatalog(options: PlaceOptions, env: Environment): Promise<CatalogPlace> {
  if (options.config !== undefined && options.catalog !== undefined)
    throw new UsageError('give either --config or --catalog');
  const hasUsual = options.catalog === undefined && existsSync(USUAL_CONFIG);
  const config = options.config ?? (hasUsual ? USUAL_CONFIG : undefined);
  const byItself = resolve(options.catalog ?? USUAL_CATALOG);
  const path = config === undefined ? byItself : resolve(config);
  const { environment, problems } = await environmentBeside(path, env);
  if (hasError(problems)) throw new UsageError(problems.map(formatProblem).join('\n'));
  const { catalogPath, registryUrl } =
    config === undefined
      ? { catalogPath: byItself, registryUrl: DEFAULT_REGISTRY }
      : await namedBy(config, environment);
  return { config, catalogPath, envPath: envFileBeside(path), registryUrl, environment };
}

/** The registry of a gateway file, by itself. Throws UsageError. */
export async function findRegistry(given: string | undefined, env: Environment): Promise<string> {
  const config = given ?? (existsSync(USUAL_CONFIG) ? USUAL_CONFIG : undefined);
  if (config === undefined) return DEFAULT_REGISTRY;
  return (await readSettings(config, (await environmentBeside(resolve(config), env)).environment))
    .registryUrl;
}

async function namedBy(config: string, env: Environment) {
  const { catalogPath, registryUrl, problems } = await readSettings(config, env);
  if (catalogPath === undefined)
    throw new UsageError([`${config} has no usable catalog_path`, ...problems].join('\n'));
  if (catalogPath === '')
    throw new UsageError(`${config} names no catalog; add catalog_path: ./catalog.yaml to it`);
  return { catalogPath, registryUrl };
}

async function readSettings(config: string, env: Environment) {
  const source = await readSourceFile(resolve(config));
  if (!(source instanceof SourceFile)) throw new UsageError(`${config}: ${source.reason}`);
  const reader = new SchemaReader(source, env, new SecretValues());
  // What else the file says may need variables that only the gateway has.
  reader.unsetVariables = 'warning';
  const { root, problems } = parseYamlTree(source);
  const { catalog_path, registry_url } = root === undefined ? {} : readGateway(reader, root, source.path);
  const isGood = (path: string) => !reader.isFaulty(path) && !reader.isUnset(path);
  return {
    catalogPath: isGood('catalog_path') ? catalog_path : undefined,
    registryUrl: registry_url !== undefined && isGood('registry_url') ? registry_url : DEFAULT_REGISTRY,
    problems: [...problems, ...reader.problems].map(formatProblem),
  };
}
