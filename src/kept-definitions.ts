// Definitions that runs of fleets and flows have begun with, read with the variables as they are today.

import type { KeptDefinitions } from '../actors/automation/target-registry.ts';
import { SecretValues } from '../config/reader/secret-values.ts';
import type { Environment } from '../config/reader/substitute.ts';
import { type DefinitionContext, fleetDefinition, flowDefinition } from '../config/resources/definitions.ts';

/** What comes from variables is given to `addSecrets` before anything could show it (A9). */
export function keptDefinitions(
  environment: () => Environment,
  addSecrets: (secrets: readonly string[]) => void,
): KeptDefinitions {
  const reading =
    <T>(read: (text: string, context: DefinitionContext) => Promise<T>) =>
    async (text: string, { name, file }: { readonly name: string; readonly file: string }): Promise<T> => {
      const secrets = new SecretValues();
      try {
        return await read(text, { name, file, env: environment(), secrets });
      } finally {
        addSecrets(secrets.list());
      }
    };
  return { fleet: reading(fleetDefinition), flow: reading(flowDefinition) };
}
