// Tool schemas as model providers receive them: every request satisfies the provider's rules, and arguments
// in the form of the provider are converted back to the arguments of the tool. The invariants TS1 and TS2 are
// in actors/agents/models/tool-schemas/render-schema.ts.

import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { SchemaForm } from '../../../../../actors/agents/models/tool-schemas/limit-texts.ts';
import { toolForm } from '../../../../../actors/agents/models/tool-schemas/tool-form.ts';
import { modelRequest, modelsAt, requestModel } from '../../../../fixtures/models/model-requests.ts';
import { ModelServer } from '../../../../fixtures/models/model-server.ts';
import {
  anthropicRules,
  bedrockRules,
  googleRules,
  mistralRules,
  openaiRules,
  toolsIn,
} from '../../../../fixtures/models/schema-rules.ts';
import { anySchema, argumentsExample } from '../../../../fixtures/models/schemas.ts';
import { runs } from '../../../../fixtures/property-runs.ts';

let server: ModelServer;
beforeAll(async () => {
  server = await ModelServer.start();
});

/** Members of prototypes, such as `constructor`, are no members of arguments. */
const ajv = new Ajv2020({ strict: false, ownProperties: true });

const rulesByType = {
  openai: [openaiRules],
  anthropic: [anthropicRules],
  google: [googleRules],
  'openai-compatible': [openaiRules, anthropicRules, bedrockRules, mistralRules],
} as const;

describe.each(Object.entries(rulesByType))('a request to %s', (type, rules) => {
  it('contains only tool schemas that the provider accepts, for any schemas of servers (TS1, TS2)', async () => {
    const models = modelsAt(server.url);
    await fc.assert(
      fc.asyncProperty(fc.array(anySchema, { minLength: 10, maxLength: 30 }), async (schemas) => {
        server.reset();
        server.reply({ text: 'Yes.' });
        const tools = schemas.map((inputSchema, n) => ({ name: `tool_${n}`, description: '', inputSchema }));
        await requestModel(models, [type], modelRequest({ tools }));
        const sent = toolsIn(server.lastBody);
        expect(sent.flatMap((tool) => rules.flatMap((rule) => rule(tool)))).toEqual([]);
      }),
      { numRuns: runs(12) },
    );
  });
});

it.each<SchemaForm>(['json', 'google'])(
  'tool arguments converted to the %s schema form match this schema, and are converted back unchanged',
  (form) => {
    fc.assert(
      fc.property(argumentsExample, ({ schema, value }) => {
        const tool = toolForm({ name: 'tool', description: '', inputSchema: schema }, form);
        if (tool === undefined) throw new Error('the tool is omitted');
        const args = tool.toModel(value as Readonly<Record<string, unknown>>);
        const matches = ajv.compile(tool.tool.inputSchema);
        expect([matches(args), matches.errors]).toEqual([true, null]);
        expect(tool.fromModel(args)).toEqual(value);
      }),
      { numRuns: runs(400) },
    );
  },
);
