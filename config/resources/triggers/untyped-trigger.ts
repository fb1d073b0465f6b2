// Reads triggers with a missing or unknown type. Such a trigger is always refused, but its other fields are
// checked too, so that all problems are reported together.

import type { SchemaReader } from '../../reader/schema-reader.ts';
import { suggest } from '../../reader/suggest.ts';
import { memberOf, withMember, withoutMembers } from '../../reader/yaml-members.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';
import { allTypeNames } from '../aliases.ts';
import type { ReadResource } from '../resource-context.ts';
import { triggerSchema, type WrittenTrigger } from './trigger-schema.ts';
import { typeNames } from './trigger-types.ts';

/** Checks everything except the config, whose schema is unknown. `word` is the type in the file, if any. */
export function readWithoutType(
  reader: SchemaReader,
  root: YamlTree,
  word: string | undefined,
): ReadResource {
  const rootWithoutConfig = withMember(root, 'spec', (spec) =>
    withoutMembers(spec, ['type', 'config', 'platform']),
  );
  // The type and the config are removed above, so their schemas are placeholders.
  const schema = triggerSchema([''], { type: 'object' });
  const specSchema = schema.properties.spec;
  const schemaWithoutRequired = {
    ...schema,
    properties: { ...schema.properties, spec: { ...specSchema, required: [] } },
  };
  const written = reader.read(schemaWithoutRequired, rootWithoutConfig, '') as WrittenTrigger | undefined;
  const spec = memberOf(root, 'spec');
  const platform = memberOf(spec, 'platform');
  if (platform !== undefined) {
    reader.recordPosition('spec.platform', platform.offset, platform.offset);
    reader.report('spec.platform', NO_PLATFORM);
  } else if (spec?.kind === 'map') {
    const type = memberOf(spec, 'type');
    if (type !== undefined) reader.recordPosition('spec.type', type.offset, type.offset);
    reader.report('spec.type', typeFault(word));
  }
  return { kind: 'Trigger', name: written?.metadata?.name, reader };
}

const NO_PLATFORM = `is not supported; a trigger needs spec.type, one of ${typeNames.join(', ')}, and spec.config. Only the alternative form of BusinessMessenger has spec.platform, as text, with spec.webhook and spec.routing`;

function typeFault(word: string | undefined): string {
  const names = typeNames.join(', ');
  if (word === undefined) return `required, but missing; expected one of ${names}`;
  const near = suggest(word, allTypeNames);
  return near === undefined
    ? `unknown type; expected one of ${names}`
    : `unknown type; did you mean ${near}?`;
}
