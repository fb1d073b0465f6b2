// Generates parts of the documents:
//
// - tables of fields (configuration, catalog, triggers, agents, fleets, flows) from the JSON Schemas of a
//   build;
// - diagrams in docs/state-charts.md from the state machines;
// - docs/log-lines.md and docs/errors.md from the source.
//
// A part is between two markers, such as `<!-- fields: NAME -->` and `<!-- end of fields -->`. `--check`
// changes nothing, and exits with 1 if a page is out of date. Other options select other files and folders,
// for tests.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { errorCodes } from './error-codes.mjs';
import { logCalls } from './log-calls.mjs';

const root = resolve(import.meta.dirname, '..');
const { values } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    schemas: { type: 'string', default: join(root, 'dist', 'schema') },
    /** Folder with NAME.mmd files. By default the built program prints the diagrams. */
    diagrams: { type: 'string' },
    configuration: { type: 'string', default: join(root, 'docs', 'configuration.md') },
    catalog: { type: 'string', default: join(root, 'docs', 'catalog.md') },
    triggers: { type: 'string', default: join(root, 'docs', 'triggers.md') },
    agents: { type: 'string', default: join(root, 'docs', 'agents.md') },
    fleets: { type: 'string', default: join(root, 'docs', 'fleets.md') },
    flows: { type: 'string', default: join(root, 'docs', 'flows.md') },
    /** Folder with a page NAME.md for each trigger type. */
    sources: { type: 'string', default: join(root, 'docs', 'sources') },
    charts: { type: 'string', default: join(root, 'docs', 'state-charts.md') },
    log: { type: 'string', default: join(root, 'docs', 'log-lines.md') },
    errors: { type: 'string', default: join(root, 'docs', 'errors.md') },
    /** Root of the source with the error classes and log calls. */
    source: { type: 'string', default: root },
  },
});

/** Placeholders for user-defined keys in mappings. */
const keyPlaceholders = { profiles: 'NAME', providers: 'NAME', prices: '"PROVIDER:MODEL"' };

const gateway = readSchema('gateway');
const catalog = readSchema('catalog').properties;
const serverSchema = catalog.servers.additionalProperties;
const desktopSchema = catalog.mcpServers.additionalProperties;
// The variants of a catalog entry. In the schema, each variant forbids the fields of the other.
const [local, remote] = serverSchema.oneOf;
const forbiddenKeys = (kind) => Object.keys(kind.properties).filter((key) => kind.properties[key] === false);
const forRemote = forbiddenKeys(local);
const forLocal = forbiddenKeys(remote);

const gatewayTables = { gateway: table({ ...gateway, required: gateway.else.required }) };
const catalogTables = {
  local: table({ ...pick(serverSchema, (key) => forLocal.includes(key)), required: local.required }),
  remote: table({ ...pick(serverSchema, (key) => forRemote.includes(key)), required: remote.required }),
  server: table(pick(serverSchema, (key) => !forLocal.includes(key) && !forRemote.includes(key))),
  desktop: table(pick(desktopSchema, (key) => serverSchema.properties[key] === undefined)),
};

const trigger = readSchema('trigger');
const triggerSpec = trigger.else.properties.spec;
const command = Object.values(triggerSpec.properties.commands.patternProperties)[0];
// The first value of each enum is the type name, followed by aliases.
const typeTables = Object.fromEntries(
  triggerSpec.allOf.map(({ if: { properties }, then }) => [
    properties.type.enum[0].toLowerCase(),
    table(then.properties.config),
  ]),
);
const sources = readdirSync(values.sources)
  .filter((name) => name.endsWith('.md'))
  .map((name) => name.slice(0, -'.md'.length));
const triggerTables = {
  trigger: table({
    ...trigger,
    properties: { ...trigger.properties, spec: pick(triggerSpec, (key) => key !== 'config') },
  }),
  command: table(command),
  parameter: table(command.properties.parameters.items),
  ...Object.fromEntries(Object.entries(typeTables).filter(([type]) => !sources.includes(type))),
};

const fleet = readSchema('fleet');
const flow = readSchema('flow');
const node = flow.$defs.nodes.items;
// Fields that have a separate table or page.
const separateKeys = ['spec', 'nodes', 'connections'];
const nodeTables = Object.fromEntries(
  node.allOf.flatMap(({ if: { properties }, then }) => {
    const config = pick(then.properties.config, (key) => !separateKeys.includes(key));
    if (Object.keys(config.properties).length === 0) return [];
    return [[properties.type.enum[0].toLowerCase(), table(config)]];
  }),
);
const fleetTables = {
  fleet: table(fleet),
  member: table(pick(fleet.properties.spec.properties.agents.items, (key) => key !== 'spec')),
};
const flowTables = {
  flow: table({
    ...flow,
    properties: {
      ...flow.properties,
      spec: pick(flow.properties.spec, (key) => !separateKeys.includes(key)),
    },
  }),
  node: table({
    ...node,
    properties: { ...node.properties, type: { ...node.properties.type, enum: nodeTypes(node) } },
  }),
  connection: table(flow.$defs.connections.items),
  ...nodeTables,
};

const errors = errorCodes(values.source);

const pages = [
  { file: values.configuration, kind: 'fields', parts: gatewayTables },
  { file: values.catalog, kind: 'fields', parts: catalogTables },
  { file: values.triggers, kind: 'fields', parts: triggerTables },
  { file: values.agents, kind: 'fields', parts: { agent: table(readSchema('agent')) } },
  { file: values.fleets, kind: 'fields', parts: fleetTables },
  { file: values.flows, kind: 'fields', parts: flowTables },
  ...sources.map((type) => ({
    file: join(values.sources, `${type}.md`),
    kind: 'fields',
    parts: { [type]: typeTables[type] },
  })),
  { file: values.charts, kind: 'machine', parts: diagrams() },
  { file: values.log, kind: 'messages', parts: { log: logTable(readFileSync(values.log, 'utf8')) } },
  { file: values.errors, kind: 'errors', parts: errorTables(readFileSync(values.errors, 'utf8')) },
  { file: values.errors, kind: 'numbers', parts: { errors: numberTable() } },
];
let isStale = false;
for (const { file, kind, parts } of pages) {
  const before = readFileSync(file, 'utf8');
  const after = rewriteParts(before, kind, parts);
  if (after === before) continue;
  if (values.check) {
    console.error(`${relative(root, file)} is out of date; run node scripts/docs.mjs after a build`);
    isStale = true;
  } else writeFileSync(file, after);
}
process.exit(isStale ? 1 : 0);

/** Returns the page with new texts between the markers of this kind. */
function rewriteParts(page, kind, parts) {
  const missing = new Set(Object.keys(parts));
  const marked = new RegExp(`(<!-- ${kind}: (\\w+) -->\n)[\\s\\S]*?(<!-- end of ${kind} -->)`, 'g');
  const text = page.replace(marked, (_, start, name, end) => {
    if (!missing.delete(name)) throw new Error(`unknown part "${name}" in the page`);
    return `${start}\n${parts[name]}\n${end}`;
  });
  if (missing.size > 0) throw new Error(`the page has no marker for ${kind} ${[...missing].join(', ')}`);
  return text;
}

/**
 * Returns the table of log messages. The last column is written by hand in the page, and copied from there.
 */
function logTable(page) {
  const meanings = new Map(
    [...page.matchAll(/^\| [\w, ]+ \| `(.*?)` \| .*? \| (.+) \|$/gm)].map(([, message, meaning]) => [
      message,
      meaning,
    ]),
  );
  const lines = [...logCalls(values.source)].map(([message, { levels, fields }]) => {
    const meaning = meanings.get(message);
    if (meaning === undefined)
      throw new Error(`docs/log-lines.md: add a row with the meaning: | x | \`${message}\` | x | MEANING |`);
    const names = [...fields].map((field) => (field === '…' ? field : `\`${field}\``)).join(', ');
    return `| ${[...levels].join(', ')} | \`${message}\` | ${names || '–'} | ${meaning} |\n`;
  });
  return ['| Level | Message | Fields | Meaning and remedy |\n', '|---|---|---|---|\n', ...lines].join('');
}

/** Returns the tables of error codes. The page decides which table contains a code. */
function errorTables(page) {
  const missing = new Set(errors.keys());
  const parts = [...page.matchAll(/^<!-- errors: (\w+) -->\n([\s\S]*?)^<!-- end of errors -->$/gm)].map(
    ([, name, rows]) => {
      const codes = [...rows.matchAll(/^\| `(\w+)` \|/gm)].map(([, code]) => code).sort();
      for (const code of codes)
        if (!missing.delete(code))
          throw new Error(
            `docs/errors.md: remove this row of ${code}: no class has the code, or an earlier row has it`,
          );
      const lines = codes.map((code) => {
        const { status = '–', meaning, remedy } = errors.get(code);
        return `| ${[`\`${code}\``, String(status), meaning, remedy].map(escapeCell).join(' | ')} |\n`;
      });
      return [name, ['| Code | Status | Meaning | Remedy |\n', '|---|---|---|---|\n', ...lines].join('')];
    },
  );
  const [code] = missing;
  if (code !== undefined) throw new Error(`docs/errors.md: add a row to a table: | \`${code}\` |`);
  return Object.fromEntries(parts);
}

/** Returns the table of JSON-RPC codes, except the default, with the error codes that have them. */
function numberTable() {
  const codes = new Map();
  for (const [code, { rpcCode }] of errors)
    if (rpcCode !== undefined) codes.set(rpcCode, [...(codes.get(rpcCode) ?? []), `\`${code}\``]);
  const lines = [...codes]
    .sort(([one], [other]) => other - one)
    // All codes are negative. The page uses the typographic minus sign.
    .map(([number, names]) => `| −${-number} | ${names.join(', ')} |\n`);
  return ['| `error.code` | Codes |\n', '|---|---|\n', ...lines].join('');
}

/** Returns each state machine as a mermaid block. */
function diagrams() {
  const texts = values.diagrams === undefined ? printDiagrams() : readDiagrams(values.diagrams);
  return Object.fromEntries(texts.map(([name, text]) => [name, `\`\`\`mermaid\n${text}\`\`\`\n`]));
}

function printDiagrams() {
  const all = execFileSync(process.execPath, [join(root, 'dist', 'main.js'), 'machines'], {
    encoding: 'utf8',
  });
  return [...all.matchAll(/^%% (\w+)\n((?:.+\n)+)/gm)].map(([, name, text]) => [name, text]);
}

function readDiagrams(folder) {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.mmd'))
    .map((name) => [name.slice(0, -'.mmd'.length), readFileSync(join(folder, name), 'utf8')]);
}

function readSchema(name) {
  return JSON.parse(readFileSync(join(values.schemas, `${name}.json`), 'utf8'));
}

/** Returns the type names, without aliases. */
function nodeTypes({ allOf }) {
  return allOf.map(({ if: { properties } }) => properties.type.enum[0]);
}

/** Returns the schema with the wanted properties only. */
function pick(schema, isWanted) {
  const properties = Object.fromEntries(Object.entries(schema.properties).filter(([key]) => isWanted(key)));
  return { ...schema, properties };
}

/** Returns a schema's table of fields. */
function table(schema) {
  const lines = rows(schema, '').map((cells) => `| ${cells.map(escapeCell).join(' | ')} |\n`);
  return ['| Field | Value | Default | Meaning |\n', '|---|---|---|---|\n', ...lines].join('');
}

/** Returns the cells per field. Nested fields have their path as name, such as `limits.sessions`. */
function rows({ properties, required = [] }, prefix) {
  return Object.entries(properties).flatMap(([key, schema]) => {
    const name = `${prefix}${key}`;
    // A platform has the fields of its trigger type, which are listed there.
    if (name === 'platforms')
      return [['`platforms.PLATFORM.FIELD`', 'as in the trigger', '', schema.description]];
    if (schema.properties !== undefined) return rows(schema, `${name}.`);
    if (keyPlaceholders[name] !== undefined)
      return rows(Object.values(schema.patternProperties)[0], `${name}.${keyPlaceholders[name]}.`);
    const fieldCells = [
      `\`${name}\``,
      kindOf(schema),
      defaultOf(schema, required.includes(key)),
      schema.description ?? '',
    ];
    const fields = schema.anyOf?.find((option) => option.properties !== undefined);
    return [fieldCells, ...(fields === undefined ? [] : rows(fields, `${name}.`))];
  });
}

function defaultOf(schema, isRequired) {
  if (isRequired) return 'required';
  return schema.default === undefined ? '' : `\`${JSON.stringify(schema.default)}\``;
}

/**
 * Describes a field's type. `${VAR}` references are omitted, because every field allows them.
 */
function kindOf(schema) {
  const options = (schema.anyOf ?? []).filter((option) => option.pattern !== '\\$\\{');
  if (options.length > 0) return options.map(kindOf).join(' or ');
  if (schema.enum !== undefined) return schema.enum.map((word) => `\`${word}\``).join(', ');
  if (schema.type === undefined) return 'any value';
  switch (schema.type) {
    case 'array':
      return `list of ${kindOf(schema.items)}`;
    case 'object':
      if (schema.properties !== undefined) return 'fields';
      return `${Object.values(schema.patternProperties ?? {}).map(kindOf)[0] ?? 'anything'} by name`;
    case 'boolean':
      return '`true`, `false`';
    case 'integer':
      return `whole number${bounds(schema)}`;
    case 'number':
      return `number${bounds(schema)}`;
    default:
      return 'text';
  }
}

function bounds({ minimum, exclusiveMinimum, maximum }) {
  const low = exclusiveMinimum === undefined ? (minimum ?? '') : `above ${exclusiveMinimum}`;
  return ` ${low} to ${maximum}`;
}

function escapeCell(cell) {
  return cell.replaceAll('|', '\\|');
}
