// The JSON Schema of a trigger, for editors: what `spec.config` may hold follows from `spec.type`.

import * as Type from 'typebox';
import { writable } from '../../json-schema/json-schema-form.ts';
import type { SchemaNode } from '../../reader/schema-words.ts';
import { fieldAliases, typeMeant, typeSpellings } from '../aliases.ts';
import { messengerFormSchema, triggerSchema } from './trigger-schema.ts';
import { type TypeName, triggerTypes, typeNames } from './trigger-types.ts';

/** Without its dialect and title. */
export function triggerFile(): object {
  const { properties = {}, ...rest } = writable(triggerSchema(typeSpellings, Type.Object({})));
  const messenger = writable(messengerFormSchema).properties?.spec;
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
      if: { properties: { type: { enum: spellingsOf(type) } }, required: ['type'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
      then: { properties: { config: configOf(type) } },
    })),
  };
}

function spellingsOf(type: TypeName): string[] {
  return typeSpellings.filter((word) => typeMeant(word) === type);
}

/** With the other spellings of its fields; one that has any may be left out. */
function configOf(type: TypeName): object {
  const { properties = {}, required = [], ...rest } = writable(triggerTypes[type].config);
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
