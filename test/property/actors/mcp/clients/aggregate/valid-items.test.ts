// Items of merged lists are valid for the schemas of SDK v1 (clients of the legacy era, MCP up to 2025-11-25)
// and SDK v2 (clients of both eras, also MCP 2026-07-28), even if servers list invalid items. Valid items
// retain their bytes.

import { specTypeSchemas } from '@modelcontextprotocol/client';
import {
  PromptSchema,
  ResourceSchema,
  ResourceTemplateSchema,
  ToolSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Aggregate } from '../../../../../../actors/mcp/clients/aggregate/aggregate.ts';
import { JsonScanner } from '../../../../../../actors/mcp/jsonrpc/json-scanner.ts';
import {
  everyListKind,
  itemJson,
  type ListItem,
  type ListKind,
  listKinds,
  readItem,
} from '../../../../../../actors/mcp/servers/lists/lists.ts';
import { withoutTaskSupport } from '../../../../../../actors/mcp/servers/lists/task-support.ts';
import type { ManagedServer } from '../../../../../../actors/mcp/servers/managed-server.ts';
import { runs } from '../../../../../fixtures/property-runs.ts';
import { ListedServer } from '../../../../../fixtures/server/listed-server.ts';
import { fullItems, mutated } from '../../../../../fixtures/server/mutated-items.ts';

const schemasOfSdk1 = {
  tools: ToolSchema,
  prompts: PromptSchema,
  resources: ResourceSchema,
  resourceTemplates: ResourceTemplateSchema,
};
const schemasOfSdk2 = {
  tools: specTypeSchemas.Tool,
  prompts: specTypeSchemas.Prompt,
  resources: specTypeSchemas.Resource,
  resourceTemplates: specTypeSchemas.ResourceTemplate,
};

/** Returns the error, if any, with which SDK v1 rejects a tool list because of this output schema. */
function compileErrors(schema: unknown): readonly unknown[] {
  if (schema === undefined) return [];
  try {
    new AjvJsonSchemaValidator().getValidator(schema as object);
    return [];
  } catch (error) {
    return [error];
  }
}

/** Returns the validation errors of clients of this era. */
function validationErrors(kind: ListKind, era: 'legacy' | 'modern', item: unknown): readonly unknown[] {
  const found: unknown[] = [];
  if (era === 'legacy') {
    found.push(...(schemasOfSdk1[kind].safeParse(item).error?.issues ?? []));
    found.push(...compileErrors((item as { outputSchema?: unknown } | null)?.outputSchema));
  }
  const result = schemasOfSdk2[kind]['~standard'].validate(item);
  if (result instanceof Promise) throw new Error('the schema is not synchronous');
  return [...found, ...(result.issues ?? [])];
}

/** Returns the items of a server's list as the gateway stores them. Unusable items are omitted. */
const readItems = (kind: ListKind, all: readonly unknown[]) =>
  all.flatMap((item) => readItem(new JsonScanner(Buffer.from(JSON.stringify(item))), kind) ?? []);

/** Returns the JSON of the list with these items, for clients of an era. */
function mergedList(kind: ListKind, era: 'legacy' | 'modern', lists: readonly ListItem[]): string {
  const server = new ListedServer('s', {});
  server.cache.lists[kind] = [...lists];
  const all = [server as unknown as ManagedServer];
  return new Aggregate({ all: () => all, revision: 0 }).list(kind, undefined, era).raw.toString();
}

/** Throws for a lone surrogate in a key or value. */
const parseStrictly = (json: string) =>
  JSON.parse(json, (key, value: unknown) => {
    if (!key.isWellFormed() || (typeof value === 'string' && !value.isWellFormed()))
      throw new Error(`half of a surrogate pair at ${JSON.stringify(key)}`);
    return value;
  }) as Record<string, Record<string, unknown>[]>;

test.each(everyListKind)('%s of a merged list are valid, and no valid item is lost', (kind) => {
  const { key } = listKinds[kind];
  const validItem = (name: string) => ({ ...fullItems[kind], [key]: name });
  fc.assert(
    fc.property(
      fc.array(
        mutated(kind).map((item) => item ?? null),
        { maxLength: 4 },
      ),
      fc.constantFrom('legacy' as const, 'modern' as const),
      (mutatedItems, era) => {
        // Random items between two valid items.
        const before = readItems(kind, [validItem('valid-1')]);
        const after = readItems(kind, [validItem('valid-2')]);
        const json = mergedList(kind, era, [...before, ...readItems(kind, mutatedItems), ...after]);
        for (const item of parseStrictly(json)[kind] ?? [])
          expect(validationErrors(kind, era, item)).toEqual([]);
        for (const item of [...before, ...after]) {
          // Names have the id of the server (`s`) as prefix. URIs are unchanged.
          const name = key === 'name' ? `s__${item.key}` : item.key;
          // Merged lists have no task support (task-support.ts). All other bytes are kept.
          expect(json).toContain(itemJson(withoutTaskSupport(item), name));
        }
      },
    ),
    { numRuns: runs(200) },
  );
});

test.each(everyListKind)('%s that a strict client accepts keep their bytes', (kind) => {
  // Listed name of the item. Resources retain their URIs.
  const name = { tools: 's__n', prompts: 's__n', resources: undefined, resourceTemplates: undefined }[kind];
  fc.assert(
    fc.property(mutated(kind), (item) => {
      const [read] = readItems(kind, [item ?? null]);
      // Only items that keep their name, and that SDK v1 and the official schemas accept.
      fc.pre(read !== undefined && read.key === readItems(kind, [fullItems[kind]])[0]?.key);
      fc.pre(
        validationErrors(kind, 'legacy', item).length === 0 &&
          !hasLoneSurrogates(item) &&
          isSchemaSound(item),
      );
      expect(mergedList(kind, 'legacy', [read])).toBe(
        `{"${kind}":[${itemJson(withoutTaskSupport(read), name)}]}`,
      );
    }),
    { numRuns: runs(200) },
  );
});

function hasLoneSurrogates(item: unknown): boolean {
  try {
    parseStrictly(JSON.stringify(item));
    return false;
  } catch {
    return true;
  }
}

/** The official JSON Schemas check some parts that the SDKs ignore. Returns true if these parts are valid. */
function isSchemaSound(item: unknown): boolean {
  const members = item as Record<string, unknown>;
  const { size = 0, inputSchema = {}, outputSchema, arguments: promptArguments = [] } = members;
  const { $schema = '', properties = {} } = inputSchema as Record<string, unknown>;
  const schemas = [properties, ...Object.values(properties as object)];
  // The gateway checks `outputSchema` more strictly than clients do; another test covers that check.
  const isOutputSchemaUnchanged =
    outputSchema === undefined ||
    JSON.stringify(outputSchema) === JSON.stringify(fullItems.tools.outputSchema);
  return (
    isOutputSchemaUnchanged &&
    Number.isInteger(size) &&
    typeof $schema === 'string' &&
    !schemas.some(Array.isArray) &&
    (promptArguments as { title?: unknown }[]).every(({ title = '' }) => typeof title === 'string')
  );
}
