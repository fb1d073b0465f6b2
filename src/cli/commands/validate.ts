// `validate`: checks files with triggers, agents, fleets and flows. Needs no gateway.

import { isError } from '../../../config/reader/problem.ts';
import type { LoadedResources } from '../../../config/resources/load-resources.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { triggerTypes } from '../../../config/resources/triggers/trigger-types.ts';
import type { CommandModule } from '../command.ts';
import { counted } from '../views/figures.ts';
import { print, printJson } from '../views/output.ts';
import { printProblems } from '../views/problem-lines.ts';
import { resourceCounts } from './check.ts';
import { areValid, readResourceFiles } from './resource-files.ts';

interface Options {
  readonly file: readonly string[];
  readonly json?: boolean;
}

const after = `
Prints each problem as file:line:column: message.

Exit codes: 0 valid, 2 invalid files or usage`;

export const validate: CommandModule = {
  examples: [
    'actor-gateway validate -f triggers/',
    'actor-gateway validate -f triggers/deploy.yaml -f agents/ -f flows/ --json',
  ],
  declare: (command) =>
    command
      .requiredOption('-f, --file <path...>', 'file or folder; repeatable')
      .option('--json', 'print the result as JSON')
      .addHelpText('after', after),
  run: (command) => runValidation(command.opts<Options>()),
};

async function runValidation({ file: paths, json }: Options): Promise<number> {
  const resources = await readResourceFiles(paths);
  if (json === true) await printJson(JSON.stringify(asJson(resources)));
  else {
    printProblems(resources.problems);
    await print(`${summary(resources)}\n`);
  }
  return areValid(resources) ? 0 : 2;
}

function asJson(resources: LoadedResources) {
  const { triggers, agents, fleets, flows, problems } = resources;
  const toReference = ({ name, file }: { readonly name: string; readonly file: string }) => ({ name, file });
  return {
    ok: areValid(resources),
    triggers: triggers.map(({ name, type, enabled, file }) => {
      return { name, type, maturity: maturityOf(type), enabled, file };
    }),
    agents: agents.map(toReference),
    fleets: fleets.map(toReference),
    flows: flows.map(toReference),
    problems,
  };
}

function summary(resources: LoadedResources): string {
  const { triggers, problems } = resources;
  const good = `${resourceCounts(resources)} are valid`;
  const errors = problems.filter(isError).length;
  const first = areValid(resources) ? good : `${counted(errors, 'problem')}; ${good}`;
  const labelLines = labels.flatMap((label) => {
    const names = triggers.filter(({ type }) => maturityOf(type) === label).map(({ name }) => name);
    return names.length === 0 ? [] : [`  ${label}: ${names.join(', ')}`];
  });
  return [first, ...labelLines].join('\n');
}

const labels = ['Stable', 'Experimental'] as const;

const maturityOf = (type: Trigger['type']) => triggerTypes[type].maturity ?? null;
