// `validate`: checks files of triggers, agents, fleets and flows as the gateway would read them, without one.

import { isError } from '../../../config/reader/problem.ts';
import type { LoadedResources } from '../../../config/resources/load-resources.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { triggerTypes } from '../../../config/resources/triggers/trigger-types.ts';
import type { CommandModule } from '../command.ts';
import { counted } from '../views/figures.ts';
import { print, printJson } from '../views/output.ts';
import { printProblems } from '../views/problem-lines.ts';
import { countedResources } from './check.ts';
import { isGood, readResourceFiles } from './resource-files.ts';

interface Options {
  readonly file: readonly string[];
  readonly json?: boolean;
}

const after = `
Every problem is printed as file:line:column: message.

Examples:
  actor-gateway validate -f triggers/
  actor-gateway validate -f triggers/deploy.yaml -f agents/ -f flows/ --json

Exit codes: 0 good, 2 bad files or wrong usage`;

export const validate: CommandModule = {
  declare: (command) =>
    command
      .requiredOption('-f, --file <path...>', 'a file, or a folder with files; may be given several times')
      .option('--json', 'print the result as JSON')
      .addHelpText('after', after),
  run: (command) => validated(command.opts<Options>()),
};

async function validated({ file: paths, json }: Options): Promise<number> {
  const found = await readResourceFiles(paths);
  if (json === true) await printJson(JSON.stringify(asJson(found)));
  else {
    printProblems(found.problems);
    await print(`${summary(found)}\n`);
  }
  return isGood(found) ? 0 : 2;
}

function asJson(found: LoadedResources) {
  const { triggers, agents, fleets, flows, problems } = found;
  const named = ({ name, file }: { readonly name: string; readonly file: string }) => ({ name, file });
  return {
    ok: isGood(found),
    triggers: triggers.map(({ name, type, enabled, file }) => {
      return { name, type, maturity: maturityOf(type), enabled, file };
    }),
    agents: agents.map(named),
    fleets: fleets.map(named),
    flows: flows.map(named),
    problems,
  };
}

function summary(found: LoadedResources): string {
  const { triggers, problems } = found;
  const good = `${countedResources(found)} are good`;
  const errors = problems.filter(isError).length;
  const first = isGood(found) ? good : `${counted(errors, 'problem')}; ${good}`;
  const labelled = labels.flatMap((label) => {
    const names = triggers.filter(({ type }) => maturityOf(type) === label).map(({ name }) => name);
    return names.length === 0 ? [] : [`  ${label}: ${names.join(', ')}`];
  });
  return [first, ...labelled].join('\n');
}

const labels = ['Stable', 'Experimental'] as const;

const maturityOf = (type: Trigger['type']) => triggerTypes[type].maturity ?? null;
