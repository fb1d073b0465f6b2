// Writes the tables of fields in docs/configuration.md from the JSON Schemas of a build, so that they cannot go stale.
// Each table stands between two markers, `<!-- fields: NAME -->` and `<!-- end of fields -->`; the rest of the page is
// written by hand. `--check` changes nothing and exits 1 when the page is out of date; `--schemas DIR` reads elsewhere.

import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const root = resolve(import.meta.dirname, '..');
const { values } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    schemas: { type: 'string', default: join(root, 'dist', 'schema') },
    page: { type: 'string', default: join(root, 'docs', 'configuration.md') },
  },
});

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
  gateway: table(gateway),
  local: table({ ...only(own, (key) => forLocal.includes(key)), required: local.required }),
  remote: table({ ...only(own, (key) => forRemote.includes(key)), required: remote.required }),
  server: table(only(own, (key) => !forLocal.includes(key) && !forRemote.includes(key))),
  desktop: table(only(desktop, (key) => own.properties[key] === undefined)),
};

const before = readFileSync(values.page, 'utf8');
const after = rewritten(before);
if (after === before) process.exit(0);
if (values.check) {
  console.error(`${relative(root, values.page)} is out of date; run node scripts/docs.mjs after a build`);
  process.exit(1);
}
writeFileSync(values.page, after);

function rewritten(page) {
  const missing = new Set(Object.keys(tables));
  const text = page.replace(
    /(<!-- fields: (\w+) -->\n)[\s\S]*?(<!-- end of fields -->)/g,
    (_, start, name, end) => {
      if (!missing.delete(name))
        throw new Error(`the page asks for a table "${name}" that is not there to give`);
      return `${start}\n${tables[name]}\n${end}`;
    },
  );
  if (missing.size > 0) throw new Error(`the page has no place for the table of ${[...missing].join(', ')}`);
  return text;
}

function readSchema(name) {
  return JSON.parse(readFileSync(join(values.schemas, `${name}.json`), 'utf8'));
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
    if (schema.properties !== undefined) return rows(schema, `${name}.`);
    return [
      [`\`${name}\``, kindOf(schema), defaultOf(schema, required.includes(key)), schema.description ?? ''],
    ];
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
  switch (schema.type) {
    case 'array':
      return `list of ${kindOf(schema.items)}`;
    case 'object':
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
