// Creates the services of model agents from the configuration: the models of the providers, and a reader for
// agent definitions that are stored with a run. Imported only for agents with a model.

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
): Pick<ModelAgentServices, 'readDefinition'> & { readonly models: ProviderModels } {
  // Dropped: the secrets of the providers are registered when the agent files are read.
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
