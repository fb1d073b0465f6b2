// `validate`: checks files of triggers, agents, fleets and flows as the gateway would read them, without one.

import { isError } from '../../../config/reader/problem.ts';
import type { LoadedResources } from '../../../config/resources/load-resources.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { triggerTypes } from '../../../config/resources/triggers/trigger-types.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { parseProgram } from '../command.ts';
import { sentenceOf } from '../command-list.ts';
import { counted } from '../views/figures.ts';
import { print, printJson } from '../views/output.ts';
import { printProblems } from '../views/problem-lines.ts';
import { countedResources } from './check.ts';
import { isGood, readResourceFiles } from './resource-files.ts';

interface Options {
  readonly paths: readonly string[];
  readonly isJson: boolean;
}

const after = `
Every problem is printed as file:line:column: message.

Examples:
  actor-gateway validate -f triggers/
  actor-gateway validate -f triggers/deploy.yaml -f agents/ -f flows/ --json

Exit codes: 0 good, 2 bad files or wrong usage`;

/** Prints the findings and gives the exit code. */
export async function validate(args: readonly string[], version: string): Promise<number> {
  const parsed = parseProgram<Options>(
    {
      name: 'actor-gateway validate',
      description: sentenceOf('validate'),
      version,
      after,
      declare: (command) =>
        command
          .allowExcessArguments()
          .option('-f, --file <path...>', 'a file, or a folder with files; may be given several times')
          .option('--json', 'print the result as JSON'),
      read: (command) => {
        const [word] = command.args;
        if (word !== undefined)
          return command.error(`error: files and folders stand after -f: validate -f ${printable(word)}`);
        const { file, json } = command.opts<{ file?: readonly string[]; json?: boolean }>();
        if (file === undefined)
          return command.error("error: required option '-f, --file <path...>' not specified");
        return { paths: file, isJson: json === true };
      },
    },
    args,
  );
  if (parsed.do === 'exit') return parsed.code;
  const { paths, isJson } = parsed.options;
  const found = await readResourceFiles(paths);
  if (isJson) await printJson(JSON.stringify(asJson(found)));
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
