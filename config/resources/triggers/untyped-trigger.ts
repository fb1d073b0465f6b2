// Triggers that end in a refusal whatever else they say: of a type that is missing or not known. Their other fields are
// checked all the same.

import type { SchemaReader } from '../../reader/schema-reader.ts';
import { suggest } from '../../reader/suggest.ts';
import { memberOf, withMember, withoutMembers } from '../../reader/yaml-members.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';
import { typeSpellings } from '../aliases.ts';
import type { ReadResource } from '../resource-context.ts';
import { triggerSchema, type WrittenTrigger } from './trigger-schema.ts';
import { typeNames } from './trigger-types.ts';

/** Of an unknown type nothing can be said about its config, but all the rest can be read. `word` is the type as written. */
export function readWithoutType(
  reader: SchemaReader,
  root: YamlTree,
  word: string | undefined,
): ReadResource {
  const plain = withMember(root, 'spec', (spec) => withoutMembers(spec, ['type', 'config', 'platform']));
  const schema = triggerSchema([''], { type: 'object' });
  const specSchema = schema.properties.spec;
  const open = { ...schema, properties: { ...schema.properties, spec: { ...specSchema, required: [] } } };
  const written = reader.read(open, plain, '') as WrittenTrigger | undefined;
  const spec = memberOf(root, 'spec');
  const platform = memberOf(spec, 'platform');
  if (platform !== undefined) {
    reader.place('spec.platform', platform.offset, platform.offset);
    reader.report('spec.platform', NO_PLATFORM);
  } else if (spec?.kind === 'map') {
    const type = memberOf(spec, 'type');
    if (type !== undefined) reader.place('spec.type', type.offset, type.offset);
    reader.report('spec.type', typeFault(word));
  }
  return { kind: 'Trigger', name: written?.metadata?.name, reader };
}

const NO_PLATFORM = `is no platform's word; a trigger says spec.type, one of ${typeNames.join(', ')}, and spec.config. Only the second form of BusinessMessenger has spec.platform, as text, beside spec.webhook and spec.routing`;

function typeFault(word: string | undefined): string {
  const names = typeNames.join(', ');
  if (word === undefined) return `required, but missing; expected one of ${names}`;
  const near = suggest(word, typeSpellings);
  return near === undefined
    ? `there is no type of that name; types are ${names}`
    : `there is no type of that name; did you mean ${near}?`;
}
