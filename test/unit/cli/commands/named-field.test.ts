// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a reference is what is told.
// `explain`: each field of each published schema, and words that are none.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsonSchemas } from '../../../../config/json-schema/json-schemas.ts';
import { dottedPath, kinds, schemaOf } from '../../../../config/json-schema/schema-fields.ts';
import { UsageError } from '../../../../src/cli/api/target-options.ts';
import { fieldNamed, fieldsBeginning } from '../../../../src/cli/commands/named-field.ts';
import { fieldPage, meaningOf } from '../../../../src/cli/views/field-views.ts';
import { plain } from '../../../../src/terminal/paint.ts';

type Json = Readonly<Record<string, unknown>>;

/** The paths of all `properties` of a schema, wherever they stand, but where they only exclude or ask. */
function* paths(
  schema: unknown,
  root: Json,
  path: string,
  within: readonly string[] = [],
): Generator<string> {
  if (typeof schema !== 'object' || schema === null) return;
  const { $ref, $defs: _, properties, if: __, not: ___, oneOf: ____, ...rest } = schema as Json;
  if (typeof $ref === 'string') {
    if (within.includes($ref)) return;
    const target = (root.$defs as Json)[$ref.split('/').at(-1) ?? ''];
    yield* paths(target, root, path, [...within, $ref]);
  }
  for (const [name, member] of Object.entries((properties ?? {}) as Json)) {
    if (typeof member !== 'object') continue;
    yield `${path}.${name}`;
    yield* paths(member, root, `${path}.${name}`, within);
  }
  for (const [keyword, part] of Object.entries(rest)) {
    if (/^(?:items|then|else|additionalProperties)$/.test(keyword)) yield* paths(part, root, path, within);
    if (/^(?:anyOf|allOf|patternProperties)$/.test(keyword))
      for (const each of Object.values(part as Json)) yield* paths(each, root, path, within);
  }
}

const said = (words: string): string => {
  try {
    return fieldPage(fieldNamed(words), plain, undefined).join('\n');
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return error.message;
  }
};

describe('explain', () => {
  test.each(kinds)('knows every field that the schema of a %s has, and what each is for', (kind) => {
    const root = jsonSchemas[kind] as Json;
    const all = [...new Set(paths(root, root, kind))];
    expect(all.length).toBeGreaterThan(50);
    for (const path of all) {
      const field = fieldNamed(path);
      expect(dottedPath(field)).toBe(path);
      expect(fieldPage(field, plain, 80)[0]).toBe(path);
    }
    expect(all.filter((path) => meaningOf(fieldNamed(path)) === '')).toEqual([]);
    // What --json prints of each refers to nothing that is not in it.
    for (const path of all) {
      const part = schemaOf(fieldNamed(path));
      const references = [...JSON.stringify(part).matchAll(/"#\/\$defs\/(\w+)"/g)].map(([, name]) => name);
      expect([path, Object.keys(part.$defs ?? {})]).toEqual([path, expect.arrayContaining(references)]);
    }
  });

  test('tells type, limits and default of a field, and the fields below one', () => {
    expect(said('gateway.limits.body_bytes')).toBe(
      'gateway.limits.body_bytes\n  Largest request body.\n  a whole number from 1024 to 268435456; default 16777216',
    );
    expect(said('gateway.api_key')).toContain('A secret: write it as ${NAME}');
    expect(said('catalog.servers.restart')).toMatch(
      /\nintensity +a whole number +5 +More failures than this/,
    );
    expect(said('catalog.servers["my server"].args[0]')).toMatch(
      /^catalog\.servers\.args\n.*\n {2}a list of text/,
    );
    expect(said('catalog.servers.files.command')).toMatch(/^catalog\.servers\.command\n/);
    expect(said('Triggers.spec.config.Schedule')).toMatch(/\ncron +text +required/);
    expect(said('trigger.spec.config')).toContain('for Schedule: Instants by cron.');
    expect(said('AgentFlow.spec.nodes.id')).toMatch(/^flow\.spec\.nodes\.id\n/);
  });

  test('says of a slip what was meant, and of a word that stands elsewhere where', () => {
    expect(said('gateway.limit.body_bites')).toBe(
      'gateway has no such field; did you mean gateway.limits.body_bytes?',
    );
    expect(said('gatway')).toBe('there is no such kind; did you mean gateway?');
    expect(said('body_bytes')).toBe('a field is named from its kind on: gateway.limits.body_bytes');
    expect(said('gateway.port')).toMatch(
      /^gateway has no such field; elsewhere there is .*gateway\.spec\.server\.port/,
    );
    expect(said('gateway.limits.zebra')).toMatch(
      /^gateway\.limits has no such field; there are body_bytes, /,
    );
    expect(said('zebra')).toBe(
      'there is no such kind; there are gateway, catalog, trigger, agent, fleet, flow',
    );
  });

  test('has an answer for any words, and completes any', () => {
    const word = fc.oneof(
      fc.string(),
      fc.constantFrom(...kinds, '.', '..', 'spec', 'config', 'Loop', 'nodes', '__proto__', 'constructor'),
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 6 }), (words) => {
        said(words.join('.'));
        fieldsBeginning(words.join('.'));
      }),
    );
  });

  test('completes a field by field, and the types where a field differs by type', () => {
    const next = (words: string) => fieldsBeginning(words).map(([path]) => path);
    expect(next('')).toEqual([...kinds]);
    expect(next('gateway.limits.s')).toEqual([
      'gateway.limits.sessions',
      'gateway.limits.session_idle_seconds',
    ]);
    expect(next('gateway.lim').slice(0, 2)).toEqual(['gateway.limits', 'gateway.limits.body_bytes']);
    expect(next('trigger.spec.config.Sch')).toContain('trigger.spec.config.Schedule.cron');
    expect(next('nonsense.x')).toEqual([]);
  });
});
