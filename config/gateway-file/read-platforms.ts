// Reads the settings per platform (chat, code host, …) of the gateway file, with aliases and
// `NAME_env: VARIABLE` for a value. This file is loaded only if needed: the schemas of all trigger types
// together cost 3 ms at startup.

import { joinPath } from '../reader/field-path.ts';
import { translateFields } from '../reader/field-table.ts';
import { fillDefaults } from '../reader/fill-defaults.ts';
import type { SchemaReader } from '../reader/schema-reader.ts';
import { renameKeys, textOf } from '../reader/yaml-members.ts';
import type { YamlMap, YamlTree } from '../reader/yaml-tree.ts';
import { fieldAliases, resolveType } from '../resources/aliases.ts';
import { platformsSchema } from '../resources/platform-schema.ts';
import type { Platforms } from '../resources/resource-context.ts';
import { platformOf, type TypeName, triggerTypes } from '../resources/triggers/trigger-types.ts';

/** Returns the settings by platform; missing settings are undefined. */
export function readPlatforms(reader: SchemaReader, tree: YamlTree): Platforms {
  const translatedTree = tree.kind === 'map' ? translatePlatforms(reader, tree) : tree;
  const written = reader.read(platformsSchema, translatedTree, 'platforms') as Platforms | undefined;
  return fillDefaults(platformsSchema, written ?? {});
}

function translatePlatforms(reader: SchemaReader, platforms: YamlMap): YamlMap {
  const renamedMap = renameKeys(reader, platforms, 'platforms', (word) => {
    const type = resolveType(word);
    return type === undefined ? undefined : platformOf(type);
  });
  const pairs = renamedMap.pairs.map((pair) => {
    const type = resolveType(pair.key);
    return type === undefined ? pair : { ...pair, value: translateSettings(reader, pair.value, type) };
  });
  return { ...renamedMap, pairs };
}

function translateSettings(reader: SchemaReader, settings: YamlTree, type: TypeName): YamlTree {
  const path = joinPath('platforms', platformOf(type));
  const aliases = Object.entries(fieldAliases[type] ?? {});
  const fieldNames = Object.keys(triggerTypes[type].config.properties).map(
    (field) => [field, field] as const,
  );
  const variables = [...fieldNames, ...aliases].map(
    ([name, to]) => [`${name}_env`, { to, value: asReference }] as const,
  );
  const translatedTree = translateFields(
    reader,
    settings,
    path,
    Object.fromEntries([...variables, ...aliases]),
  );
  // Replaces the names that `translateFields` has registered: suggestions should contain `_env` names of
  // aliases, but not of every field.
  reader.registerAliases(
    path,
    aliases.flatMap(([name]) => [name, `${name}_env`]),
  );
  return translatedTree;
}

/** Converts `token_env: NAME` to `token: ${NAME}`. */
function asReference(value: YamlTree, reader: SchemaReader, at: string): YamlTree {
  const name = textOf(value);
  if (name !== undefined && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    return { ...value, value: `\${${name}}` } as YamlTree;
  reader.recordPosition(at, value.offset, value.offset);
  reader.report(at, 'expected the name of an environment variable');
  return value;
}
