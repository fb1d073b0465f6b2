// What agents with a model need of the configuration: the models of its providers, and the definitions of runs read back. Loaded
// when the first of them is asked.

import type { ModelAgentServices } from '../actors/agents/model-agent/model-agent.ts';
import { ProviderModels } from '../actors/agents/models/provider-models.ts';
import type { Log } from '../actors/base/errors/log.ts';
import type { GatewayConfig } from '../config/gateway-file/gateway-schema.ts';
import { usableProviders } from '../config/gateway-file/providers.ts';
import { SecretValues } from '../config/reader/secret-values.ts';
import type { Environment } from '../config/reader/substitute.ts';
import { readDefinition } from '../config/resources/agents/read-definition.ts';

export function modelServices(
  { providers, prices }: Pick<GatewayConfig, 'providers' | 'prices'>,
  env: Environment,
  addSecrets: (secrets: readonly string[]) => void,
  log: Log,
): Omit<ModelAgentServices, 'toolBoxes' | 'log'> {
  // Those of the providers are known since the files of agents were read.
  const usable = usableProviders(providers, env, new SecretValues());
  return {
    models: new ProviderModels({ providers: usable, prices, log }),
    readDefinition: (text, file) => {
      const secrets = new SecretValues();
      const runtime = readDefinition(text, env, secrets, file);
      addSecrets(secrets.list());
      return runtime;
    },
  };
}
