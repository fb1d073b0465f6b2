// Reads the definitions (file texts) of fleets and flows that were stored with their runs. A resumed run uses
// its stored definition, but the current values of environment variables.

import type { StoredDefinitions } from '../actors/automation/target-registry.ts';
import { SecretValues } from '../config/reader/secret-values.ts';
import type { Environment } from '../config/reader/substitute.ts';
import { type DefinitionContext, fleetDefinition, flowDefinition } from '../config/resources/definitions.ts';

/**
 * Returns the readers for fleets and flows. Each registers the values of the variables in a definition for
 * redaction (`addSecrets`), before the definition is used (A9, ARCHITECTURE.md).
 */
export function storedDefinitions(
  environment: () => Environment,
  addSecrets: (secrets: readonly string[]) => void,
): StoredDefinitions {
  const readWith =
    <T>(read: (text: string, context: DefinitionContext) => Promise<T>) =>
    async (text: string, { name, file }: { readonly name: string; readonly file: string }): Promise<T> => {
      const secrets = new SecretValues();
      try {
        return await read(text, { name, file, env: environment(), secrets });
      } finally {
        addSecrets(secrets.list());
      }
    };
  return { fleet: readWith(fleetDefinition), flow: readWith(flowDefinition) };
}
