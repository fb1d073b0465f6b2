// A catalog as a text, read as the gateway would read the file. Variables that are not set are warnings: whoever changes a catalog seldom
// has those that the gateway is started with.

import type { Problem } from '../reader/problem.ts';
import { SchemaReader } from '../reader/schema-reader.ts';
import { SecretValues } from '../reader/secret-values.ts';
import type { SourceFile } from '../reader/source-file.ts';
import type { Environment } from '../reader/substitute.ts';
import { parseYamlTree } from '../reader/yaml-tree.ts';
import type { Catalog } from './catalog-schema.ts';
import { readCatalog } from './read-catalog.ts';

export interface CheckedCatalog {
  readonly catalog: Catalog;
  readonly problems: readonly Problem[];
  readonly secrets: readonly string[];
}

/** What the text says, and what is wrong with it. Never throws. */
export function checkCatalog(source: SourceFile, env: Environment): CheckedCatalog {
  const secrets = new SecretValues();
  const reader = new SchemaReader(source, env, secrets);
  reader.unsetVariables = 'warning';
  const { root, problems, isBroken } = parseYamlTree(source);
  const catalog = root === undefined ? { servers: {} } : readCatalog(reader, root, source.path);
  // What a broken syntax makes of the rest would only mislead.
  return {
    catalog,
    problems: isBroken ? problems : [...problems, ...reader.problems],
    secrets: secrets.list(),
  };
}
