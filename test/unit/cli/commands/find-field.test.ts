// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
// The command `explain`, for all fields of all published schemas, and for unknown words.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsonSchemas } from '../../../../config/json-schema/json-schemas.ts';
import {
  dottedPath,
  kinds,
  type SchemaField,
  schemaOf,
} from '../../../../config/json-schema/schema-fields.ts';
import { CommandLineError } from '../../../../src/cli/api/target-options.ts';
import { completeFieldPath, findNamedFields } from '../../../../src/cli/commands/find-field.ts';
import { fieldPage, meaningOf } from '../../../../src/cli/views/fields.ts';
import { plain } from '../../../../src/terminal/paint.ts';

type Json = Readonly<Record<string, unknown>>;

/** Yields the paths of all `properties` of a schema, except in conditions (`if`, `not`, `oneOf`). */
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

function onlyField(path: string): SchemaField {
  const [field, ...others] = findNamedFields(path);
  if (field === undefined || others.length > 0) throw new Error(`${path} names ${others.length + 1} fields`);
  return field;
}

const hintFor = (text: string): string => {
  try {
    return findNamedFields(text)
      .map((field) => fieldPage(field, plain, undefined).join('\n'))
      .join('\n\n');
  } catch (error) {
    if (!(error instanceof CommandLineError)) throw error;
    return error.message;
  }
};

describe('explain', () => {
  test.each(kinds)('describes every field of the schema of a %s', (kind) => {
    const root = jsonSchemas[kind] as Json;
    const all = [...new Set(paths(root, root, kind))];
    expect(all.length).toBeGreaterThan(50);
    for (const path of all) {
      const field = onlyField(path);
      expect(dottedPath(field)).toBe(path);
      expect(fieldPage(field, plain, 80)[0]).toBe(path);
    }
    expect(all.filter((path) => meaningOf(onlyField(path)) === '')).toEqual([]);
    // The output of --json is self-contained for each field.
    for (const path of all) {
      const part = schemaOf(onlyField(path));
      const references = [...JSON.stringify(part).matchAll(/"#\/\$defs\/(\w+)"/g)].map(([, name]) => name);
      expect([path, Object.keys(part.$defs ?? {})]).toEqual([path, expect.arrayContaining(references)]);
    }
  });

  test('shows type, limits and default of a field, and its subfields', () => {
    expect(hintFor('gateway.limits.body_bytes')).toBe(
      'gateway.limits.body_bytes\n  Maximum size of a request body.\n  a whole number from 1024 to 268435456; default 16777216',
    );
    expect(hintFor('gateway.api_key')).toContain('A secret: write it as a variable, ${NAME}');
    expect(hintFor('catalog.servers.restart')).toMatch(
      /\nintensity +a whole number +5 +Maximum failures within/,
    );
    expect(hintFor('catalog.servers["my server"].args[0]')).toMatch(
      /^catalog\.servers\.args\n.*\n {2}a list of text/,
    );
    expect(hintFor('catalog.servers.files.command')).toMatch(/^catalog\.servers\.command\n/);
    expect(hintFor('Triggers.spec.config.Schedule')).toMatch(/\ncron +text +required/);
    expect(hintFor('trigger.spec.config')).toContain('for Schedule: Schedule with a cron expression.');
    expect(hintFor('AgentFlow.spec.nodes.id')).toMatch(/^flow\.spec\.nodes\.id\n/);
  });

  test('suggests the intended field for a typo, and the full path of a field elsewhere', () => {
    expect(hintFor('gateway.limit.body_bites')).toBe(
      'gateway has no such field; did you mean gateway.limits.body_bytes?',
    );
    expect(hintFor('gatway')).toBe('there is no such kind; did you mean gateway?');
    expect(hintFor('body_bytes')).toBe('start the path with its kind: gateway.limits.body_bytes');
    expect(hintFor('gateway.port')).toMatch(
      /^gateway has no such field; other fields of that name: .*gateway\.spec\.server\.port/,
    );
    expect(hintFor('gateway.limits.zebra')).toMatch(
      /^gateway\.limits has no such field; there are body_bytes, /,
    );
    expect(hintFor('zebra')).toBe(
      'there is no such kind; there are gateway, catalog, trigger, agent, fleet, flow',
    );
  });

  test('gives a hint and completions for any field path without an exception', () => {
    const token = fc.oneof(
      fc.string(),
      fc.constantFrom(...kinds, '.', '..', 'spec', 'config', 'Loop', 'nodes', '__proto__', 'constructor'),
    );
    fc.assert(
      fc.property(fc.array(token, { maxLength: 6 }), (text) => {
        hintFor(text.join('.'));
        completeFieldPath(text.join('.'));
      }),
    );
  });

  test('completes field paths one field at a time, with the type if a field depends on it', () => {
    const next = (text: string) => completeFieldPath(text).map(([path]) => path);
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
