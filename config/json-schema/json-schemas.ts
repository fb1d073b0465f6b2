// JSON Schemas of the files, for editors. Unlike the TypeBox schemas, fields with a default are optional, and
// `${VAR}` is allowed for every value. The build writes them to dist/schema/.

import {
  desktopEntrySchema,
  remoteKeys,
  serverIdPattern,
  stdioKeys,
  writtenEntrySchema,
} from '../catalog/catalog-schema.ts';
import { gatewaySchema } from '../gateway-file/gateway-schema.ts';
import { agentSchema } from '../resources/agents/agent-schema.ts';
import { fleetFile } from '../resources/fleets/fleet-json-schema.ts';
import { flowFile } from '../resources/flows/flow-json-schema.ts';
import { platformsSchema } from '../resources/platform-schema.ts';
import { triggerFile } from '../resources/triggers/trigger-json-schema.ts';
import { mapValues, toFileSchema } from './json-schema-form.ts';

const dialect = 'https://json-schema.org/draft/2020-12/schema';

const entry = { ...toFileSchema(writtenEntrySchema), oneOf: kinds('native') };
const desktopEntry = {
  ...toFileSchema(desktopEntrySchema),
  oneOf: kinds('client'),
  additionalProperties: true,
};

export const jsonSchemas: Record<'gateway' | 'catalog' | 'trigger' | 'agent' | 'fleet' | 'flow', object> = {
  gateway: { $schema: dialect, title: 'Gateway configuration', ...gatewayFile() },
  catalog: {
    $schema: dialect,
    title: 'Server catalog',
    type: 'object',
    oneOf: [
      { required: ['servers'], propertyNames: { const: 'servers' } },
      {
        required: ['mcpServers'],
        not: { anyOf: [{ required: ['servers'] }, { required: ['context_servers'] }] },
      },
      {
        required: ['context_servers'],
        not: { anyOf: [{ required: ['servers'] }, { required: ['mcpServers'] }] },
      },
    ],
    properties: {
      servers: {
        description: 'Servers by id.',
        type: 'object',
        propertyNames: { pattern: serverIdPattern, not: { enum: ['.', '..'] } },
        additionalProperties: entry,
      },
      mcpServers: {
        description: 'Servers of a desktop client by name; unknown keys are ignored with a warning.',
        type: 'object',
        additionalProperties: desktopEntry,
      },
      context_servers: {
        description: "Servers from Zed's settings, by name.",
        type: 'object',
        additionalProperties: { type: 'object' },
      },
    },
  },
  trigger: { $schema: dialect, title: 'Trigger', ...triggerFile() },
  agent: { $schema: dialect, title: 'Agent', ...toFileSchema(agentSchema) },
  fleet: { $schema: dialect, title: 'Fleet', ...fleetFile() },
  flow: { $schema: dialect, title: 'Flow', ...flowFile() },
};

/** In the resource form (`kind: Daemon`) the listen address has a default, and the catalog is optional. */
function gatewayFile(): object {
  const { required, properties, ...rest } = toFileSchema(gatewaySchema);
  const resourceFormSchema = {
    anyOf: ['spec', 'platforms', 'http_port'].map((key) => ({ required: [key] })),
  };
  // Aliases are too many to list; editors do not check their content.
  const platforms = {
    ...properties?.platforms,
    properties: mapValues(toFileSchema(platformsSchema).properties ?? {}, (platform) => ({
      ...platform,
      // `FIELD_env: NAME` gives a field the value of the variable NAME.
      patternProperties: { _env$: { type: 'string' } },
    })),
    additionalProperties: { type: 'object' },
  };
  return { ...rest, properties: { ...properties, platforms }, if: resourceFormSchema, else: { required } };
}

/** Returns the local and the remote variant. In a native catalog each refuses the fields of the other. */
function kinds(format: 'native' | 'client'): object[] {
  const isStrict = format === 'native';
  const without = (keys: readonly string[]) => Object.fromEntries(keys.map((key) => [key, false]));
  const addresses = isStrict ? ['url'] : ['url', 'httpUrl', 'serverUrl'];
  return [
    {
      required: ['command'],
      properties: {
        ...without(isStrict ? remoteKeys : addresses),
        runtime: { not: { enum: ['http', 'sse'] } },
      },
    },
    {
      ...(isStrict ? { required: ['url'] } : { anyOf: addresses.map((key) => ({ required: [key] })) }),
      properties: { ...without(isStrict ? stdioKeys : ['command']), runtime: { not: { const: 'stdio' } } },
    },
  ];
}
