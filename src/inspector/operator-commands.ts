// What an operator may do from the page: start and stop servers, pause and resume triggers, reload, and what runs, deliveries and
// approvals allow. With inspector.commands only.

import type { Redactor } from '../../actors/base/errors/redact.ts';
import type { Life } from '../../actors/gateway/life.ts';
import type { Principal } from '../../actors/identity/principal.ts';
import type { ServerRegistry } from '../../actors/mcp/servers/server-registry.ts';
import type { GatewayConfig } from '../../config/gateway-file/gateway-schema.ts';
import { ConfigError, formatProblem } from '../../config/reader/problem.ts';
import type { ExchangeContext } from '../http/mcp/exchange-context.ts';
import type { TriggersFront } from '../http/triggers-front.ts';
import { securityHeaders } from './answer-headers.ts';
import { numbersOf } from './feed/server-numbers.ts';
import { triggerNumbers } from './feed/trigger-numbers.ts';
import type { RunRoutes } from './runs/run-routes.ts';

interface OperatorCommandsOptions {
  readonly config: Pick<GatewayConfig, 'inspector'>;
  readonly redactor: Redactor;
  readonly life: Pick<Life, 'isEnding'>;
  readonly servers: Pick<ServerRegistry, 'get'>;
  readonly runs: RunRoutes;
  /** Where there are triggers. */
  readonly automation: TriggersFront['automation'] | undefined;
  /** Reads the catalog again and applies it; throws ConfigError. */
  reload(): Promise<unknown>;
}

export class OperatorCommands {
  readonly #options: OperatorCommandsOptions;

  constructor(options: OperatorCommandsOptions) {
    this.#options = options;
  }

  /** Does what the words of a path ask for, when the configuration lets it, and answers. */
  async run(context: ExchangeContext, words: readonly string[], body: Buffer): Promise<void> {
    const { config, redactor, life } = this.#options;
    try {
      const act = await this.#action(words, body, context.principal);
      if (!config.inspector.commands)
        context.error(403, 'set inspector.commands: true in the gateway file to act from here');
      else if (life.isEnding) context.refuseWhileDraining();
      else if (act === undefined)
        context.error(
          404,
          'there is no such server, trigger, run, delivery or approval, or nothing like that to be done with it',
        );
      else context.json(200, await act(), securityHeaders);
    } catch (error) {
      const problems = error instanceof ConfigError ? error.problems.map(formatProblem) : [];
      if (problems.length > 0)
        context.error(422, 'the configuration has errors and nothing was changed', [], {
          problems: problems.map((problem) => redactor.redact(problem)),
        });
      else context.fail(error, (text) => redactor.redact(text));
    }
  }

  /** What the words of a path ask for; what it gives is the answer. Undefined when there is no such thing. */
  async #action(
    words: readonly string[],
    body: Buffer,
    principal: Principal,
  ): Promise<(() => Promise<unknown>) | undefined> {
    const [head = '', name = '', verb] = words;
    const { reload, runs, servers, automation, redactor } = this.#options;
    if (head === 'reload') return reload;
    if (runs.has(head)) return runs.action(words, body, principal);
    if (head === 'servers') {
      const server = servers.get(name);
      if (server === undefined || (verb !== 'start' && verb !== 'stop')) return undefined;
      return async () => {
        await server[verb]();
        return numbersOf(server, redactor);
      };
    }
    const trigger = head === 'triggers' ? automation?.triggers.get(name) : undefined;
    if (trigger === undefined || (verb !== 'pause' && verb !== 'resume')) return undefined;
    return async () => {
      const status = await automation?.operator[verb](trigger.name);
      return status && triggerNumbers(status, redactor);
    };
  }
}
