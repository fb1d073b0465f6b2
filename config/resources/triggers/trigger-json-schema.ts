// JSON Schema of trigger files for editors: `spec.type` determines `spec.config`. A file with `spec.platform`
// has the alternative form of BusinessMessenger.

import * as Type from 'typebox';
import { toFileSchema } from '../../json-schema/json-schema-form.ts';
import type { SchemaNode } from '../../reader/schema-descriptions.ts';
import { allTypeNames, fieldAliases, resolveType } from '../aliases.ts';
import { messengerFormSchema, triggerSchema } from './trigger-schema.ts';
import { type TypeName, triggerTypes, typeNames } from './trigger-types.ts';

/** Returns the schema without `$schema` and `title`. */
export function triggerFile(): object {
  const { properties = {}, ...rest } = toFileSchema(triggerSchema(allTypeNames, Type.Object({})));
  const messenger = toFileSchema(messengerFormSchema).properties?.spec;
  return {
    ...rest,
    properties: { ...properties, spec: { description: properties.spec?.description } },
    if: { properties: { spec: { required: ['platform'] } }, required: ['spec'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
    then: { properties: { spec: messenger } },
    else: { properties: { spec: specOf(properties.spec) } },
  };
}

function specOf(spec: SchemaNode | undefined): object {
  return {
    ...spec,
    properties: { ...spec?.properties, config: { type: 'object', description: 'Settings of the type.' } },
    allOf: typeNames.map((type) => ({
      if: { properties: { type: { enum: namesOf(type) } }, required: ['type'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
      then: { properties: { config: configOf(type) } },
    })),
  };
}

function namesOf(type: TypeName): string[] {
  return allTypeNames.filter((word) => resolveType(word) === type);
}

/** Returns the schema with aliases of fields; fields with an alias are optional. */
function configOf(type: TypeName): object {
  const { properties = {}, required = [], ...rest } = toFileSchema(triggerTypes[type].config);
  const aliases = Object.entries(fieldAliases[type] ?? {});
  const others = aliases.flatMap(([alias, field]) => {
    const schema = properties[field];
    return schema === undefined ? [] : [[alias, schema] as const];
  });
  const stillRequired = required.filter((key) => !aliases.some(([, field]) => field === key));
  return {
    ...rest,
    ...(stillRequired.length > 0 ? { required: stillRequired } : {}),
    properties: { ...properties, ...Object.fromEntries(others) },
  };
}
