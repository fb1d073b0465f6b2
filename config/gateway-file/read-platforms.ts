// The settings of platforms in the daemon's configuration: words of vendors as well as ours, and `NAME_env: VARIABLE` for
// a value. Loaded only for a file that has any: the schemas of all types cost 3 ms of a start.

import { joinPath } from '../reader/field-path.ts';
import { fillDefaults } from '../reader/fill-defaults.ts';
import type { SchemaReader } from '../reader/schema-reader.ts';
import { renamed, textOf } from '../reader/yaml-members.ts';
import type { YamlMap, YamlPair, YamlTree } from '../reader/yaml-tree.ts';
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
    if (type === undefined || pair.value.kind !== 'map') return pair;
    return { ...pair, value: settingsMeant(reader, pair.value, pair.key, type) };
  });
  return { ...named, pairs };
}

function settingsMeant(reader: SchemaReader, settings: YamlMap, platform: string, type: TypeName): YamlMap {
  const path = joinPath('platforms', platform);
  const fields = triggerTypes[type].config.properties;
  const aliases = fieldAliases[type] ?? {};
  // Their path is that of the platform's own word.
  const others = Object.keys(aliases).flatMap((name) => [name, `${name}_env`]);
  reader.alsoKnown(joinPath('platforms', platformOf(type)), others);
  const meantBy = (key: string) => (Object.hasOwn(aliases, key) ? (aliases[key] ?? key) : key);
  const ofVariable = (key: string) => {
    const field = key.endsWith('_env') ? meantBy(key.slice(0, -'_env'.length)) : undefined;
    return field !== undefined && Object.hasOwn(fields, field) ? field : undefined;
  };
  const pairs = settings.pairs.map((pair) =>
    ofVariable(pair.key) === undefined ? pair : asReference(reader, pair, path),
  );
  return renamed(reader, { ...settings, pairs }, path, (key) => ofVariable(key) ?? meantBy(key));
}

/** `token_env: NAME` is `token: ${NAME}`. */
function asReference(reader: SchemaReader, pair: YamlPair, path: string): YamlPair {
  const name = textOf(pair.value);
  if (name !== undefined && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && pair.value.kind === 'scalar')
    return { ...pair, value: { ...pair.value, value: `\${${name}}` } };
  const at = joinPath(path, pair.key);
  reader.place(at, pair.keyOffset, pair.value.offset);
  reader.report(at, 'expected the name of a variable of the environment');
  return pair;
}
