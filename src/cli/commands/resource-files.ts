// Triggers, agents, fleets and flows of files, without a gateway: `validate` and the option -f of lists. Unset variables
// are warnings here: the files are read on one machine and used on another.

import { resolve } from 'node:path';
import { environmentBeside } from '../../../config/reader/env-file.ts';
import { hasError } from '../../../config/reader/problem.ts';
import { SecretValues } from '../../../config/reader/secret-values.ts';
import { type LoadedResources, loadResources } from '../../../config/resources/load-resources.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { triggerTypes } from '../../../config/resources/triggers/trigger-types.ts';
import { agentRecord, fleetRecord, flowDetails, flowRecord } from '../../http/api/target-records.ts';
import type { AgentRecord } from '../../http/api/target-shapes.ts';
import { commandRecord } from '../../http/api/trigger-records.ts';

/** With the variables of a `.env` in the working folder, as of one beside the gateway file. */
export async function readResourceFiles(paths: readonly string[]): Promise<LoadedResources> {
  const { environment: env, problems } = await environmentBeside(resolve('gateway.yaml'), process.env);
  const secrets = new SecretValues();
  const found = await loadResources({ files: paths, env, secrets, isLenient: true });
  return { ...found, problems: [...problems, ...found.problems] };
}

export function isGood({ problems }: LoadedResources): boolean {
  return !hasError(problems);
}

/** What a file tells of a trigger: never a value of its configuration, which may be a secret (A9). */
function triggerInFile({ name, type, enabled, commands, default_target, labels, file }: Trigger) {
  const default_agent = default_target?.name ?? null;
  const maturity = triggerTypes[type].maturity ?? null;
  return {
    name,
    type,
    maturity,
    enabled,
    commands: commands.map(commandRecord),
    default_agent,
    labels,
    file,
  };
}

export type TriggerInFile = ReturnType<typeof triggerInFile>;
export type AgentInFile = AgentRecord & { readonly file: string };

export type ResourceNoun = 'trigger' | 'agent' | 'fleet' | 'flow';

interface InFile {
  readonly name: string;
  /** In a list. */
  readonly row: object;
  /** By itself. */
  readonly details: object;
}

/** All of that kind, told as the API would tell them, with their files. */
export function inFiles(
  noun: ResourceNoun,
  { triggers, agents, fleets, flows }: LoadedResources,
): readonly InFile[] {
  const alike = (name: string, row: object): InFile => ({ name, row, details: row });
  switch (noun) {
    case 'trigger':
      return triggers.map((each) => alike(each.name, triggerInFile(each)));
    case 'agent':
      return agents.map((each) => alike(each.name, { ...agentRecord(each), file: each.file }));
    case 'fleet':
      return fleets.map((each) => alike(each.name, { ...fleetRecord(each), file: each.file }));
    case 'flow':
      return flows.map((each) => {
        const { name, file } = each;
        return { name, row: { ...flowRecord(each), file }, details: { ...flowDetails(each), file } };
      });
  }
}
