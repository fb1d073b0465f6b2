// JSON Schemas of the files, for editors: what an operator may write. They differ from the TypeBox schemas in
// that a field with a default may be left out, and that `${VAR}` may stand where a value is expected.
// The build writes them to dist/schema/.

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
import { mapValues, writable } from './json-schema-form.ts';

const dialect = 'https://json-schema.org/draft/2020-12/schema';

const entry = { ...writable(writtenEntrySchema), oneOf: kinds(true) };
const desktopEntry = { ...writable(desktopEntrySchema), oneOf: kinds(false), additionalProperties: true };

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
        description: "A desktop client's servers by name; unknown keys are ignored with a warning.",
        type: 'object',
        additionalProperties: desktopEntry,
      },
      context_servers: {
        description: "Servers as Zed's settings have them, by name.",
        type: 'object',
        additionalProperties: { type: 'object' },
      },
    },
  },
  trigger: { $schema: dialect, title: 'Trigger', ...triggerFile() },
  agent: { $schema: dialect, title: 'Agent', ...writable(agentSchema) },
  fleet: { $schema: dialect, title: 'Fleet', ...fleetFile() },
  flow: { $schema: dialect, title: 'Flow', ...flowFile() },
};

/** A file in the form of a resource has a default for where to listen, and may be without a catalog. */
function gatewayFile(): object {
  const { required, properties, ...rest } = writable(gatewaySchema);
  const isDaemonForm = { anyOf: ['spec', 'platforms', 'http_port'].map((key) => ({ required: [key] })) };
  // Further spellings are many; whoever uses one does without the editor's help.
  const platforms = {
    ...properties?.platforms,
    properties: mapValues(writable(platformsSchema).properties ?? {}, (platform) => ({
      ...platform,
      patternProperties: { _env$: { type: 'string' } },
    })),
    additionalProperties: { type: 'object' },
  };
  return { ...rest, properties: { ...properties, platforms }, if: isDaemonForm, else: { required } };
}

/** Local or remote; in our own dialect the other kind's fields are refused. */
function kinds(isStrict: boolean): object[] {
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
