// Schema of `platforms` in the gateway file (gateway.yaml): settings for all triggers of a platform. These
// are `enabled`, the path of the webhook, and defaults for fields of `spec.config`.

import * as Type from 'typebox';
import type { Platforms } from './resource-context.ts';
import { platformOf, type TypeName, triggerTypes, typeNames } from './triggers/trigger-types.ts';
import { webhookPath } from './triggers/webhook-path.ts';

/** Fields that are set per trigger only. */
const ownFields = ['path', 'insecure_allow_unverified'];

const platformSchema = (type: TypeName) => ({
  type: 'object' as const,
  description: `Defaults for triggers of type ${type}.`,
  properties: {
    enabled: Type.Boolean({ description: 'false disables all triggers of the platform.' }),
    ...(triggerTypes[type].webhook === undefined
      ? {}
      : // The default '/' of the path is removed again.
        { webhook_path: withoutDefault(webhookPath('Path of the webhook.', '/')) }),
    ...Object.fromEntries(
      Object.entries(triggerTypes[type].config.properties)
        .filter(([key]) => !ownFields.includes(key))
        .map(([key, schema]) => [key, withoutDefault(schema)]),
    ),
  },
});

/** Removes a schema's default: it would count as set for the platform, and override the type's default. */
function withoutDefault(schema: Type.TSchema): Type.TSchema {
  const { default: _, ...rest } = schema as Type.TSchema & { readonly default?: unknown };
  return rest;
}

export const platformsSchema = Type.Unsafe<Platforms>({
  type: 'object',
  properties: Object.fromEntries(typeNames.map((type) => [platformOf(type), platformSchema(type)])),
});
