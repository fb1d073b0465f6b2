// Loads triggers, agents, fleets and flows from files, for `validate` and -f. Needs no gateway. An unset
// variable is only a warning, because it may be set on the machine that uses the files.

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

/** Loads the files, with the variables of `.env` in the current folder. */
export async function readResourceFiles(paths: readonly string[]): Promise<LoadedResources> {
  const { environment: env, problems } = await environmentBeside(resolve('gateway.yaml'), process.env);
  const secrets = new SecretValues();
  const loadedFiles = await loadResources({ files: paths, env, secrets, isLenient: true });
  return { ...loadedFiles, problems: [...problems, ...loadedFiles.problems] };
}

export function areValid({ problems }: LoadedResources): boolean {
  return !hasError(problems);
}

/** Omits the trigger's configuration, which can contain secrets (A9, ARCHITECTURE.md). */
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

interface FileResource {
  readonly name: string;
  /** Entry in lists. */
  readonly row: object;
  /** Response to `show`. */
  readonly details: object;
}

/** Returns all resources with the same kind, in the shape of the API, with their files. */
export function resourcesOfKind(
  noun: ResourceNoun,
  { triggers, agents, fleets, flows }: LoadedResources,
): readonly FileResource[] {
  const sameView = (name: string, row: object): FileResource => ({ name, row, details: row });
  switch (noun) {
    case 'trigger':
      return triggers.map((each) => sameView(each.name, triggerInFile(each)));
    case 'agent':
      return agents.map((each) => sameView(each.name, { ...agentRecord(each), file: each.file }));
    case 'fleet':
      return fleets.map((each) => sameView(each.name, { ...fleetRecord(each), file: each.file }));
    case 'flow':
      return flows.map((each) => {
        const { name, file } = each;
        return { name, row: { ...flowRecord(each), file }, details: { ...flowDetails(each), file } };
      });
  }
}
