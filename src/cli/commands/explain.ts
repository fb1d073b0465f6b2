// `explain`: prints description and schema for a configuration field or a kind of file. Needs no gateway and
// no configuration files.

import { kinds, rootField, type SchemaField, schemaOf } from '../../../config/json-schema/schema-fields.ts';
import { columnsOf, isTerminal, paintFor } from '../../terminal/paint.ts';
import type { CommandModule } from '../command.ts';
import { fieldPage } from '../views/fields.ts';
import { print, printJson } from '../views/output.ts';
import { table } from '../views/table.ts';
import { findNamedFields, kindMeanings } from './find-field.ts';

const after = `
The path of a field starts with its kind: gateway.limits.body_bytes. A path from an error message needs no
kind, and may contain indices and ids: servers.files.args[0]. If a field depends on the type, the path may
contain the type: trigger.spec.config.Schedule.

Exit codes: 0 success, 2 unknown field or invalid usage`;

export const explain: CommandModule = {
  examples: [
    'actor-gateway explain',
    'actor-gateway explain gateway.limits.body_bytes',
    'actor-gateway explain trigger.spec.config.Schedule',
    'actor-gateway explain spec.timeout_seconds',
  ],
  declare: (command) =>
    command
      .argument('[field]', 'kind of file, or path of a field (default: list the kinds)')
      .option('--json', 'print the part of the JSON Schema')
      .addHelpText('after', after),
  run: (command) => printExplanation(command.args[0], command.opts<{ json?: boolean }>().json === true),
};

async function printExplanation(path: string | undefined, isJson: boolean): Promise<number> {
  const { stdout } = process;
  const width = isTerminal(stdout, process.env) ? columnsOf(stdout) : undefined;
  if (path === undefined) {
    if (isJson)
      await printJson(
        JSON.stringify(Object.fromEntries(kinds.map((kind) => [kind, schemaOf(rootField(kind))]))),
      );
    else await print(`${kindsPage(width).join('\n')}\n`);
    return 0;
  }
  const fields = findNamedFields(path);
  if (isJson) await printJson(JSON.stringify(asJson(fields)));
  else {
    const pages = fields.map((field) => fieldPage(field, paintFor(stdout, process.env), width).join('\n'));
    await print(`${pages.join('\n\n')}\n`);
  }
  return 0;
}

/** Returns the schema of the field, or the schemas by kind. */
function asJson(fields: readonly SchemaField[]): object {
  const [only, ...others] = fields;
  if (only !== undefined && others.length === 0) return schemaOf(only);
  return Object.fromEntries(fields.map((field) => [field.kind, schemaOf(field)]));
}

function kindsPage(width: number | undefined): string[] {
  const rows = kinds.map((kind) => ({ kind, meaning: kindMeanings[kind] }));
  return table(
    [
      { title: 'KIND', text: ({ kind }) => kind },
      { title: 'MEANING', text: ({ meaning }) => meaning },
    ],
    rows,
    width,
  );
}
