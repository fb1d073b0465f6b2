// `explain`: what the published schemas know of a field, or of a kind of file. No gateway is needed for it, and no file.

import { kinds, rootField, schemaOf } from '../../../config/json-schema/schema-fields.ts';
import { columnsOf, isTerminal, paintFor } from '../../terminal/paint.ts';
import type { CommandModule } from '../command.ts';
import { fieldPage } from '../views/field-views.ts';
import { print, printJson } from '../views/output.ts';
import { table } from '../views/table.ts';
import { fieldNamed, kindMeanings } from './named-field.ts';

const after = `
A field is named from its kind on, with dots: gateway.limits.body_bytes. Lists and ids are passed through:
catalog.servers.command. Where a field differs by type, the type may stand there: trigger.spec.config.Schedule.

Examples:
  actor-gateway explain
  actor-gateway explain gateway.limits.body_bytes
  actor-gateway explain trigger.spec.config.Schedule

Exit codes: 0 done, 2 there is no such field, or wrong usage`;

export const explain: CommandModule = {
  declare: (command) =>
    command
      .argument('[field]', 'a kind of file, or a field of one; without it the kinds')
      .option('--json', 'print the part of the JSON Schema')
      .addHelpText('after', after),
  run: (command) => explained(command.args[0], command.opts<{ json?: boolean }>().json === true),
};

async function explained(words: string | undefined, isJson: boolean): Promise<number> {
  const { stdout } = process;
  const width = isTerminal(stdout, process.env) ? columnsOf(stdout) : undefined;
  if (words === undefined) {
    if (isJson)
      await printJson(
        JSON.stringify(Object.fromEntries(kinds.map((kind) => [kind, schemaOf(rootField(kind))]))),
      );
    else await print(`${kindsPage(width).join('\n')}\n`);
    return 0;
  }
  const field = fieldNamed(words);
  if (isJson) await printJson(JSON.stringify(schemaOf(field)));
  else await print(`${fieldPage(field, paintFor(stdout, process.env), width).join('\n')}\n`);
  return 0;
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
