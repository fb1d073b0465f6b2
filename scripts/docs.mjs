// Writes what documents say of the program from a build of it, so that it cannot go stale: the tables of fields in
// docs/configuration.md, docs/triggers.md, docs/agents.md, docs/fleets.md and docs/flows.md from the JSON Schemas, and the
// diagrams in docs/state-charts.md from the state machines. Each part stands between two markers, such as `<!-- fields: NAME -->` and `<!-- end of fields -->`; the rest
// of a page is written by hand. `--check` changes nothing and exits 1 when a page is out of date; the other options read
// elsewhere.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const root = resolve(import.meta.dirname, '..');
const { values } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    schemas: { type: 'string', default: join(root, 'dist', 'schema') },
    /** A folder of NAME.mmd; without it the built program is asked. */
    diagrams: { type: 'string' },
    configuration: { type: 'string', default: join(root, 'docs', 'configuration.md') },
    triggers: { type: 'string', default: join(root, 'docs', 'triggers.md') },
    agents: { type: 'string', default: join(root, 'docs', 'agents.md') },
    fleets: { type: 'string', default: join(root, 'docs', 'fleets.md') },
    flows: { type: 'string', default: join(root, 'docs', 'flows.md') },
    /** A folder with a page for each type of trigger that is built, NAME.md. */
    sources: { type: 'string', default: join(root, 'docs', 'sources') },
    charts: { type: 'string', default: join(root, 'docs', 'state-charts.md') },
  },
});

/** What stands for a key that people choose, in mappings whose members have fields. */
const keyWords = { profiles: 'NAME', providers: 'NAME', prices: '"PROVIDER:MODEL"' };

const gateway = readSchema('gateway');
const catalog = readSchema('catalog').properties;
const own = catalog.servers.additionalProperties;
const desktop = catalog.mcpServers.additionalProperties;
// The two kinds of an entry: each refuses the fields of the other.
const [local, remote] = own.oneOf;
const refused = (kind) => Object.keys(kind.properties).filter((key) => kind.properties[key] === false);
const forRemote = refused(local);
const forLocal = refused(remote);

const tables = {
  gateway: table({ ...gateway, required: gateway.else.required }),
  local: table({ ...only(own, (key) => forLocal.includes(key)), required: local.required }),
  remote: table({ ...only(own, (key) => forRemote.includes(key)), required: remote.required }),
  server: table(only(own, (key) => !forLocal.includes(key) && !forRemote.includes(key))),
  desktop: table(only(desktop, (key) => own.properties[key] === undefined)),
};

const trigger = readSchema('trigger');
const spec = trigger.else.properties.spec;
// Each type has more spellings than its name, which comes first.
const typeNames = spec.allOf.map(({ if: { properties } }) => properties.type.enum[0]);
const named = only(spec, (key) => key !== 'config');
named.properties.type = { ...named.properties.type, enum: typeNames, anyOf: undefined };
const command = Object.values(spec.properties.commands.patternProperties)[0];
// The first spelling of a type is its name.
const typeTables = Object.fromEntries(
  spec.allOf.map(({ if: { properties }, then }) => [
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
    properties: { ...trigger.properties, spec: only(spec, (key) => key !== 'config') },
  }),
  command: table(command),
  parameter: table(command.properties.parameters.items),
  ...Object.fromEntries(Object.entries(typeTables).filter(([type]) => !sources.includes(type))),
};

const fleet = readSchema('fleet');
const flow = readSchema('flow');
const node = flow.$defs.nodes.items;
// What has a table of its own, or a page, stands in the text.
const apart = ['spec', 'nodes', 'connections'];
const nodeTables = Object.fromEntries(
  node.allOf.flatMap(({ if: { properties }, then }) => {
    const config = only(then.properties.config, (key) => !apart.includes(key));
    if (Object.keys(config.properties).length === 0) return [];
    return [[properties.type.enum[0].toLowerCase(), table(config)]];
  }),
);
const fleetTables = {
  fleet: table(fleet),
  member: table(only(fleet.properties.spec.properties.agents.items, (key) => key !== 'spec')),
};
const flowTables = {
  flow: table({
    ...flow,
    properties: { ...flow.properties, spec: only(flow.properties.spec, (key) => !apart.includes(key)) },
  }),
  node: table({
    ...node,
    properties: { ...node.properties, type: { ...node.properties.type, enum: nodeTypes(node) } },
  }),
  connection: table(flow.$defs.connections.items),
  ...nodeTables,
};

const pages = [
  { file: values.configuration, kind: 'fields', parts: tables },
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
];
let isStale = false;
for (const { file, kind, parts } of pages) {
  const before = readFileSync(file, 'utf8');
  const after = rewritten(before, kind, parts);
  if (after === before) continue;
  if (values.check) {
    console.error(`${relative(root, file)} is out of date; run node scripts/docs.mjs after a build`);
    isStale = true;
  } else writeFileSync(file, after);
}
process.exit(isStale ? 1 : 0);

function rewritten(page, kind, parts) {
  const missing = new Set(Object.keys(parts));
  const marked = new RegExp(`(<!-- ${kind}: (\\w+) -->\n)[\\s\\S]*?(<!-- end of ${kind} -->)`, 'g');
  const text = page.replace(marked, (_, start, name, end) => {
    if (!missing.delete(name)) throw new Error(`the page asks for "${name}" that is not there to give`);
    return `${start}\n${parts[name]}\n${end}`;
  });
  if (missing.size > 0) throw new Error(`the page has no place for ${kind} ${[...missing].join(', ')}`);
  return text;
}

/** Each state machine as a block that code hosts draw. */
function diagrams() {
  const texts = values.diagrams === undefined ? askProgram() : readDiagrams(values.diagrams);
  return Object.fromEntries(texts.map(([name, text]) => [name, `\`\`\`mermaid\n${text}\`\`\`\n`]));
}

function askProgram() {
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

/** Each type has more spellings than its name, which comes first. */
function nodeTypes({ allOf }) {
  return allOf.map(({ if: { properties } }) => properties.type.enum[0]);
}

function only(schema, isWanted) {
  const properties = Object.fromEntries(Object.entries(schema.properties).filter(([key]) => isWanted(key)));
  return { ...schema, properties };
}

function table(schema) {
  const lines = rows(schema, '').map((cells) => `| ${cells.map(escaped).join(' | ')} |\n`);
  return ['| Field | Value | Default | Meaning |\n', '|---|---|---|---|\n', ...lines].join('');
}

function rows({ properties, required = [] }, prefix) {
  return Object.entries(properties).flatMap(([key, schema]) => {
    const name = `${prefix}${key}`;
    // Their fields are those of the types; a table of all would be longer than the page.
    if (name === 'platforms')
      return [['`platforms.PLATFORM.FIELD`', 'as in the trigger', '', schema.description]];
    if (schema.properties !== undefined) return rows(schema, `${name}.`);
    if (keyWords[name] !== undefined)
      return rows(Object.values(schema.patternProperties)[0], `${name}.${keyWords[name]}.`);
    const own = [
      `\`${name}\``,
      kindOf(schema),
      defaultOf(schema, required.includes(key)),
      schema.description ?? '',
    ];
    const fields = schema.anyOf?.find((option) => option.properties !== undefined);
    return [own, ...(fields === undefined ? [] : rows(fields, `${name}.`))];
  });
}

function defaultOf(schema, isRequired) {
  if (isRequired) return 'required';
  return schema.default === undefined ? '' : `\`${JSON.stringify(schema.default)}\``;
}

/** Any field may be given as a `${VAR}` reference as well; the page says so once, so that no row has to. */
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

function escaped(cell) {
  return cell.replaceAll('|', '\\|');
}
