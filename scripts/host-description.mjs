// node scripts/host-description.mjs [VERSION]
//
// Writes test/fixtures/rest-host/description.json from the OpenAPI description of the repository host, which
// the npm package @octokit/openapi contains. Only operations that the repository-host tool server calls are
// included. The replay host of the tests responds with the examples and validates requests against the
// schemas.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const PACKAGE = '@octokit/openapi';
const root = resolve(import.meta.dirname, '..');
const fixture = join(root, 'test/fixtures/rest-host/description.json');
const server = join(root, 'tool-servers/repository-host');
/** Members irrelevant for the tests. `format` is omitted because examples contain URL templates. */
const OMITTED_KEYS = /^(description|title|summary|examples?|deprecated|externalDocs|format|x-.*)$/;

const folder = mkdtempSync(join(tmpdir(), 'host-description-'));
try {
  const wanted = `${PACKAGE}@${process.argv[2] ?? JSON.parse(readFileSync(fixture, 'utf8')).version}`;
  const { status } = spawnSync('npm', ['install', '--prefix', folder, '--no-save', '--no-audit', wanted], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) throw new Error(`npm install ${wanted} ended with ${status}`);
  const installed = join(folder, 'node_modules', PACKAGE);
  const { version, license } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  const published = JSON.parse(readFileSync(join(installed, 'generated/api.github.com.json'), 'utf8'));
  const { operations, schemas } = trim(published, usedOperations());
  const head = { source: `npm package ${PACKAGE}`, version, license };
  // One member per line, so that a diff shows which operations changed.
  const lines = (members) =>
    Object.entries(members)
      .map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`)
      .join(',\n');
  writeFileSync(
    fixture,
    `{\n${lines(head)},\n"operations": {\n${lines(operations)}\n},\n"schemas": {\n${lines(schemas)}\n}\n}\n`,
  );
  console.log(`${Object.keys(operations).length} operations, ${Object.keys(schemas).length} schemas`);
} finally {
  rmSync(folder, { recursive: true });
}

/** Returns the operations in the code of the tool server, such as `GET /user`. */
function usedOperations() {
  const files = readdirSync(server, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  const code = files.map((name) => readFileSync(join(server, name), 'utf8')).join('\n');
  return [...new Set(code.match(/(?<=')(GET|POST|PUT|PATCH|DELETE) \/[^']*[^/'](?=')/g))].sort();
}

/** Returns the named operations, and the schemas that they refer to. */
function trim({ paths, components }, names) {
  const schemas = {};
  const operations = Object.fromEntries(
    names.map((name) => {
      const [method, path] = name.split(' ');
      const operation = paths[path]?.[method.toLowerCase()];
      if (operation === undefined) throw new Error(`the published description has no operation ${name}`);
      const parameters = operation.parameters.map(follow).map(({ name, in: place, required, schema }) => ({
        name,
        in: place,
        ...(required && { required }),
        schema: schemaOf(schema),
      }));
      const body = operation.requestBody?.content['application/json']?.schema;
      const answers = {};
      for (const [status, response] of Object.entries(operation.responses)) {
        const content = follow(response).content?.['application/json'];
        const values = Object.entries(content?.examples ?? {}).map(([key, each]) => [
          key,
          exampleValue(each),
        ]);
        answers[status] = {
          ...(content?.schema && { schema: schemaOf(content.schema) }),
          ...(status.startsWith('2') && values.length > 0 && { examples: Object.fromEntries(values) }),
        };
      }
      return [name, { parameters, ...(body && { body: schemaOf(body) }), answers }];
    }),
  );
  return { operations, schemas: Object.fromEntries(Object.entries(schemas).sort()) };

  /** Returns the object, or the component that it refers to. */
  function follow(object) {
    const [, kind, name] = /^#\/components\/(\w+)\/(.+)$/.exec(object.$ref ?? '') ?? [];
    return kind === undefined ? object : follow(components[kind][name]);
  }

  function exampleValue(example) {
    const { value } = follow(example);
    return value?.$ref === undefined ? value : exampleValue(value);
  }

  /** Converts OpenAPI 3.0 to JSON Schema: `nullable` becomes a union with null. */
  function schemaOf(schema) {
    if (Array.isArray(schema)) return schema.map(schemaOf);
    if (typeof schema !== 'object' || schema === null) return schema;
    const schemaName = /^#\/components\/schemas\/(.+)$/.exec(schema.$ref ?? '')?.[1];
    if (schemaName !== undefined) {
      if (!(schemaName in schemas)) {
        // Reserves the name first, because a schema may refer to itself.
        schemas[schemaName] = undefined;
        schemas[schemaName] = schemaOf(components.schemas[schemaName]);
      }
      return { $ref: `#/schemas/${schemaName}` };
    }
    const plain = {};
    for (const [key, value] of Object.entries(schema)) {
      if (key === 'properties')
        plain[key] = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, schemaOf(each)]));
      else if (key !== 'nullable' && !OMITTED_KEYS.test(key)) plain[key] = schemaOf(value);
    }
    return schema.nullable ? { anyOf: [plain, { type: 'null' }] } : plain;
  }
}
