// The settings of platforms in the daemon's configuration: words of vendors as well as ours, and `NAME_env: VARIABLE` for
// a value. Loaded only for a file that has any: the schemas of all types cost 3 ms of a start.

import { joinPath } from '../reader/field-path.ts';
import { translated } from '../reader/field-table.ts';
import { fillDefaults } from '../reader/fill-defaults.ts';
import type { SchemaReader } from '../reader/schema-reader.ts';
import { renamed, textOf } from '../reader/yaml-members.ts';
import type { YamlMap, YamlTree } from '../reader/yaml-tree.ts';
import { fieldAliases, typeMeant } from '../resources/aliases.ts';
import { platformsSchema } from '../resources/platform-schema.ts';
import type { Platforms } from '../resources/resource-context.ts';
import { platformOf, type TypeName, triggerTypes } from '../resources/triggers/trigger-types.ts';

/** By the words of the platforms; what was not written is undefined. */
export function readPlatforms(reader: SchemaReader, tree: YamlTree): Platforms {
  const meant = tree.kind === 'map' ? platformsMeant(reader, tree) : tree;
  const written = reader.read(platformsSchema, meant, 'platforms') as Platforms | undefined;
  return fillDefaults(platformsSchema, written ?? {});
}

function platformsMeant(reader: SchemaReader, platforms: YamlMap): YamlMap {
  const named = renamed(reader, platforms, 'platforms', (word) => {
    const type = typeMeant(word);
    return type === undefined ? undefined : platformOf(type);
  });
  const pairs = named.pairs.map((pair) => {
    const type = typeMeant(pair.key);
    return type === undefined ? pair : { ...pair, value: settingsMeant(reader, pair.value, type) };
  });
  return { ...named, pairs };
}

function settingsMeant(reader: SchemaReader, settings: YamlTree, type: TypeName): YamlTree {
  const path = joinPath('platforms', platformOf(type));
  const aliases = Object.entries(fieldAliases[type] ?? {});
  const own = Object.keys(triggerTypes[type].config.properties).map((field) => [field, field] as const);
  const variables = [...own, ...aliases].map(
    ([name, to]) => [`${name}_env`, { to, value: asReference }] as const,
  );
  const meant = translated(reader, settings, path, Object.fromEntries([...variables, ...aliases]));
  // The variable of each field would be suggested for a field that only triggers have.
  reader.alsoKnown(
    path,
    aliases.flatMap(([name]) => [name, `${name}_env`]),
  );
  return meant;
}

/** Converts `token_env: NAME` to `token: ${NAME}`. */
function asReference(value: YamlTree, reader: SchemaReader, at: string): YamlTree {
  const name = textOf(value);
  if (name !== undefined && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    return { ...value, value: `\${${name}}` } as YamlTree;
  reader.place(at, value.offset, value.offset);
  reader.report(at, 'expected the name of a variable of the environment');
  return value;
}
