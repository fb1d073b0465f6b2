// Validates the text of a catalog, for commands that edit it: the text is checked before it is written. Unset
// variables cause warnings only, because these commands rarely run in the gateway's environment.

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
  /** Credentials to redact in messages. */
  readonly secrets: readonly string[];
}

/** Returns the catalog and its problems. Never throws. */
export function checkCatalog(source: SourceFile, env: Environment): CheckedCatalog {
  const secrets = new SecretValues();
  const reader = new SchemaReader(source, env, secrets);
  reader.unsetVariables = 'warning';
  const { root, problems, isBroken } = parseYamlTree(source);
  const catalog = root === undefined ? { servers: {} } : readCatalog(reader, root, source.path);
  // With broken syntax, further problems would be misleading.
  return {
    catalog,
    problems: isBroken ? problems : [...problems, ...reader.problems],
    secrets: secrets.list(),
  };
}
